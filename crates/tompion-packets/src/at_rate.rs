//! Probes at a high rate: one thread sends, another writes down what comes, and only afterwards is
//! it said what that was.

use tompion_net::sender::Sink;
use tompion_net::{IcmpError, Received, TxStamp};

use crate::account::Account;
use crate::speaker::{Heard, Speaker};

/// Room for packets beyond one a probe: duplicates, and what others send.
const BEYOND: usize = 1024;

/// The receiving thread's part: what came, in memory that was written to beforehand.
pub(crate) struct Log {
    bytes: Vec<u8>,
    /// Bytes of a packet that are kept.
    each: usize,
    packets: Vec<(usize, Received)>,
    stamps: Vec<TxStamp>,
    /// Kinds of ICMP errors are few; the latest says it.
    errors: u64,
    latest: Option<LatestError>,
    /// Packets and stamps for which there was no room.
    pub overflowed: u64,
}

#[derive(Clone, Copy)]
struct LatestError {
    kind: u8,
    code: u8,
    errno: u32,
    mtu: Option<u32>,
    origin: tompion_net::ErrorOrigin,
}

impl Log {
    /// One for so many probes of so many bytes.
    pub fn new(probes: usize, each: usize) -> Self {
        let room = probes + probes / 8 + BEYOND;
        let mut packets = Vec::with_capacity(room);
        let mut stamps = Vec::with_capacity(3 * room);
        // Touched, so that no page is missing when it is needed.
        packets.resize(room, (0, NOTHING));
        packets.clear();
        stamps.resize(3 * room, NO_STAMP);
        stamps.clear();
        Self {
            bytes: vec![1; room * each],
            each,
            packets,
            stamps,
            errors: 0,
            latest: None,
            overflowed: 0,
        }
    }

    /// Enters what was written down.
    pub fn replay<S: Speaker>(&self, speaker: &mut S, account: &mut Account) {
        for &stamp in &self.stamps {
            account.transmitted(stamp);
        }
        for (place, (length, received)) in self.packets.iter().enumerate() {
            let begin = place * self.each;
            let packet = &self.bytes[begin..begin + length];
            if let Heard::Reply(number, told) = speaker.hear(packet, received) {
                account.replied(number, received, &told);
            }
        }
        if let Some(latest) = self.latest {
            for _ in 0..self.errors {
                account.icmp_error(&IcmpError {
                    origin: latest.origin,
                    errno: latest.errno,
                    kind: latest.kind,
                    code: latest.code,
                    mtu: latest.mtu,
                    offender: None,
                    destination: None,
                    quoted: &[],
                });
            }
        }
    }
}

const NOTHING: Received = Received {
    stamps: tompion_net::RxStamps {
        user_ns: 0,
        software_ns: None,
        hardware_ns: None,
    },
    from: None,
    to: None,
    interface: None,
    ttl: None,
    tos: None,
    length: 0,
    drops: None,
};

const NO_STAMP: TxStamp = TxStamp {
    number: 0,
    kind: tompion_net::TxKind::Sched,
    ns: 0,
};

impl Sink for Log {
    fn received(&mut self, packet: &[u8], received: &Received) -> Option<u64> {
        let place = self.packets.len();
        if place == self.packets.capacity() {
            self.overflowed += 1;
            return None;
        }
        // Longer ones are odd, and that they are is seen by one byte more.
        let length = packet.len().min(self.each);
        let begin = place * self.each;
        self.bytes[begin..begin + length].copy_from_slice(&packet[..length]);
        self.packets.push((length, *received));
        // Which probe it answers is found out later; it only says here that one was.
        Some(place as u64)
    }

    fn transmitted(&mut self, stamp: TxStamp) {
        match self.stamps.len() < self.stamps.capacity() {
            true => self.stamps.push(stamp),
            false => self.overflowed += 1,
        }
    }

    fn icmp_error(&mut self, error: &IcmpError<'_>) {
        self.errors = (self.errors + 1).min(1 << 20);
        self.latest = Some(LatestError {
            kind: error.kind,
            code: error.code,
            errno: error.errno,
            mtu: error.mtu,
            origin: error.origin,
        });
    }
}
