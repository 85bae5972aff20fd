//! Packets with stamps: sockets, senders, a reflecting loop and taps.
//!
//! * [`StampingSocket`]: UDP and ICMP echo whose packets get the kernel's stamps both ways, and
//!   what the kernel refuses ([`Capability`]).
//! * [`sender`]: probes on a [`Schedule`], one after the other or at high rates.
//! * [`reflect()`]: what comes is answered.
//! * [`tap`]: frames as they pass a device; [`frame`]: what they are; [`pcapng`]: as files.
//! * [`device`]: which devices there are, and whether they stamp in hardware.
//!
//! What the packets are is not known here but for ICMP echo ([`icmp`]); no more is what stamps
//! mean.
#![deny(unsafe_code)]

mod address;
mod batch;
mod capability;
mod control;
pub mod device;
mod error;
pub mod frame;
pub mod icmp;
mod ledger;
mod past_queue;
pub mod pcapng;
mod reflect;
mod schedule;
pub mod sender;
mod socket;
mod stamping;
mod stamps;
mod sys;
pub mod tap;
mod tcp;
mod wait;

pub use batch::{ErrorBatch, ReceiveBatch, SendBatch};
pub use capability::{BufferSize, Capability, Ids, ReceiveStamps, TransmitStamps};
pub use control::Route;
pub use error::{NetError, SendError};
pub use ledger::Losses;
pub use reflect::{Answering, ReflectPlan, Reflected, Responder, reflect, route_back};
pub use schedule::{Due, Dues, Schedule};
pub use socket::{Options, StampingSocket, Transport};
pub use stamps::{
    ErrorOrigin, Event, IcmpError, Received, RxStamps, TxKind, TxStamp, monotonic_ns, realtime_ns,
};
pub use tcp::{TcpTimes, listen_tcp, tcp_times};
pub use wait::{MOST_FILES, Stop, wait};
