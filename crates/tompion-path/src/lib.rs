//! What the stamps of packets mean, and a model of the path that packets take.
//!
//! Pure: no I/O, no clock, no unsafe code. All times are signed nanoseconds; which zero
//! they count from is said where they enter.
//!
//! * [`stamps`]: a table of probes with the stamps that each got on its way
//!   ([`stamps::Packets`]), and what follows from it: round trips by vantage point, what
//!   each layer adds, loss, duplicates, reordering, delay variation; taps joined by what
//!   packets carry.
//! * [`clocks`]: the far end's clock against the own one, though nobody keeps them in step, and
//!   delays each way.
//! * [`trust`]: probes that one of the ends held up, and whether an end or the path makes round trips long.
//! * [`bandwidth`]: how much more a path could carry, by trains of packets.
//! * [`model`]: a path as a function from arrivals to departures and losses, seeded, in
//!   bounded memory ([`model::Path`]).
//!
//! ```
//! use tompion_path::stamps::{Packets, Stamp, Vantage, round_trips};
//!
//! let mut packets = Packets::new();
//! let probe = packets.push(100)?;
//! packets.set(probe, Stamp::UserSent, 1_000)?;
//! packets.set(probe, Stamp::UserReceived, 51_000)?;
//! packets.arrived(probe)?;
//! assert_eq!(round_trips(&packets, Vantage::User).get(0), Some(50_000));
//! # Ok::<(), tompion_path::stamps::PacketsError>(())
//! ```
#![forbid(unsafe_code)]

pub mod bandwidth;
pub mod clocks;
pub mod model;
pub mod stamps;
pub mod trust;
mod way;

pub use way::Way;
