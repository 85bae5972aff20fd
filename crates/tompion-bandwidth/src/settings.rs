//! What is asked for.

use std::net::SocketAddr;
use std::time::Duration;

use tompion_path::bandwidth::{Asked, METHODS, MethodEntry};
use tompion_stamp::Key;
use tompion_time::sleep::{Budget, Policy};

/// A train that is over in this time is paced by spinning throughout: whoever sleeps is late on a busy machine.
const SHORT: Duration = Duration::from_millis(30);
/// How much of a second longer trains may spin: the rest is left to others, softirq threads among them.
const SPINS: Budget = Budget::nanoseconds_per_second(500_000_000);

/// By which timers a train is paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// Tompion's own: sleeps that end before the moment, and reads of the clock until it.
    Precise,
    /// The system's: a sleep with the thread's default slack.
    System,
}

impl Timers {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Precise, Self::System];

    /// As options and factors name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Precise => "precise",
            Self::System => "system",
        }
    }

    /// For a train that takes so long.
    pub(crate) fn policy(self, takes: Duration) -> Policy {
        match self {
            Self::Precise if takes <= SHORT => Policy::Spin,
            Self::Precise => Policy::Hybrid { budget: SPINS },
            Self::System => Policy::System,
        }
    }
}

/// What an estimate is to be like.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The far end.
    pub to: SocketAddr,
    /// By which method.
    pub method: &'static MethodEntry,
    /// Bytes of a packet, budget, and rate at most.
    pub asked: Asked,
    /// How trains are paced.
    pub timers: Timers,
    /// How long an estimate may take.
    pub most_time: Duration,
    /// The key of authenticated mode.
    pub key: Option<Key>,
}

impl Settings {
    /// The default method with what it takes by default, to this far end.
    pub fn new(to: SocketAddr) -> Self {
        Self {
            to,
            method: METHODS[0],
            asked: Asked::default(),
            timers: Timers::Precise,
            most_time: Duration::from_secs(10),
            key: None,
        }
    }
}
