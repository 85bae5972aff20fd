//! What a preload library can do for a program, and starting the program so.
//!
//! * [`Library`]: the file `libtompion_preload.so`, found and checked.
//! * [`Program`]: what a command comes to, through `PATH`, scripts and `env`, to
//!   the ELF file that the kernel runs in the end; an error where a preload
//!   library cannot reach it.
//! * [`imports`]: which of the [`REPLACED`] functions it and its libraries call.
//! * [`Settings`]: what the library is told through its environment variable.
//! * [`compare_counters`]: whether the CPUs' counters agree, asked once instead of
//!   at every start of a process.
//! * [`Launch`]: replaces this process by the program.

#[deny(unsafe_code)]
mod bounded;
#[deny(unsafe_code)]
mod counters;
#[deny(unsafe_code)]
mod elf;
#[deny(unsafe_code)]
mod env_line;
#[deny(unsafe_code)]
mod error;
#[deny(unsafe_code)]
#[doc(hidden)]
pub mod fuzz;
#[deny(unsafe_code)]
mod imports;
#[deny(unsafe_code)]
mod launch;
#[deny(unsafe_code)]
mod ld_cache;
#[deny(unsafe_code)]
mod library;
#[deny(unsafe_code)]
mod program;
#[deny(unsafe_code)]
mod search;
#[deny(unsafe_code)]
mod secure;
#[deny(unsafe_code)]
mod settings;
mod signals;

pub use counters::{Comparison, compare_counters};
pub use elf::{REPLACED, Replaced};
pub use error::{Error, Unreachable};
pub use imports::{Importer, Imports, imports};
pub use launch::{LIBRARIES_VARIABLE, Launch};
pub use library::{LIBRARY_NAME, Library};
pub use program::{Program, Step};
pub use search::command_file;
pub use settings::{SETTINGS_VARIABLE, Settings};
