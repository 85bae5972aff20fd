//! Probes by STAMP.

use tompion_net::Received;
use tompion_stamp::tlv::values::Tompion;
use tompion_stamp::{Answer, Request, Sender, Taken, TimeFormat};

use crate::account::{FarEnd, Told, kind_name};
use crate::marks::Marks;
use crate::speaker::{Heard, Speaker, best};
use crate::wire;

pub(crate) struct StampSpeaker {
    sender: Sender,
    ssid: u16,
    format: TimeFormat,
    /// The probe of each request, by its sequence number: one that was too late for its turn has none.
    numbers: Vec<u64>,
    /// Requests that are stamped, or left behind: the next one to be stamped comes after them.
    stamped: usize,
}

impl StampSpeaker {
    /// One that sends at most so many.
    pub fn new(sender: Sender, ssid: u16, format: TimeFormat, probes: usize) -> Self {
        Self {
            sender,
            ssid,
            format,
            numbers: Vec::with_capacity(probes),
            stamped: 0,
        }
    }

    fn number(&self, sequence: u32) -> Option<u64> {
        self.numbers.get(sequence as usize).copied()
    }

    fn told(&self, answer: &Answer) -> Told {
        let follow_up = answer.options.follow_up.given().flatten();
        let tompion = answer.options.tompion.given();
        let kind = |of: fn(&Tompion) -> Option<tompion_stamp::StampKind>| {
            tompion.as_ref().and_then(of).map(kind_name)
        };
        Told {
            far_received_ns: answer.reflector_received_utc_ns,
            far_sent_ns: answer.reflector_sent_utc_ns,
            follow_up: follow_up.and_then(|f| Some((self.number(f.sequence?)?, f.sent_utc_ns))),
            mark: tompion.and_then(|t| t.mark).and_then(|mark| {
                let number = self.number(mark.sender_sequence)?;
                Some((number, wire::mark(mark.cause, mark.source)))
            }),
            oddities: answer.oddities,
            unanswered: tompion.and_then(|t| t.unanswered),
            far: Some(FarEnd {
                tompion: tompion.map(|t| t.software),
                receives_by: kind(|t| t.received),
                sends_by: kind(|t| t.sent),
                follows_up: false,
                is_synchronized: answer.reflector_error.synchronized,
                error_ns: answer.reflector_error.error_ns(),
                ttl: answer.ttl,
                ..FarEnd::default()
            }),
        }
    }
}

impl Speaker for StampSpeaker {
    fn bytes(&self) -> usize {
        self.sender.request_bytes()
    }

    fn prepare(&mut self, number: u64, packet: &mut [u8], mono_ns: u64) -> usize {
        if self.numbers.len() == self.numbers.capacity() {
            return 0;
        }
        match self.sender.prepare(packet, mono_ns) {
            Some(request) => {
                self.numbers.push(number);
                request.bytes
            }
            None => 0,
        }
    }

    fn stamp(&mut self, number: u64, user_ns: i64, packet: &mut [u8]) {
        // In the order in which they were prepared, so that nothing is searched once T1 is read.
        while self.number(self.stamped as u32).is_some_and(|n| n < number) {
            self.stamped += 1;
        }
        let request = Request {
            sequence: self.stamped as u32,
            bytes: self.bytes(),
        };
        self.stamped += 1;
        self.sender.stamp(&request, packet, user_ns);
    }

    fn hear(&mut self, packet: &[u8], received: &Received) -> Heard {
        let (sequence, told) = match self.sender.take(packet, best(received)) {
            Taken::Reply(answer) | Taken::Duplicate(answer) => {
                (answer.sequence, self.told(&answer))
            }
            Taken::Late { sequence } => (sequence, Told::default()),
            Taken::NotOurs(_) => return Heard::NotOurs,
        };
        match self.number(sequence) {
            Some(number) => Heard::Reply(number, told),
            None => Heard::NotOurs,
        }
    }

    fn mark(&self) -> Marks {
        Marks::Stamp {
            ssid: self.ssid,
            format: self.format,
            numbers: self.numbers.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
