//! What happened on the machine while something was measured: events with their
//! own times, and counters.
#![deny(unsafe_code)]

pub mod events;
pub mod steal;
mod sys;

pub use steal::is_accounted as steal_is_accounted;
