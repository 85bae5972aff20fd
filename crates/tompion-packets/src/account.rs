//! What came of each probe, as it happens; nothing here allocates while probes are under way.

use serde::Serialize;
use tompion_cause::{Cause, Source};
use tompion_net::sender::{Sent, Tally};
use tompion_net::{
    Capability, IcmpError, ReceiveStamps, Received, SendError, TransmitStamps, TxKind, TxStamp,
};
use tompion_path::stamps::{Missing, Outcome, Packets, PacketsError, Stamp};
use tompion_path::trust::{HeldUp, Side, Standstill, Trust};
use tompion_stamp::{Oddity, StampKind};

use crate::observed::{HeldUpBy, Observed};
use crate::standstills::Standstills;

/// What a far end said of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FarEnd {
    /// Version of Tompion that answers, its first two numbers.
    pub tompion: Option<(u8, u8)>,
    /// Who takes the receive stamp (T2): `user`, `kernel` or `hardware`.
    pub receives_by: Option<&'static str>,
    /// Who takes the transmit stamp in the reply (T3).
    pub sends_by: Option<&'static str>,
    /// Whether the transmit stamps of its kernel follow in later replies.
    pub follows_up: bool,
    /// Whether its clock is in step with UTC, by its own account.
    pub is_synchronized: bool,
    /// The error of its clock by its own account, in nanoseconds.
    pub error_ns: Option<u64>,
    /// TTL or hop limit that probes had left there.
    pub ttl: Option<u8>,
    /// Requests from this address that it left unanswered since the first reply, as they came faster than it answers; it
    /// counts up to 65,535 of them.
    pub beyond_its_rate: u64,
}

/// How often something was odd about replies, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities([u64; Oddity::ALL.len()]);

impl Oddities {
    /// Each kind that there was, in words, with how often.
    pub fn iter(&self) -> impl Iterator<Item = (Oddity, u64)> + '_ {
        let all = Oddity::ALL.into_iter().zip(self.0);
        all.filter(|(_, count)| *count > 0)
    }
}

/// ICMP errors, and what the latest of them said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// How many.
    pub count: u64,
    /// Type and code of the latest; zero where this machine itself refused.
    pub latest: (u8, u8),
    /// What the kernel makes of it, as in errno.h.
    pub errno: u32,
    /// The next link's MTU in bytes, where a packet was too long.
    pub mtu: Option<u32>,
}

/// What a reply tells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// T2, in nanoseconds by the far end's clock.
    pub far_received_ns: Option<i64>,
    /// T3.
    pub far_sent_ns: Option<i64>,
    /// An earlier probe, and the transmit stamp of its reply by the far end's kernel.
    pub follow_up: Option<(u64, i64)>,
    /// An earlier probe, and what held it up there.
    pub mark: Option<(u64, (Cause, Source))>,
    pub oddities: tompion_stamp::Oddities,
    pub far: Option<FarEnd>,
    /// Requests from this address that it ever left unanswered for its rate.
    pub unanswered: Option<u16>,
}

/// What is kept of a measurement.
#[derive(Debug)]
pub(crate) struct Account {
    pub packets: Packets,
    /// Bytes of a probe as an IP packet.
    ip_bytes: u32,
    odd: Oddities,
    errors: Errors,
    far: FarEnd,
    /// Requests that the far end had left unanswered by its first reply, and by its latest.
    unanswered: Option<[u16; 2]>,
    /// What held up each probe at the far end, by its own account.
    far_marks: Vec<Option<(Cause, Source)>>,
    /// Answers to probes that counted as lost.
    pub late: u64,
    /// The first reason for which a probe was not sent.
    first_refusal: Option<SendError>,
    is_too_long: bool,
    /// Stamps and replies that cannot be entered: a clock shows the year 2116, or a reply names a
    /// probe that there is not.
    refused: u64,
}

impl Account {
    pub fn new(probes: usize, ip_bytes: u32, hardware: bool) -> Result<Self, PacketsError> {
        // With those of the device, which may stamp for somebody else though nobody here asked.
        let mut packets = Packets::with_capacity(probes, &Stamp::FIXED)?;
        if !hardware {
            for place in [Stamp::SentHardware, Stamp::ReceivedHardware] {
                packets.set_missing_otherwise(place, Missing::NotTaken)?;
            }
        }
        Ok(Self {
            packets,
            ip_bytes,
            odd: Oddities::default(),
            errors: Errors::default(),
            far: FarEnd::default(),
            unanswered: None,
            far_marks: vec![None; probes],
            late: 0,
            first_refusal: None,
            is_too_long: false,
            refused: 0,
        })
    }

    /// Nobody asks for this stamp.
    pub fn without(&mut self, stamp: Stamp) {
        let done = self.packets.set_missing_otherwise(stamp, Missing::NotTaken);
        self.count(done);
    }

    fn count<T>(&mut self, done: Result<T, PacketsError>) -> Option<T> {
        self.refused += u64::from(done.is_err());
        done.ok()
    }

