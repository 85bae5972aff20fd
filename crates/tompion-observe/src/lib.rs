//! What happened on the machine while something was measured: events with their
//! own times, and counters.
#![deny(unsafe_code)]

mod cgroup;
pub mod counters;
pub mod events;
#[doc(hidden)]
pub mod fuzz;
pub mod heartbeat;
mod kept;
pub mod marks;
pub mod observer;
mod programs;
pub mod steal;
mod sys;

pub use counters::ThreadCounters;
pub use observer::{Observations, Observer};
pub use programs::Programs;
pub use steal::is_accounted as steal_is_accounted;
