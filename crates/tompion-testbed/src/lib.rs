//! A network path on this machine whose truth is known.
//!
//! Two places, the sender and the far end, are network namespaces that have no names and end with this
//! process, however that ends. Between them lies a path that does what a plan says
//! ([`tompion_path::model::PathPlan`]): by default a relay of ours that drives the model of a path by the kernel's
//! stamps and writes down what became of each packet, or a router of the kernel's with a token bucket.
//! The testbed measures itself, by taps at both ends.
//!
//! ```no_run
//! use std::process::Command;
//! use std::time::Duration;
//! use tompion_testbed::{Settings, Testbed};
//!
//! let settings = Settings::symmetric(Duration::from_millis(20), Some(300_000_000));
//! let testbed = Testbed::start(&settings)?;
//! assert!(testbed.measure()?.outside().next().is_none());
//! let mut ping = Command::new("sh");
//! ping.args(["-c", "ping -c 3 $FAR_END"]);
//! let mut ping = testbed.start_at_sender(ping)?;
//! while ping.wait_for(Duration::from_secs(1))?.is_none() {}
//! testbed.stop()?;
//! # Ok::<(), tompion_testbed::TestbedError>(())
//! ```

mod addresses;
mod attached;
mod cross;
mod error;
mod measure;
mod namespace;
mod netlink;
mod place;
mod program;
mod queue;
mod relay;
mod run;
mod scheduling;
mod settings;
mod sys;
mod tap;
mod testbed;
mod topology;
mod truth_file;

pub use addresses::Pair;
pub use attached::{Attachment, Identity, MOST_MACHINES};
pub use error::{SettingsError, TestbedError};
pub use measure::{Figure, Measurement, Quantity, Unmeasured};
pub use netlink::TokenBucket;
pub use place::Place;
pub use program::Program;
pub use relay::{
    Counts, FalseInterval, FalseTime, Fate, HEADER, Reason, Record, Summary, read_truth,
};
pub use run::{Outcome, Programs, Verdict, run};
pub use scheduling::prefer;
pub use settings::{BottleneckKind, LINK_HEADER, Settings};
pub use tap::{Tap, Tapped};
pub use testbed::{DeviceCounts, Testbed};
