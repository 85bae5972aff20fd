//! Probes one after another, each waited for: what a reply tells is entered as it comes.

use tompion_net::sender::{Sent, Sink, Source};
use tompion_net::{Due, IcmpError, Received, SendError, TxStamp, monotonic_ns};
use tompion_path::stamps::Packets;

use crate::account::Account;
use crate::speaker::{Heard, Speaker};

/// What is there so far.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// All probes so far.
    pub packets: &'a Packets,
    /// How long a reply is waited for, in nanoseconds.
    pub timeout_ns: u64,
}

pub(crate) struct OneByOne<'a, S> {
    pub speaker: S,
    pub account: Account,
    /// Who is shown what came, when nothing is under way.
    pub watching: &'a mut dyn FnMut(&Progress<'_>),
    pub timeout_ns: u64,
}

impl<S: Speaker> Source for OneByOne<'_, S> {
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

impl<S: Speaker> Sink for OneByOne<'_, S> {
    fn received(&mut self, packet: &[u8], received: &Received) -> Option<u64> {
        match self.speaker.hear(packet, received) {
            Heard::Reply(number, told) => {
                let is_first = self.account.replied(number, received, &told);
                is_first.then_some(number)
            }
            Heard::NotOurs => None,
        }
    }

    fn transmitted(&mut self, stamp: TxStamp) {
        self.account.transmitted(stamp);
    }

    fn icmp_error(&mut self, error: &IcmpError<'_>) {
        self.account.icmp_error(error);
    }

    fn quiet(&mut self, _until_ns: u64) {
        (self.watching)(&Progress {
            packets: &self.account.packets,
            timeout_ns: self.timeout_ns,
        });
    }
}
