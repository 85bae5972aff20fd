//! The far end: answers STAMP until it is told to end.

mod held_up;
mod tcp_echo;

use std::net::SocketAddr;

use tompion_net::{
    Answering, NetError, Options, ReflectPlan, Reflected, Responder, Route, SendError,
    StampingSocket, Stop, Transport, TxKind, TxStamp, monotonic_ns, reflect, route_back,
};
use tompion_stamp::{
    Arrival, ClockAccount, Counters, Reflector, ReflectorConfig, Reply, Stamp, StampKind,
};

use crate::error::PacketError;
use crate::speaker::best;
use crate::wire;
use held_up::HeldUpAnswers;

pub use tcp_echo::TcpEcho;

/// How often the state of the clock is looked at, in nanoseconds.
const LOOK_AT_CLOCK_NS: u64 = 10_000_000_000;

/// What a reflector did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Served {
    /// By the protocol.
    pub counters: Counters,
    /// By the sockets.
    pub reflected: Reflected,
}

/// Opens a socket for each address.
///
/// # Errors
/// One of them cannot be listened on.
pub fn listen(addresses: &[SocketAddr]) -> Result<Vec<StampingSocket>, PacketError> {
    let open = |address: &SocketAddr| StampingSocket::open(&Options::new(Transport::Udp, *address));
    let sockets: Result<Vec<_>, NetError> = addresses.iter().map(open).collect();
    Ok(sockets?)
}

/// Answers on all sockets until `stop` is set. `clock` says what this machine's clock is, now and
/// again every ten seconds. What keeps this thread from answering is observed, while somebody asks who can be told, on
/// `observed_cpus`, those where it may run; with none of them it is not.
///
/// # Errors
/// Settings without sense, no memory, a socket that fails.
pub fn serve(
    sockets: &[StampingSocket],
    config: ReflectorConfig,
    clock: impl FnMut() -> ClockAccount,
    observed_cpus: &[u32],
    stop: &Stop,
) -> Result<Served, PacketError> {
    let plan = ReflectPlan::default();
    let mut answers = Answers::new(config, plan.packet_bytes, clock)?;
    answers.held_up = HeldUpAnswers::new(observed_cpus);
    answers.look_at_clock(monotonic_ns());
    let reflected = reflect(sockets, &plan, &mut answers, stop)?;
    Ok(Served {
        counters: answers.reflector.counters(),
        reflected,
    })
}

/// An answer whose transmit stamps are awaited.
#[derive(Clone, Copy)]
struct Sent {
    number: u64,
    reply: Reply,
    /// When it came to the device's queue.
    scheduled_ns: Option<i64>,
}

struct Answers<C> {
    reflector: Reflector,
    /// Answers by their numbers as the sockets count them.
    numbers: Vec<Option<Sent>>,
    repeats: Repeats,
    held_up: HeldUpAnswers,
    clock: C,
    /// When the clock is looked at next.
    look_ns: u64,
}

impl<C: FnMut() -> ClockAccount> Answers<C> {
    fn new(config: ReflectorConfig, packet_bytes: usize, clock: C) -> Result<Self, PacketError> {
        let numbers = config.awaited_stamps.clamp(1, 1 << 20).next_power_of_two();
        Ok(Self {
            numbers: vec![None; numbers],
            held_up: HeldUpAnswers::new(&[]),
            repeats: Repeats::new(packet_bytes),
            reflector: Reflector::new(config)?,
            clock,
            look_ns: 0,
        })
    }

    fn look_at_clock(&mut self, now_ns: u64) {
        self.reflector.set_clock((self.clock)());
        self.look_ns = now_ns.saturating_add(LOOK_AT_CLOCK_NS);
    }

    fn place(&self, number: u64) -> usize {
        number as usize & (self.numbers.len() - 1)
    }

    fn note(&mut self, number: u64, reply: &Reply) {
        let place = self.place(number);
        self.numbers[place] = Some(Sent {
            number,
            reply: *reply,
            scheduled_ns: None,
        });
    }
}

impl<C: FnMut() -> ClockAccount> Responder for Answers<C> {
    type Answer = Reply;

