//! STAMP, the Simple Two-Way Active Measurement Protocol (RFC 8762), with the options of
//! RFC 8972: its packets, a Session-Reflector and a Session-Sender as state machines. No I/O, no
//! clock: datagrams and moments are handed in and out, and what answers packets allocates
//! nothing. docs/wire.md describes every byte.
//!
//! - [`Reflector`] makes of a datagram a reply or a [`Silence`] with its reason; rates, sessions,
//!   replays and loops are its concern.
//! - [`Sender`] writes requests and says of each datagram that comes which request it answers; [`TrainSender`] has packets that
//!   want no reply, and asks for when they arrived.
//! - [`RequestFields`], [`ReplyFields`] and [`tlv`] are the packets themselves, [`TimeFormat`]
//!   and [`ErrorEstimate`] what stamps look like there.
#![forbid(unsafe_code)]

mod bytes;
mod error_estimate;
mod key;
mod limits;
mod loops;
mod packet;
mod reflector;
mod replay;
mod sender;
mod stamp;
mod table;
mod time_format;
pub mod tlv;

pub use error_estimate::ErrorEstimate;
pub use key::{EmptyKey, Key, TAG_BYTES};
pub use limits::{Quiet, Rate, Source};
pub use packet::{Mode, ReplyFields, RequestFields, is_authentic, seal};
pub use reflector::Reflector;
pub use reflector::config::{
    ClockAccount, ControlLimits, Limits, ReflectorConfig, SharedKey, Trust,
};
pub use reflector::counters::{Counters, Silence};
pub use reflector::exchange::{Arrival, ReflectorError, Reply};
pub use sender::config::{Ask, Padding, SenderConfig, SenderError};
pub use sender::taken::{Answer, FollowedUp, NotOurs, Oddities, Oddity, Options, Taken, Told};
pub use sender::train::{ArrivalsAsked, TrainAnswer, TrainSender};
pub use sender::{Accounts, Request, Sender};
pub use stamp::{Stamp, StampKind};
pub use time_format::TimeFormat;

#[cfg(test)]
mod random;
