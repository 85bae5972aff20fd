//! The loop of a reflector: what comes is answered, and transmit stamps of answers are read back.
//!
//! What an answer is, and whether there is one, is the caller's ([`Responder`]). The loop waits
//! for single packets; where they come at a high rate it drains in batches, since each wake-up
//! costs the sender's CPU an interrupt.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use tompion_time::sleep::sleep_until_ns;

use crate::batch::{ErrorBatch, ReceiveBatch, SendBatch};
use crate::control::Route;
use crate::error::{NetError, SendError};
use crate::ledger::Losses;
use crate::socket::StampingSocket;
use crate::stamps::{Event, IcmpError, Received, TxStamp, monotonic_ns, realtime_ns};
use crate::wait::{MOST_FILES, Stop, wait};

/// Who answers.
pub trait Responder {
    /// What it remembers of an answer until that was sent.
    type Answer;

    /// Answers a packet into `room`, all but the stamp (STAMP's T3), or is silent. `number` is
    /// what transmit stamps of the answer will come with.
    fn answer(
        &mut self,
        number: u64,
        packet: &[u8],
        received: &Received,
        room: &mut [u8],
    ) -> Option<Answering<Self::Answer>>;

    /// The last moment before an answer goes: writes its stamp, and what covers that.
    fn stamp(&mut self, answer: &Self::Answer, user_ns: i64, packet: &mut [u8]);

    /// An answer went, or this machine dropped it.
    fn sent(&mut self, answer: Self::Answer, done: Result<(), SendError>) {
        let _ = (answer, done);
    }

    /// A transmit stamp of an answer.
    fn transmitted(&mut self, stamp: TxStamp);

    /// When there is something to be sent of its own accord, by `CLOCK_MONOTONIC`.
    fn next_due_ns(&self) -> Option<u64> {
        None
    }

    /// Something to be sent of its own accord, if it is due by now.
    fn due(
        &mut self,
        number: u64,
        now_ns: u64,
        room: &mut [u8],
    ) -> Option<Answering<Self::Answer>> {
        let _ = (number, now_ns, room);
        None
    }

    /// Nothing is under way: all that came is answered. The moment for what takes time. Called
    /// after each look at the sockets.
    fn quiet(&mut self, now_ns: u64) {
        let _ = now_ns;
    }

    /// An ICMP error about an answer.
    fn icmp_error(&mut self, error: &IcmpError<'_>) {
        let _ = error;
    }
}

/// An answer that is written.
#[derive(Clone, Copy, Debug)]
pub struct Answering<A> {
    /// What the responder remembers of it.
    pub answer: A,
    /// Its length in bytes.
    pub length: usize,
    /// Where it goes, and how: [`route_back`] and what is asked beyond that.
    pub route: Route,
}

/// The way back to whoever sent a packet, from the address that it was sent to.
pub fn route_back(received: &Received) -> Route {
    Route {
        to: received.from,
        from: received.to,
        interface: match received.to {
            // Only there an address says too little.
            Some(std::net::IpAddr::V6(to)) if to.is_unicast_link_local() => {
                received.interface.unwrap_or(0)
            }
            _ => 0,
        },
        ..Route::default()
    }
}

/// How a reflector works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReflectPlan {
    /// Room for a packet, in bytes, both ways.
    pub packet_bytes: usize,
    /// How many packets are read by one call at most.
    pub batch: usize,
    /// From so many packets a second on it drains at intervals.
    pub drain_above_per_s: u64,
    /// How long it sleeps between two drains then.
    pub drain_every: Duration,
}

impl Default for ReflectPlan {
    fn default() -> Self {
        Self {
            packet_bytes: 9216,
            batch: 64,
            drain_above_per_s: 5000,
            drain_every: Duration::from_millis(1),
        }
    }
}

