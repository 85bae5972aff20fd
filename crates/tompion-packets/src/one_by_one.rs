//! Probes one after another, each waited for: what a reply tells is entered as it comes.

use tompion_net::sender::Sink;
use tompion_net::{IcmpError, Received, TxStamp};

use crate::probing::{Probing, Progress};
use crate::speaker::{Heard, Speaker};

impl<S: Speaker> Sink for Probing<'_, S> {
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

    fn quiet(&mut self, until_ns: u64) {
        if let Some(observing) = &mut self.observing {
            observing.quiet(until_ns);
        }
        (self.watching)(&Progress {
            packets: &self.account.packets,
            timeout_ns: self.timeout_ns,
        });
    }
}
