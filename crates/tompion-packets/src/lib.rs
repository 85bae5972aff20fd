//! Round trips measured.
//!
//! * [`measure()`]: probes sent by STAMP or ICMP echo on a schedule, and what came of each as a
//!   [`Measured`] table of stamps.
//! * [`Summary`]: what that says: round trips by vantage point, what each layer adds, loss,
//!   reordering, delay variation.
//! * [`reflector`]: the far end, which answers STAMP.
//!
//! The packets are `tompion-stamp`'s, the sockets `tompion-net`'s, and what stamps mean is
//! `tompion-path`'s; here they meet.
#![forbid(unsafe_code)]

mod account;
mod at_rate;
mod error;
mod icmp;
mod marks;
mod measure;
mod one_by_one;
mod probing;
pub mod reflector;
mod speaker;
mod stamp;
mod summary;
mod target;

pub use account::{Errors, FarEnd, Measured, Oddities};
pub use error::PacketError;
pub use marks::Marks;
pub use measure::{MOST_PROBES, Settings, measure};
pub use probing::Progress;
pub use summary::{Added, Disorder, MissingStamps, Quantiles, RoundTrip, Summary, Variation};
pub use target::{Family, Protocol, resolve};
