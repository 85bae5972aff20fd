//! What strangers send, made up by the million: for each parser a target, fed by libFuzzer
//! (`make fuzz`) and, from the files in `fuzz/corpus`, by `make test`. docs/fuzzing.md has how it
//! is used.
//!
//! A target is a file in `targets` and a line of its list. It takes any bytes and panics where
//! something is found. Never a part of the program.
#![forbid(unsafe_code)]

mod daemons;
mod frames;
mod input;
mod run_files;
mod scratch;
mod targets;

use std::time::Duration;

pub use targets::ALL;

/// A parser, and how it is tried.
#[derive(Debug)]
pub struct Target {
    /// Its name, that of its corpus too.
    pub name: &'static str,
    /// What is tried, in a few words.
    pub about: &'static str,
    /// Files that hold what is tried, below `crates`: their lines are counted by
    /// `make fuzz-coverage`.
    pub parser: &'static [&'static str],
    /// The longest input that is made up, in bytes.
    pub most_bytes: usize,
    /// Tries one input; panics where something is wrong.
    pub run: fn(&[u8]),
}

/// The longest that one input may take: CPU time under libFuzzer.
pub const LONGEST: Duration = Duration::from_secs(5);

/// Memory that one input may take, in bytes, beside what the process has when it begins.
pub const MOST_MEMORY: u64 = 1 << 30;

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    ALL.iter().copied().find(|target| target.name == name)
}

/// Has the system refuse this process more than [`MOST_MEMORY`] of address space from now on: what
/// asks for more ends as a finding, not as a machine that swaps.
///
/// # Panics
/// Where /proc or the system does not allow it.
pub fn limit_memory() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let pages = std::fs::read_to_string("/proc/self/statm").expect("/proc/self/statm");
    let pages: u64 = pages
        .split(' ')
        .next()
        .and_then(|n| n.parse().ok())
        .expect("pages in /proc/self/statm");
    let now = pages * rustix::param::page_size() as u64;
    let limit = Rlimit {
        current: Some(now + MOST_MEMORY),
        ..getrlimit(Resource::As)
    };
    setrlimit(Resource::As, limit).expect("a limit of the address space");
}

/// Whether a terminal or a page would act on a character.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Refuses a message that is not one line, or would act on a terminal.
fn one_line(message: &str) {
    assert!(!message.chars().any(acts), "no plain line: {message:?}");
}
