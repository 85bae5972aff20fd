//! Loads that disturb a measurement, with proof that they ran.
//!
//! A [`LoadSpec`] names a load, or several that run together; a [`LoadProcess`] runs it beside a measurement,
//! switched on and off at will, and gives the
//! [`LoadEvidence`](tompion_model::LoadEvidence) that it ran.
//!
//! Built-in loads need nothing but this executable: one child process, which is
//! the executable itself called with [`WORKER_ARG`], counts its operations into
//! memory shared with its parent, is stopped and continued by signals, and dies
//! with its parent even if that is killed. Loads driven by a program
//! (`stress-ng`, `iperf3`) run below a supervisor process that ends them in any
//! case.
//!
//! Loads run under SCHED_OTHER at nice 0 or above and with the usual timer slack,
//! whatever their parent uses. They inherit the CPU affinity of the thread that
//! starts them unless they are told other CPUs.
#![deny(unsafe_code)]

mod activity;
mod affinity;
mod budget;
mod child;
mod component;
mod config;
mod counters;
mod driver;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod headroom;
mod irq;
mod irq_guard;
mod job;
mod keeper;
mod load;
mod loads;
mod peer;
mod process;
mod protocol;
mod spec;
mod supervisor;
mod sys;
mod tree;
mod worker;

pub use activity::{Activity, ActivityRates, machine_activity};
pub use budget::{USUAL_WRITE_BYTES, least_write_bytes, longest_write_time, write_budget};
pub use config::LoadConfig;
pub use error::LoadError;
pub use load::Load;
pub use peer::{Key, PeerSettings, read_key, serve_peer};
pub use process::{LoadProcess, Observation};
pub use protocol::WORKER_ARG;
pub use spec::{LoadList, LoadSpec};
pub use worker::worker_main;

/// Every load, in the order in which they are shown.
pub fn loads() -> impl Iterator<Item = &'static Load> {
    loads::ALL.iter().copied()
}
