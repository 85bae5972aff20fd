//! What a run means: verdicts against fitness profiles, what hurts most, and
//! advice that the run itself tested. Pure: no I/O, no clock.
#![forbid(unsafe_code)]

mod assessment;

pub use assessment::*;
