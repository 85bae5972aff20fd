//! From evidence to causes: why did this thread stand still?
//!
//! Pure: no I/O, no clock. All times are nanoseconds of `CLOCK_MONOTONIC`.
#![forbid(unsafe_code)]

mod evidence;

pub use evidence::{Access, Cause, Counters, Disturbance, OffCpu, Source, Span, Stall, Task, What};
