//! A model of one way of a path: when a packet arrives and how large it is goes in, when it
//! departs, or why it does not, comes out.
//!
//! ```text
//! arrival → queue of a rate, with virtual cross traffic → delay → held back → departure
//!             │ tail drop                                  │ lost, doubled, a bit flipped
//! ```
//!
//! A packet that is lost at random, or whose copy is made, is so behind the queue: it has taken
//! its time there. What a run of the model did to each packet are rows of [`Truth`]. The same
//! plan and seed give the same rows, and each decision draws from a stream of its own, once a
//! packet: a plan with loss delays the packets that are left as it would without.
//!
//! Work a packet and memory are bounded whatever arrives when: cross traffic is never simulated
//! beyond a fixed number of steps, and packets under way are at most as many as the plan says.
//!
//! ```
//! use tompion_path::model::{Bottleneck, Path, WayPlan};
//!
//! let plan = WayPlan {
//!     bottleneck: Some(Bottleneck::of_rate(8_000_000)),
//!     delay_ns: 10_000_000,
//!     ..WayPlan::default()
//! };
//! let mut path = Path::new(&plan, 1)?;
//! let truth = path.offer(0, 1_000).packet;
//! assert_eq!(truth.due_ns, Some(1_000_000 + 10_000_000));
//! assert!(path.take_due(10_999_999).is_none());
//! assert_eq!(path.take_due(11_000_000).map(|d| d.number), Some(0));
//! # Ok::<(), tompion_path::model::PlanError>(())
//! ```

mod chance;
mod cross_traffic;
mod delay;
mod flight;
mod loss;
mod path;
mod plan;
mod queue;
mod truth;
mod validate;

pub use flight::Departure;
pub use path::Path;
pub use plan::{
    Bottleneck, Corrupting, CrossPattern, CrossTraffic, Duplicating, Jitter, LossPlan,
    MOST_DELAY_NS, MOST_IN_FLIGHT, MOST_RATE_BPS, PathPlan, QueueLimit, Reorder, WayPlan,
};
pub use truth::{Corruption, Counts, Decision, Fate, Truth};
pub use validate::{PathPlanError, PlanError};
