//! The C face of `tompion-time`: libtompion.
//!
//! * [`clock`]: reading the time; policy, source, report.
//! * [`ticks`]: the bare counter.
//! * [`sleep`]: sleeps and sleepers.
//! * [`ticker`]: periodic waking.
//! * [`border`]: what all of them need to talk to C.
//!
//! The doc comments of these modules are those of `include/tompion.h`, which is
//! made from them: they speak to C programmers, and `tests/header.rs` checks that
//! the file is up to date.
//!
//! No panic crosses the border. Functions that may fail catch it; the reads of the
//! clock and the counter have nothing that panics, and `extern "C"` would end the
//! program before it got out.

// The contracts are the header's, where every call is unsafe.
#![allow(clippy::missing_safety_doc)]

mod border;
pub mod clock;
pub mod sleep;
pub mod ticker;
pub mod ticks;
mod version;