    fn set(&mut self, row: usize, stamp: Stamp, at_ns: i64) {
        let done = self.packets.set(row, stamp, at_ns);
        self.count(done);
    }

    /// The row of a probe, which is made where it is not there yet: numbers go up by one.
    pub fn row(&mut self, number: u64) -> usize {
        let row = usize::try_from(number).unwrap_or(usize::MAX);
        while self.packets.len() <= row {
            let pushed = self.packets.push(self.ip_bytes);
            if self.count(pushed).is_none() {
                break;
            }
        }
        row
    }

    pub fn sent(&mut self, sent: &Sent) {
        let row = self.row(sent.due.number);
        let late = i64::try_from(sent.late_ns()).unwrap_or(i64::MAX);
        self.set(row, Stamp::Due, sent.user_ns.saturating_sub(late));
        self.set(row, Stamp::UserSent, sent.user_ns);
    }

    pub fn not_sent(&mut self, sent: &Sent, why: SendError) {
        self.sent(sent);
        self.leave_out(sent.due.number);
        self.is_too_long |= matches!(why, SendError::TooLong(_));
        self.first_refusal.get_or_insert(why);
    }

    /// A probe that did not go.
    pub fn leave_out(&mut self, number: u64) {
        let row = self.row(number);
        let done = self.packets.set_outcome(row, Outcome::NotSent);
        self.count(done);
    }

    pub fn transmitted(&mut self, stamp: TxStamp) {
        let place = match stamp.kind {
            TxKind::Sched => Stamp::Scheduled,
            TxKind::Software => Stamp::Sent,
            TxKind::Hardware => Stamp::SentHardware,
        };
        self.set(stamp.number as usize, place, stamp.ns);
    }

    /// A reply to a probe, or one more; whether it is the first.
    pub fn replied(&mut self, number: u64, received: &Received, told: &Told) -> bool {
        let row = number as usize;
        let arrived = self.packets.arrived(row);
        let is_first = matches!(
            self.count(arrived),
            Some(tompion_path::stamps::Arrival::First(_))
        );
        if !is_first {
            return false;
        }
        self.set(row, Stamp::UserReceived, received.stamps.user_ns);
        let stamps = [
            (Stamp::Received, received.stamps.software_ns),
            (Stamp::ReceivedHardware, received.stamps.hardware_ns),
            (Stamp::FarReceived, told.far_received_ns),
            (Stamp::FarSent, told.far_sent_ns),
        ];
        for (place, at_ns) in stamps {
            if let Some(at_ns) = at_ns {
                self.set(row, place, at_ns);
            }
        }
        let follow_up = told.follow_up.filter(|told| !self.repeats(*told));
        if let Some((earlier, at_ns)) = follow_up {
            self.set(earlier as usize, Stamp::FarSentKernel, at_ns);
        }
        if let Some((earlier, mark)) = told.mark
            && let Some(place) = self.far_marks.get_mut(earlier as usize)
        {
            *place = Some(mark);
        }
        for oddity in told.oddities.iter() {
            self.odd.0[oddity as usize] += 1;
        }
        if let Some(far) = told.far {
            let follows_up = self.far.follows_up | follow_up.is_some();
            self.far = FarEnd { follows_up, ..far };
        }
        if let Some(now) = told.unanswered {
            let [first, latest] = self.unanswered.unwrap_or([now; 2]);
            self.unanswered = Some([first, latest.max(now)]);
        }
        true
    }

    /// Whether a follow-up stamp is the one that was in the reply already: a far end whose kernel told it nothing
    /// has no other (RFC 8972, section 4.7).
    fn repeats(&self, (earlier, at_ns): (u64, i64)) -> bool {
        self.packets.get(earlier as usize, Stamp::FarSent) == Some(at_ns)
    }

    pub fn icmp_error(&mut self, error: &IcmpError<'_>) {
        self.errors = Errors {
            count: self.errors.count + 1,
            latest: (error.kind, error.code),
            errno: error.errno,
            mtu: error.mtu.or(self.errors.mtu),
        };
    }

    /// Takes away what a reply brought that came when its probe was lost already: its round trip is
    /// none (RFC 2681).
    fn forget_reply(&mut self, row: usize) {
        let brought = Stamp::FIXED.into_iter().filter(|s| s.comes_with_reply());
        for place in brought {
            if self.packets.get(row, place).is_some() {
                let done = self.packets.set_missing(row, place, Missing::TooLate);
                self.count(done);
            }
        }
    }

