//! Round trips measured.
//!
//! * [`measure()`]: probes sent by STAMP or ICMP echo on a schedule, and what came of each as a
//!   [`Measured`] table of stamps.
//! * [`Summary`]: what that says: round trips by vantage point, what each layer adds, loss,
//!   reordering, delay variation; [`OneWay`]: both ways apart; [`InCommon`]: of several targets, when both are slow.
//! * [`reflector`]: the far end, which answers STAMP.
//! * [`TcpBeside`]: what TCP itself makes of the path.
//! * Further vantage points: a tap beside a measurement ([`OwnTap`]), captures of taps elsewhere
//!   ([`Tapping`]) and their stamps joined with the probes ([`join_capture`]).
//!
//! The packets are `tompion-stamp`'s, the sockets `tompion-net`'s, what stamps mean is
//! `tompion-path`'s, and what kept threads from running `tompion-observe` says; here they meet.
#![forbid(unsafe_code)]

mod account;
mod at_rate;
mod capture;
mod error;
mod icmp;
mod in_common;
mod marks;
mod measure;
mod observed;
mod one_by_one;
mod one_way;
mod own_tap;
mod probing;
pub mod reflector;
mod sighted;
mod speaker;
mod stamp;
mod standstills;
mod summary;
mod tapping;
mod target;
mod tcp;
mod wire;

pub use account::{Errors, FarEnd, Measured, Oddities};
pub use capture::{CaptureError, JoinedCapture, join_capture};
pub use error::PacketError;
pub use in_common::InCommon;
pub use marks::Marks;
pub use measure::{MOST_PROBES, Settings, WAITED_FOR, measure, unforeseen};
pub use observed::{HeldUpBy, Observed};
pub use one_way::{AtRest, OneWay, Stretch};
pub use own_tap::{OwnTap, OwnTapped};
pub use probing::Progress;
pub use sighted::Sighted;
pub use standstills::Standstills;
pub use summary::{
    Added, Disorder, Ends, LeastOf, MissingStamps, Quantiles, RoundTrip, Summary, Variation,
};
pub use tapping::{CaptureEnd, Captured, Ended, KEPT_BYTES, Tapping};
pub use target::{Family, Protocol, TRANSPORT_BYTES, resolve};
pub use tcp::{TcpBeside, TcpSeen};
pub use tompion_stamp::Key;
