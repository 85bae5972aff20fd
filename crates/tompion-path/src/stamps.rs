//! What the stamps of packets mean.
//!
//! Each probe is stamped at several places while it goes out and its reply comes home:
//!
//! ```text
//! due, user-sent, scheduled, sent, sent-hardware, taps …, far-received
//! user-received, received, received-hardware, … taps, far-sent-kernel, far-sent
//! ```
//!
//! A [`Vantage`] point is a pair of these places, one each way, and sees a round trip of its
//! own by one clock: the method of Whiteaker, Schneider and Teixeira, "Explaining Packet
//! Delays under Virtualization", ACM SIGCOMM CCR 41(1), 2011. Stamps of different clocks are
//! never compared; which clock a stamp is of says [`Packets::clock`].

mod column;
mod delay_variation;
mod join;
mod layers;
mod least;
mod loss;
mod order;
mod packets;
mod place;
mod probe;
pub mod recorded;
mod reordering;
mod stay;
mod values;
mod vantage;

pub use column::Missing;
pub use delay_variation::{delays, ipdv, pdv};
pub use join::{JoinError, Joined, Key, Range, TapRecord, join_tap};
pub use layers::{Layer, lateness, layers, rest};
pub use least::least_of;
pub use loss::{Loss, losses_by_last_place};
pub use order::{Order, OrderPair, order};
pub use packets::Packets;
pub use place::{Clock, Stamp, TapId};
pub use probe::{Arrival, MOST_PROBES, MOST_TAPS, Outcome, PacketsError, Probe};
pub use reordering::{Reordered, Reordering};
pub use stay::{StayBy, Stays, left_far_end, stays};
pub use values::Values;
pub(crate) use vantage::between;
pub use vantage::{Vantage, round_trips, vantages};