    /// Settles what is left: what has no answer within the timeout is lost. `observed` is what kept the threads that sent
    /// and received from running, where that was looked at.
    pub fn finish(
        mut self,
        timeout_ns: i64,
        tally: Tally,
        capability: Capability,
        observed: Option<Observed>,
    ) -> Measured {
        for row in 0..self.packets.len() {
            let outcome = self.packets.probe(row).map(|p| p.outcome);
            let took = |home| {
                let sent = self.packets.get(row, Stamp::UserSent)?;
                self.packets.get(row, home)?.checked_sub(sent)
            };
            let is_late = took(Stamp::UserReceived).is_some_and(|ns| ns > timeout_ns);
            let went = self.packets.get(row, Stamp::UserSent).is_some();
            match outcome {
                // Stopped between its making and its turn.
                Ok(Outcome::Pending) if !went => {
                    // The row is there.
                    let _ = self.packets.set_outcome(row, Outcome::NotSent);
                    continue;
                }
                Ok(Outcome::Pending) => {}
                Ok(Outcome::Answered) if is_late => {
                    self.late += 1;
                    self.forget_reply(row);
                }
                _ => continue,
            }
            // The row is there.
            let _ = self.packets.set_outcome(row, Outcome::Lost);
        }
        let out = match capability.transmit {
            TransmitStamps::User { errno } => Some(errno),
            TransmitStamps::Kernel => None,
        };
        let home = match capability.receive {
            ReceiveStamps::User { errno } => Some(errno),
            _ => None,
        };
        let reasons = [
            (Stamp::Scheduled, out),
            (Stamp::Sent, out),
            (Stamp::Received, home),
        ];
        for (place, errno) in reasons {
            let why = match errno {
                Some(0) => Missing::NotTaken,
                Some(_) => Missing::Refused,
                None => continue,
            };
            let _ = self.packets.set_missing_otherwise(place, why);
        }
        let unanswered = self
            .unanswered
            .map_or(0, |[first, latest]| latest.saturating_sub(first));
        Measured {
            packets: self.packets,
            tally,
            capability,
            far: FarEnd {
                beyond_its_rate: unanswered.into(),
                ..self.far
            },
            far_marks: self.far_marks,
            odd: self.odd,
            errors: self.errors,
            late: self.late,
            first_refusal: self.first_refusal,
            is_too_long: self.is_too_long,
            refused: self.refused,
            observed,
            standstills: None,
        }
    }
}

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    /// A row a probe, a column a stamp.
    pub packets: Packets,
    /// What was sent and came.
    pub tally: Tally,
    /// Whose stamps there are.
    pub capability: Capability,
    /// What the far end said of itself.
    pub far: FarEnd,
    /// What held up each probe there, by its own account; of probes that nothing did, or of which it said nothing, none.
    pub far_marks: Vec<Option<(Cause, Source)>>,
    /// What was odd about replies.
    pub odd: Oddities,
    /// ICMP errors.
    pub errors: Errors,
    /// Replies that came after the timeout; their probes are among the lost ones.
    pub late: u64,
    /// The first reason for which a probe was not sent.
    pub first_refusal: Option<SendError>,
    /// Whether one was longer than the path takes.
    pub is_too_long: bool,
    /// Stamps and replies that the table has no place for.
    pub refused: u64,
    /// What kept the threads from their work, where that was observed.
    pub observed: Option<Observed>,
    /// When this machine stood still meanwhile, where that was looked at.
    pub standstills: Option<Standstills>,
}

impl Measured {
    /// Which probes were held up, and whose fault long round trips are; nothing where no probe has the kernel's stamps both
    /// ways.
    pub fn trust(&self) -> Option<Trust> {
        let known = self.standstills.iter().flat_map(|found| &found.all);
        let all: Vec<Standstill> = known.map(|(still, _)| *still).collect();
        Trust::beside(&self.packets, &all)
    }

    /// By what each of these was held up, in their order: here where that was observed, at the far end where that tells.
    pub fn held_up_by(&self, held_up: &[HeldUp]) -> Vec<Option<HeldUpBy<'_>>> {
        let mut found = match &self.observed {
            Some(observed) => observed.causes(held_up),
            None => vec![None; held_up.len()],
        };
        if let Some(standstills) = &self.standstills {
            for (held_up, by) in held_up.iter().zip(&mut found) {
                if held_up.side == Side::UnderWay {
                    *by = Some(HeldUpBy {
                        cause: standstills.cause(held_up.from_ns, held_up.until_ns),
                        source: Source::Event,
                        by: None,
                    });
                }
            }
        }
        if self.far_marks.iter().any(Option::is_some) {
            for (held_up, by) in held_up.iter().zip(&mut found) {
                if held_up.side == Side::FarEnd {
                    let mark = self.far_marks.get(held_up.row).copied().flatten();
                    let (cause, source) = mark.unwrap_or((Cause::Unknown, Source::Event));
                    *by = Some(HeldUpBy {
                        cause,
                        source,
                        by: None,
                    });
                }
            }
        }
        found
    }
}

/// What a kind of stamp is called.
pub(crate) fn kind_name(kind: StampKind) -> &'static str {
    match kind {
        StampKind::User => "user",
        StampKind::Kernel => "kernel",
        StampKind::Hardware => "hardware",
    }
}

#[cfg(test)]
mod tests;