/// What a reflector did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reflected {
    /// Packets that came.
    pub received: u64,
    /// Those of them without a stamp of the kernel's, whatever the reason.
    pub unstamped: u64,
    /// Answers that were sent.
    pub answered: u64,
    /// Packets without an answer.
    pub silent: u64,
    /// Packets that were longer than their room, which are not handed on.
    pub too_long: u64,
    /// Answers that this machine dropped.
    pub not_sent: u64,
    /// Their bytes.
    pub not_sent_bytes: u64,
    /// Transmit stamps that came.
    pub stamps: u64,
    /// Transmit stamps that did not, of all sockets.
    pub losses: Losses,
    /// Packets that the sockets dropped for want of room, where the kernel says so.
    pub drops: u64,
    /// Drains at intervals, as they are made at high rates.
    pub drains: u64,
}

/// Answers of one batch that have one stamp: sent by one call, so that the last of them goes
/// about as many microseconds later.
const STAMPED_TOGETHER: usize = 8;

/// Batches that are answered before it looks at anything else.
const ROUNDS: usize = 16;

/// How long it waits at most before it looks whether it is to stop, beside being woken for that.
const LOOK_NS: u64 = 100_000_000;

struct Reflector<'a, R: Responder> {
    responder: &'a mut R,
    packets: ReceiveBatch,
    answers: SendBatch,
    /// Of the answers in the batch.
    kept: Vec<Option<R::Answer>>,
    errors: ErrorBatch,
    next: u64,
    done: Reflected,
}

/// Answers packets on all sockets until `stop` is set, which it sees at once, or within 100 ms
/// where it is kept busy.
///
/// # Errors
/// Where waiting or reading fails, or there are more than [`MOST_FILES`] sockets.
pub fn reflect<R: Responder>(
    sockets: &[StampingSocket],
    plan: &ReflectPlan,
    responder: &mut R,
    stop: &Stop,
) -> Result<Reflected, NetError> {
    let batch = plan.batch.clamp(1, 1024);
    let mut reflector = Reflector {
        responder,
        packets: ReceiveBatch::new(batch, plan.packet_bytes),
        answers: SendBatch::new(STAMPED_TOGETHER, plan.packet_bytes),
        kept: Vec::with_capacity(STAMPED_TOGETHER),
        errors: ErrorBatch::new(batch),
        next: 0,
        done: Reflected::default(),
    };
    let files: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
    if files.len() > MOST_FILES {
        return Err(NetError::Io {
            what: "wait for so many sockets",
            source: std::io::ErrorKind::InvalidInput.into(),
        });
    }
    let drain_ns = crate::sender::ns(plan.drain_every);
    let mut rate = Rate::new(plan.drain_above_per_s, monotonic_ns());
    while !stop.is_set() {
        let mut until_ns = LOOK_NS;
        if let Some(due) = reflector.responder.next_due_ns() {
            until_ns = until_ns.min(due.saturating_sub(monotonic_ns()));
        }
        if rate.is_high {
            reflector.done.drains += 1;
            sleep_until_ns(monotonic_ns().saturating_add(drain_ns.min(until_ns)));
        } else {
            wait(&files, stop, until_ns)?;
        }
        let mut came = 0;
        for _ in 0..ROUNDS {
            let mut is_more = false;
            for socket in sockets {
                let count = reflector.serve(socket)?;
                came += count as u64;
                is_more |= count == batch;
            }
            if !is_more || stop.is_set() {
                break;
            }
        }
        reflector.own(sockets)?;
        let now_ns = monotonic_ns();
        rate.count(came, now_ns);
        reflector.responder.quiet(now_ns);
    }
    for socket in sockets {
        reflector.read_errors(socket)?;
        socket.give_up();
        let losses = socket.losses();
        let all = &mut reflector.done.losses;
        for (sum, more) in all.missing.iter_mut().zip(losses.missing) {
            *sum += more;
        }
        all.unattributed += losses.unattributed;
        all.repeated += losses.repeated;
        reflector.done.drops += u64::from(socket.drops().unwrap_or(0));
    }
    Ok(reflector.done)
}

