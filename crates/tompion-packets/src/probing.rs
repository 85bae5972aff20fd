//! The sending side of a measurement, one for both ways to receive.

use tompion_net::sender::{Sent, Source};
use tompion_net::{Due, SendError, monotonic_ns};
use tompion_path::stamps::Packets;

use crate::account::Account;
use crate::observed::Observing;
use crate::speaker::Speaker;

/// What is there so far.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// All probes so far.
    pub packets: &'a Packets,
    /// How long a reply is waited for, in nanoseconds.
    pub timeout_ns: u64,
}

/// Probes as they are made, and what becomes of them.
pub(crate) struct Probing<'a, S> {
    pub speaker: S,
    pub account: Account,
    /// Who is shown what came, when nothing is under way.
    pub watching: &'a mut dyn FnMut(&Progress<'_>),
    pub timeout_ns: u64,
    /// The CPUs on which the threads may run; none where they are not to be observed.
    pub observed_cpus: &'a [u32],
    /// Other threads of ours that run meanwhile.
    pub beside: Vec<i32>,
    pub observing: Option<Observing>,
}

impl<S: Speaker> Source for Probing<'_, S> {
    fn threads(&mut self, sending: i32, receiving: i32) {
        if !self.observed_cpus.is_empty() {
            let observing =
                Observing::begin(&[sending, receiving], &self.beside, self.observed_cpus);
            self.observing = Some(observing);
        }
    }

    fn prepare(&mut self, due: Due, packet: &mut [u8]) -> usize {
        self.account.row(due.number);
        self.speaker.prepare(due.number, packet, monotonic_ns())
    }

    fn stamp(&mut self, due: Due, user_ns: i64, packet: &mut [u8]) {
        self.speaker.stamp(due.number, user_ns, packet);
    }

    fn sent(&mut self, sent: &Sent) {
        self.account.sent(sent);
    }

    fn not_sent(&mut self, sent: &Sent, why: SendError) {
        self.account.not_sent(sent, why);
    }

    fn skipped(&mut self, due: Due, _: u64) {
        self.account.leave_out(due.number);
    }
}
