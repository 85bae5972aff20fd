//! Sending probes on a schedule, and taking what comes back.
//!
//! The packets are the caller's: a [`Source`] makes them, a [`Sink`] says what came. What they do
//! while a probe is under way must not allocate, lock or print; there is [`Sink::quiet`] for that.
//!
//! [`one_by_one`] sends and waits for each reply as a program does; [`at_rate`] sends whatever is
//! under way, while what came is drained now and then. In both one thread sends and another receives.
//!
//! No probe is left out in silence: one that is late is sent all the same, and by how much it was
//! late is told. Where a limit is set, what is later is told as skipped.

mod at_rate;
mod handing;
mod one_by_one;
mod short_slice;
mod train;

use std::time::Duration;

use tompion_time::sleep::{Host, Policy, Sleeper};

use crate::control::Route;
use crate::error::SendError;
use crate::ledger::Losses;
use crate::schedule::{Due, Schedule};
use crate::stamps::{IcmpError, Received, TxStamp};

pub use at_rate::at_rate;
pub use one_by_one::{one_by_one, own_tid};
pub use train::{OfTrain, Train, TrainLog, send_train};

/// A probe on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Which one, and when it was due.
    pub due: Due,
    /// When it was handed over, by `CLOCK_MONOTONIC`, in nanoseconds. Never before it was due.
    pub mono_ns: u64,
    /// The same moment by `CLOCK_REALTIME`: its user stamp.
    pub user_ns: i64,
    /// Its length in bytes, without headers of UDP and IP.
    pub length: usize,
}

impl Sent {
    /// How late it was, in nanoseconds.
    pub fn late_ns(&self) -> u64 {
        self.mono_ns.saturating_sub(self.due.at_ns)
    }
}

/// Who makes probes.
pub trait Source {
    /// The threads that send and that receive, by their numbers, before the first probe is due. It may take its time.
    /// By [`one_by_one`] alone.
    fn threads(&mut self, sending: i32, receiving: i32) {
        let _ = (sending, receiving);
    }

    /// Writes the packet of a probe, before it is due, and says how long it is. A packet of no
    /// bytes is a probe that is not to be sent; it counts as skipped.
    fn prepare(&mut self, due: Due, packet: &mut [u8]) -> usize;

    /// The last moment before a packet goes: writes its stamp (STAMP's T1), and what covers that.
    fn stamp(&mut self, due: Due, user_ns: i64, packet: &mut [u8]) {
        let _ = (due, user_ns, packet);
    }

    /// Where to, and how, if the socket does not say so.
    fn route(&mut self, due: Due) -> Route {
        let _ = due;
        Route::default()
    }

    /// A probe went.
    fn sent(&mut self, sent: &Sent);

    /// A probe was handed over, and this machine dropped it.
    fn not_sent(&mut self, sent: &Sent, why: SendError);

    /// A probe was later than [`Plan::most_late`], or had no packet, and was left out.
    fn skipped(&mut self, due: Due, mono_ns: u64) {
        let _ = (due, mono_ns);
    }
}

/// Who takes what comes back.
pub trait Sink {
    /// A packet came. Whose answer it is, if it is one and the first: the number of the probe.
    fn received(&mut self, packet: &[u8], received: &Received) -> Option<u64>;

    /// A transmit stamp of a probe.
    fn transmitted(&mut self, stamp: TxStamp);

    /// An ICMP error about a probe, or about another packet of this machine where the socket is
    /// a raw one.
    fn icmp_error(&mut self, error: &IcmpError<'_>) {
        let _ = error;
    }

    /// Nothing is under way that is waited for, until `until_ns` of `CLOCK_MONOTONIC`: the moment
    /// for what takes time. Called at most once between two probes, or two drains, and not at
    /// all where there is no time.
    fn quiet(&mut self, until_ns: u64) {
        let _ = until_ns;
    }
}

/// What is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// When.
    pub schedule: Schedule,
    /// How many; none for as long as nobody stops it.
    pub count: Option<u64>,
    /// How long answers are waited for after the last probe.
    pub timeout: Duration,
    /// Room for a packet, in bytes, both ways.
    pub packet_bytes: usize,
    /// Probes that are later than this when their turn comes are skipped, and told; none where all
    /// are to be sent however late: after a pause of the machine they go back to back.
    pub most_late: Option<Duration>,
    /// How many packets are sent or read by one call at most ([`at_rate`] alone).
    pub batch: usize,
    /// How long the receiving thread sleeps between two drains ([`at_rate`] alone). Each wake-up
    /// by a packet would cost the sender's CPU an interrupt.
    pub drain_every: Duration,
}

impl Plan {
    /// A plan with a timeout of a second, packets up to 2048 bytes, and no limit of lateness.
    pub fn new(schedule: Schedule, count: Option<u64>) -> Self {
        Self {
            schedule,
            count,
            timeout: Duration::from_secs(1),
            packet_bytes: 2048,
            most_late: None,
            batch: 64,
            drain_every: Duration::from_millis(1),
        }
    }

    fn most_late_ns(&self) -> u64 {
        self.most_late.map_or(u64::MAX, ns)
    }
}

pub(crate) fn ns(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Probes that became due: those sent, not sent and skipped together.
    pub due: u64,
    /// Probes that the kernel took.
    pub sent: u64,
    /// Probes that this machine dropped.
    pub not_sent: u64,
    /// Probes that were left out, because they were too late or had no packet.
    pub skipped: u64,
    /// The latest of those that were sent, in nanoseconds.
    pub most_late_ns: u64,
    /// The sum of all lateness, in nanoseconds.
    pub late_sum_ns: u64,
    /// Packets that came.
    pub received: u64,
    /// Those of them without a stamp of the kernel's, whatever the reason.
    pub unstamped: u64,
    /// Those that answered a probe, each the first.
    pub answered: u64,
    /// ICMP errors that came.
    pub icmp_errors: u64,
    /// Transmit stamps that came.
    pub stamps: u64,
    /// Transmit stamps that did not.
    pub losses: Losses,
    /// Packets that the socket dropped for want of room, where the kernel says so.
    pub drops: Option<u32>,
    /// Whether it was stopped before all were sent.
    pub is_stopped: bool,
}

impl Tally {
    fn count_sent(&mut self, sent: &Sent) {
        let late = sent.late_ns();
        self.sent += 1;
        self.most_late_ns = self.most_late_ns.max(late);
        self.late_sum_ns = self.late_sum_ns.saturating_add(late);
    }
}

/// When the first probe is due: a moment from now, so that it is not late.
const HEAD_START_NS: u64 = 2_000_000;

/// How long before a deadline only the sleeper waits, since it may spin then, in nanoseconds.
fn guard_ns<H: Host>(sleeper: &Sleeper<H>) -> u64 {
    match sleeper.policy() {
        // The wake-up latency of most machines, with some left: it learns from sleeps of its own.
        Policy::Hybrid { .. } | Policy::Spin | Policy::HighPerTimer => 200_000,
        _ => 0,
    }
}