impl<R: Responder> Reflector<'_, R> {
    /// Answers what one socket has, one batch of it, so that the others have their turn.
    fn serve(&mut self, socket: &StampingSocket) -> Result<usize, NetError> {
        let came = socket.receive(&mut self.packets)?;
        self.done.received += came as u64;
        for index in 0..came {
            let (packet, received) = self.packets.get(index);
            self.done.unstamped += u64::from(received.stamps.software_ns.is_none());
            if received.length > packet.len() {
                self.done.too_long += 1;
                continue;
            }
            let number = self.next;
            let room = self.answers.room();
            match self.responder.answer(number, packet, &received, room) {
                Some(answering) => {
                    self.next += 1;
                    self.answers.push(number, answering.length, answering.route);
                    self.kept.push(Some(answering.answer));
                }
                None => self.done.silent += 1,
            }
            if self.answers.is_full() {
                self.send(socket);
            }
        }
        self.send(socket);
        self.read_errors(socket)?;
        Ok(came)
    }

    /// Sends what the responder has of its own accord: by the socket of the destination's family.
    fn own(&mut self, sockets: &[StampingSocket]) -> Result<(), NetError> {
        // A bounded number, so that packets have their turn.
        for _ in 0..self.packets.capacity() {
            let now = monotonic_ns();
            let number = self.next;
            let room = self.answers.room();
            let Some(answering) = self.responder.due(number, now, room) else {
                break;
            };
            self.next += 1;
            let route = answering.route;
            self.answers.push(number, answering.length, route);
            self.kept.push(Some(answering.answer));
            let fits = |socket: &&StampingSocket| {
                let local = socket.local();
                let from_is_ours = |from| local.ip() == from || local.ip().is_unspecified();
                route.to.is_none_or(|to| to.is_ipv6() == local.is_ipv6())
                    && route.from.is_none_or(from_is_ours)
            };
            match sockets.iter().find(fits) {
                Some(socket) => self.send(socket),
                None => {
                    self.answers.clear();
                    self.kept.clear();
                    self.done.not_sent += 1;
                    self.done.not_sent_bytes += answering.length as u64;
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, socket: &StampingSocket) {
        if self.answers.is_empty() {
            return;
        }
        let Self {
            responder,
            answers,
            kept,
            done,
            ..
        } = self;
        let user_ns = realtime_ns();
        for (index, answer) in kept.iter().enumerate() {
            if let Some(answer) = answer {
                responder.stamp(answer, user_ns, answers.packet_mut(index));
            }
        }
        let sent = socket.send_batch(answers, user_ns, |index, length, why| {
            done.not_sent += 1;
            done.not_sent_bytes += length as u64;
            if let Some(answer) = kept[index].take() {
                responder.sent(answer, Err(why));
            }
        });
        done.answered += sent as u64;
        for answer in kept.drain(..).flatten() {
            responder.sent(answer, Ok(()));
        }
        answers.clear();
    }

    fn read_errors(&mut self, socket: &StampingSocket) -> Result<(), NetError> {
        let Self {
            responder,
            errors,
            done,
            ..
        } = self;
        // No more than what a batch of answers causes, so that packets have their turn.
        let most = 16 * self.packets.capacity();
        socket.drain(errors, most, |event| match event {
            Event::Stamp(stamp) => {
                done.stamps += 1;
                responder.transmitted(stamp);
            }
            Event::Error(error) => responder.icmp_error(&error),
        })?;
        socket.resynchronize()
    }
}

/// Whether packets come so often that they are drained at intervals.
struct Rate {
    high_above: u64,
    since_ns: u64,
    came: u64,
    is_high: bool,
}

impl Rate {
    /// How long packets are counted.
    const SPAN_NS: u64 = 20_000_000;

    fn new(per_s: u64, now_ns: u64) -> Self {
        Self {
            high_above: (per_s.saturating_mul(Self::SPAN_NS) / 1_000_000_000).max(1),
            since_ns: now_ns,
            came: 0,
            is_high: false,
        }
    }

    fn count(&mut self, came: u64, now_ns: u64) {
        self.came += came;
        let span = now_ns.saturating_sub(self.since_ns);
        // At once where there are many, and back where a span had fewer than half as many.
        if self.came > self.high_above {
            self.is_high = true;
        }
        if span >= Self::SPAN_NS {
            let expected = u128::from(self.high_above) * u128::from(span);
            let per_span = u128::from(self.came) * u128::from(Self::SPAN_NS);
            self.is_high = match self.is_high {
                true => 2 * per_span > expected,
                false => per_span > expected,
            };
            self.since_ns = now_ns;
            self.came = 0;
        }
    }
}
