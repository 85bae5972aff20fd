//! How much more a path could carry: available bandwidth by trains of packets.
//!
//! A train is sent at a rate, and arrives at a rate. Where a link of capacity C carries X of others, a train of rate R
//! above C - X leaves it at C R / (R + X), first come, first served; a slower one keeps its rate. So the ratio of the two
//! rates, the stretch, is 1 up to the available bandwidth A = C - X, and a line of slope 1 / C beyond it.
//!
//! A [`Method`] is a state machine: what became of the last train goes in, the next train or an answer comes out. It
//! knows no socket and no clock, so that a sender, a testbed and [`simulate`] drive the same code. Which there are is one
//! list, [`METHODS`].
//!
//! Rates are bits a second of IP packets, headers of IP counted and those of links not (RFC 5136).
//!
//! ```
//! use tompion_path::bandwidth::simulate::{Ends, Hop, SimulatedPath, estimate};
//! use tompion_path::bandwidth::{Asked, Ending, method};
//! use tompion_path::model::{Bottleneck, CrossPattern, CrossTraffic};
//!
//! let link = Bottleneck {
//!     cross_traffic: Some(CrossTraffic {
//!         rate_bps: 100_000_000,
//!         packet_bytes: 1_500,
//!         pattern: CrossPattern::Constant,
//!     }),
//!     ..Bottleneck::of_rate(300_000_000)
//! };
//! let mut path = SimulatedPath::new(&[Hop::link(link, 1_000_000)], 1)?;
//! let asked = Asked::default();
//! let mut ours = method("tompion").expect("the default")(&asked);
//! let done = estimate(ours.as_mut(), &mut path, &mut Ends::perfect());
//! let Ending::Estimate(found) = done.ending else { panic!("{:?}", done.ending) };
//! assert!((found.available_bps - 200e6).abs() < 6e6, "{found:?}");
//! # Ok::<(), tompion_path::model::PlanError>(())
//! ```

mod ending;
mod held_up;
mod method;
mod methods;
mod response;
pub mod simulate;
mod train;

pub use ending::{Ending, Estimate};
pub use method::{Asked, Begin, Method, MethodEntry, Step};
pub use methods::{METHODS, method};
pub use response::Response;
pub use train::{Passed, TrainPlan, TrainSeen};
