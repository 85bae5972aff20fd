//! Available bandwidth measured.
//!
//! A [`Session`] asks a far end who it is, and then drives a method of [`tompion_path::bandwidth`]: it sends the trains that
//! the method wants, by STAMP test packets, and tells it when they departed, by this machine's kernel, and when they arrived,
//! by the far end's. A far end of Tompion's answers none of them and is asked for a train's arrivals once it has passed; any
//! other reflector's replies say when it received each packet.
#![forbid(unsafe_code)]

mod error;
mod far_end;
mod flow;
mod session;
mod settings;
mod text;

pub use error::BandwidthError;
pub use far_end::{Arrivals, FarEnd};
pub use session::{Estimated, Session, TrainTold};
pub use settings::{Settings, Timers};
pub use text::{in_words, on_ethernet};