    fn answer(
        &mut self,
        number: u64,
        packet: &[u8],
        received: &tompion_net::Received,
        room: &mut [u8],
    ) -> Option<Answering<Reply>> {
        let now_ns = monotonic_ns();
        let arrival = Arrival {
            datagram: packet,
            source: received.from?,
            received: best(received),
            ttl: received.ttl,
            traffic_class: received.tos,
            now_ns,
        };
        let reply = self.reflector.reflect(&arrival, room).ok()?;
        self.note(number, &reply);
        if reply.takes_marks {
            self.held_up.asked(now_ns);
        }
        let mut route = route_back(received);
        // The six bits of a DSCP stand above the two of ECN.
        route.tos = reply.dscp.map(|dscp| dscp << 2);
        if reply.repeats > 0 {
            self.repeats
                .keep(&reply, &room[..reply.bytes], route, now_ns);
        }
        Some(Answering {
            answer: reply,
            length: reply.bytes,
            route,
        })
    }

    fn stamp(&mut self, answer: &Reply, user_ns: i64, packet: &mut [u8]) {
        self.reflector.stamp(answer, packet, user_ns);
    }

    fn sent(&mut self, _: Reply, _: Result<(), SendError>) {}

    fn transmitted(&mut self, stamp: TxStamp) {
        let place = self.place(stamp.number);
        let awaited = self.numbers[place].as_mut();
        let Some(sent) = awaited.filter(|sent| sent.number == stamp.number) else {
            return;
        };
        match stamp.kind {
            // Where the packet only enters its queue.
            TxKind::Sched => sent.scheduled_ns = Some(stamp.ns),
            TxKind::Software => {
                let left = Stamp {
                    utc_ns: stamp.ns,
                    kind: StampKind::Kernel,
                };
                self.reflector.sent(sent.reply.number, left);
                self.held_up.left(&sent.reply, sent.scheduled_ns, left);
            }
            // By a clock that is not the one of T2 and T3.
            TxKind::Hardware => {}
        }
    }

    fn quiet(&mut self, now_ns: u64) {
        if now_ns >= self.look_ns {
            self.look_at_clock(now_ns);
        }
        let reflector = &mut self.reflector;
        self.held_up.quiet(now_ns, |reply, by| {
            let (cause, source) = wire::numbers(by);
            reflector.mark(reply, cause, source);
        });
    }

    fn next_due_ns(&self) -> Option<u64> {
        self.repeats.next_due_ns()
    }

    fn due(&mut self, number: u64, now_ns: u64, room: &mut [u8]) -> Option<Answering<Reply>> {
        let kept = self.repeats.due(now_ns)?;
        let (_, earlier, route) = kept.due.take()?;
        let length = earlier.bytes;
        room.get_mut(..length)?.copy_from_slice(&kept.packet);
        // Its rate is exhausted, or all were sent: then there is no further one.
        let reply = self.reflector.repeat(&earlier, room, now_ns).ok()?;
        if reply.repeats > 0 {
            kept.due = Some((next(&reply, now_ns), reply, route));
        }
        self.note(number, &reply);
        Some(Answering {
            answer: reply,
            length,
            route,
        })
    }
}

/// Replies that keys which are allowed it asked for more of, in memory that is there from the start.
struct Repeats(Vec<Kept>);

/// Requests that are repeated at a time; what is asked for beyond has one reply.
const AT_A_TIME: usize = 64;

struct Kept {
    /// What is to be sent, and when next; none where the place is free.
    due: Option<(u64, Reply, Route)>,
    packet: Vec<u8>,
}

impl Repeats {
    fn new(packet_bytes: usize) -> Self {
        let free = || Kept {
            due: None,
            packet: Vec::with_capacity(packet_bytes),
        };
        Self((0..AT_A_TIME).map(|_| free()).collect())
    }

    fn keep(&mut self, reply: &Reply, packet: &[u8], route: Route, now_ns: u64) {
        if let Some(free) = self.0.iter_mut().find(|kept| kept.due.is_none()) {
            free.packet.clear();
            free.packet.extend_from_slice(packet);
            free.due = Some((next(reply, now_ns), *reply, route));
        }
    }

    fn next_due_ns(&self) -> Option<u64> {
        self.0
            .iter()
            .filter_map(|kept| Some(kept.due.as_ref()?.0))
            .min()
    }

    /// One that is due.
    fn due(&mut self, now_ns: u64) -> Option<&mut Kept> {
        let is_due = |kept: &&mut Kept| kept.due.as_ref().is_some_and(|due| due.0 <= now_ns);
        self.0.iter_mut().find(is_due)
    }
}

/// When the next of several replies is due, in nanoseconds.
fn next(reply: &Reply, now_ns: u64) -> u64 {
    now_ns.saturating_add(u64::from(reply.interval_ns))
}

#[cfg(test)]
mod tests;
