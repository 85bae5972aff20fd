//! A train of packets: each goes at a moment of its own, by a call of its own, and what became of it is read when all have gone.
//! One that is late puts off those after it, by as much.
//!
//! Nothing else is done while a train is under way: no stamp is read, no reply is taken, and nothing is allocated. It needs
//! room for its transmit stamps in the socket meanwhile ([`crate::Options::receive_buffer`]).

use tompion_time::sleep::{Host, Policy, Sleeper};

use super::HEAD_START_NS;
use super::short_slice::ShortSlice;
use crate::batch::ErrorBatch;
use crate::control::Route;
use crate::error::{NetError, SendError};
use crate::socket::StampingSocket;
use crate::stamps::{Event, TxKind, monotonic_ns, realtime_ns};
use crate::wait::Stop;

/// How long transmit stamps are waited for after the last packet, in nanoseconds, and how long between two looks.
const PATIENCE_NS: u64 = 100_000_000;
const LOOK_NS: u64 = 500_000;
/// The longest piece of a wait that a stop cannot end, in nanoseconds, and the last one, in which the sleeper alone waits.
const PIECE_NS: u64 = 20_000_000;
const NEAR_NS: u64 = 2_000_000;
/// Entries of the error queue that are read by one call.
const AT_ONCE: usize = 64;
/// And of entries that are left from before a train.
const MOST_EARLIER: usize = 1 << 16;

/// A packet of a train as it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfTrain {
    /// When it was due, by `CLOCK_MONOTONIC`, in nanoseconds: later than planned by what packets before it were late.
    pub due_ns: u64,
    /// When it was handed over, by the same clock; never before it was due.
    pub mono_ns: u64,
    /// The same moment by `CLOCK_REALTIME`.
    pub user_ns: i64,
    /// When the kernel gave it to the device's queue, and to the device; nothing where that was not told.
    pub scheduled_ns: Option<i64>,
    /// As before.
    pub software_ns: Option<i64>,
    /// Whether it was handed over, and not dropped by this machine.
    pub went: bool,
}

/// A train on its way: reserved before it goes.
#[derive(Debug)]
pub struct TrainLog {
    packets: Vec<OfTrain>,
    errors: ErrorBatch,
    /// How often the rest of the train was put off, since a packet was late by half of the time to the next one.
    pub put_off: u32,
    /// The first packet that this machine dropped says why.
    pub first_refusal: Option<SendError>,
}

impl TrainLog {
    /// With room for a train of so many packets.
    pub fn new(packets: usize) -> Self {
        Self {
            // Touched, so that no page is missing when it is needed.
            packets: vec![OfTrain::default(); packets],
            errors: ErrorBatch::new(AT_ONCE),
            put_off: 0,
            first_refusal: None,
        }
    }

    /// The packets of the train that went last.
    pub fn packets(&self) -> &[OfTrain] {
        &self.packets
    }
}

/// A train to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Train<'a> {
    /// When each packet is due after the first, in nanoseconds, ascending.
    pub due_ns: &'a [u64],
    /// How long there is to be silence before the first, in nanoseconds.
    pub silence_ns: u64,
    /// The number of the first packet's stamps; the others follow.
    pub first: u64,
}

/// Sends a train, whose packets leave by each of the sockets in turn: a flow each. `write` puts into a packet, by its place in the train
/// and its user stamp, what is its own, right before it goes. False where it was stopped before its end. A thread that waits precisely
/// asks for the shortest time slice that there is.
///
/// # Errors
/// Where a socket's stamps cannot be read.
///
/// # Panics
/// Without a socket.
pub fn send_train<H: Host>(
    sockets: &[StampingSocket],
    train: &Train<'_>,
    sleeper: &mut Sleeper<H>,
    packet: &mut [u8],
    write: &mut dyn FnMut(usize, i64, &mut [u8]),
    log: &mut TrainLog,
    stop: &Stop,
) -> Result<bool, NetError> {
    assert!(!sockets.is_empty(), "a train leaves by a socket");
    // As any program has it, where that is to be measured.
    let _slice = (sleeper.policy() != Policy::System).then(ShortSlice::ask);
    // Of whatever came before, so that the kernel's count of packets is certain.
    for socket in sockets {
        socket.drain(&mut log.errors, MOST_EARLIER, |_| {})?;
        socket.resynchronize()?;
    }
    let Train {
        due_ns,
        silence_ns,
        first,
    } = *train;
    log.packets.resize(due_ns.len(), OfTrain::default());
    log.first_refusal = None;
    log.put_off = 0;
    let route = Route::default();
    let start = monotonic_ns().saturating_add(HEAD_START_NS.max(silence_ns));
    let mut is_whole = true;
    // What is late is not made up for: packets that followed at once would be another train.
    let mut late_ns = 0_u64;
    for (index, (after, of_train)) in due_ns.iter().zip(&mut log.packets).enumerate() {
        let due = start.saturating_add(*after).saturating_add(late_ns);
        *of_train = OfTrain {
            due_ns: due,
            ..OfTrain::default()
        };
        while monotonic_ns().saturating_add(NEAR_NS) < due && !stop.is_set() {
            let piece = monotonic_ns().saturating_add(PIECE_NS);
            tompion_time::sleep::sleep_until_ns(piece.min(due - NEAR_NS));
        }
        if stop.is_set() {
            is_whole = false;
            continue;
        }
        if monotonic_ns() < due {
            sleeper.sleep_until_ns(due);
        }
        of_train.mono_ns = monotonic_ns();
        let gap_ns = due_ns
            .get(index + 1)
            .map_or(0, |next| next.saturating_sub(*after));
        let off_ns = of_train.mono_ns.saturating_sub(due);
        if gap_ns > 0 && 2 * off_ns > gap_ns {
            late_ns = late_ns.saturating_add(off_ns);
            log.put_off += 1;
        }
        of_train.user_ns = realtime_ns();
        write(index, of_train.user_ns, packet);
        let socket = &sockets[index % sockets.len()];
        match socket.send(first + index as u64, of_train.user_ns, packet, &route) {
            Ok(()) => of_train.went = true,
            Err(why) => {
                log.first_refusal.get_or_insert(why);
            }
        }
    }
    for socket in sockets {
        take_stamps(socket, first, log, stop)?;
    }
    Ok(is_whole)
}

/// Reads transmit stamps until all have come, or for as long as they may take.
fn take_stamps(
    socket: &StampingSocket,
    first: u64,
    log: &mut TrainLog,
    stop: &Stop,
) -> Result<(), NetError> {
    let end = monotonic_ns().saturating_add(PATIENCE_NS);
    let TrainLog {
        packets, errors, ..
    } = log;
    loop {
        let most = 4 * packets.len().max(AT_ONCE);
        socket.drain(errors, most, |event| {
            let Event::Stamp(stamp) = event else { return };
            let place = stamp
                .number
                .checked_sub(first)
                .and_then(|at| usize::try_from(at).ok());
            let Some(of_train) = place.and_then(|at| packets.get_mut(at)) else {
                return;
            };
            match stamp.kind {
                TxKind::Sched => of_train.scheduled_ns = Some(stamp.ns),
                TxKind::Software => of_train.software_ns = Some(stamp.ns),
                TxKind::Hardware => {}
            }
        })?;
        if socket.waiting() == 0 || monotonic_ns() >= end || stop.is_set() {
            socket.give_up();
            return Ok(());
        }
        tompion_time::sleep::sleep_until_ns(monotonic_ns().saturating_add(LOOK_NS));
    }
}
