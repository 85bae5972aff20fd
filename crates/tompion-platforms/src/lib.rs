//! Platforms on which a lab measures: how each is set up by the keys of a plan, whether it
//! is here, and how it runs one command in a fresh instance of its own
//! ([`platform::Platform`], one file a kind in `platform/`).
//!
//! What is made on the machine is written down first ([`leftovers`]), so that it is found
//! and removed when the lab is killed.
#![forbid(unsafe_code)]

mod error;
pub mod groups;
pub mod keys;
pub mod leftovers;
mod network;
pub mod platform;
mod platform_plan;
mod process;
mod remote_guard;
pub mod signs;

pub use error::Error;
pub use network::{Joined, Network};
pub use platform_plan::{PlatformPlan, read_platforms, usual};
pub use remote_guard::{GUARD_ARG, remote_guard};
pub use tompion_guest::{Interface, Listener, Tap};
