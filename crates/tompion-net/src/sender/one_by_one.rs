//! Probes one after another, each waited for, as a program does that sends and receives by a thread each.
//!
//! By one thread a reply would come late on a busy machine: who has just used the CPU to send has to wait
//! until all others had as much (EEVDF, the scheduler since Linux 6.6), while a thread that only receives is
//! owed time when a packet comes. So the sending thread does all else: it reads transmit stamps, too, and makes
//! of what came what it means.

use std::os::fd::AsFd;
use std::sync::mpsc::sync_channel;
use std::thread;

use tompion_time::sleep::{Host, Sleeper};

use super::handing::{Handing, Taken, Taking, pair};
use super::short_slice::ShortSlice;
use super::{HEAD_START_NS, Plan, Sent, Sink, Source, Tally, guard_ns, ns};
use crate::batch::{ErrorBatch, ReceiveBatch};
use crate::error::NetError;
use crate::schedule::Due;
use crate::socket::StampingSocket;
use crate::stamps::{Event, Received, monotonic_ns, realtime_ns};
use crate::wait::{Arrivals, Bell, Stop, wait_with_errors};

/// Packets and entries of the error queue that are read by one call.
const AT_ONCE: usize = 16;
/// Calls, and entries of the error queue, before it is looked whether it is to end: a flood keeps nobody from seeing that.
const ROUNDS: usize = 64;
const MOST_ENTRIES: usize = 4096;

/// Sends probes one after the other and waits for each reply, until the next probe is due at
/// most. Replies that come later are taken when they come. Another thread receives; `ends` stays on the
/// calling one. Both threads ask for the shortest time slice that there is.
///
/// # Errors
/// Where no thread can be started; where reading, waiting or the kernel's count of packets fails; what is
/// under way is lost.
pub fn one_by_one<E: Source + Sink, H: Host>(
    socket: &StampingSocket,
    plan: &Plan,
    sleeper: &mut Sleeper<H>,
    ends: &mut E,
    stop: &Stop,
) -> Result<Tally, NetError> {
    let _slice = ShortSlice::ask();
    let (bell, over) = (Bell::new()?, Stop::new()?);
    let mut packet = vec![0; plan.packet_bytes];
    thread::scope(|scope| {
        let (handing, taking) = pair(plan.packet_bytes);
        let mut receiver = Receiver {
            socket,
            arrivals: Arrivals::of(socket, &over)?,
            packets: ReceiveBatch::new(AT_ONCE, plan.packet_bytes),
            handing,
            bell: &bell,
            over: &over,
            received: 0,
            unstamped: 0,
        };
        let (number, own_number) = sync_channel(1);
        let receiving = thread::Builder::new()
            .name("receiving".to_owned())
            .spawn_scoped(scope, move || {
                // There is room for it.
                let _ = number.send(own_tid());
                let done = receiver.run();
                let told = (receiver.received, receiver.unstamped);
                let bell = receiver.bell;
                // Where it failed nothing more comes: the other thread finds its end gone.
                drop(receiver);
                bell.ring();
                done.map(|()| told)
            })
            .map_err(NetError::io("start a thread"))?;
        // Also where `ends` panics: the scope waits for the thread.
        let ending = Ending(&over);
        let mut sender = Sender {
            socket,
            ends,
            stop,
            taking,
            bell: &bell,
            errors: ErrorBatch::new(AT_ONCE),
            tally: Tally::default(),
            awaited: None,
            is_deaf: false,
        };
        if let Ok(receiving) = own_number.recv() {
            sender.ends.threads(own_tid(), receiving);
        }
        let sent = sender.send_all(plan, sleeper, &mut packet);
        drop(ending);
        // What is there after a stop, too.
        sender.take_rest();
        let received = receiving.join();
        let (received, unstamped) =
            received.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        sent?;
        sender.take_errors()?;
        socket.give_up();
        Ok(Tally {
            received,
            unstamped,
            losses: socket.losses(),
            drops: socket.drops(),
            ..sender.tally
        })
    })
}

/// The number of the calling thread.
pub fn own_tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Ends the thread that receives.
struct Ending<'a>(&'a Stop);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// How much was handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handed {
    All,
    /// There may be more.
    Some,
    /// Nobody takes it any longer.
    ToNobody,
}

struct Receiver<'a> {
    socket: &'a StampingSocket,
    arrivals: Arrivals,
    packets: ReceiveBatch,
    handing: Handing,
    bell: &'a Bell,
    over: &'a Stop,
    received: u64,
    unstamped: u64,
}

impl Receiver<'_> {
    fn run(&mut self) -> Result<(), NetError> {
        let _slice = ShortSlice::ask();
        loop {
            // What came before the end is taken, too.
            let is_over = self.over.is_set();
            let handed = self.hand_on()?;
            if handed == Handed::ToNobody || is_over {
                return Ok(());
            }
            // Of what came before nobody tells again.
            if handed == Handed::All {
                self.arrivals.wait()?;
            }
        }
    }

    /// Hands on what is there, as far as a flood lets it.
    fn hand_on(&mut self) -> Result<Handed, NetError> {
        for _ in 0..ROUNDS {
            if self.socket.receive(&mut self.packets)? == 0 {
                return Ok(Handed::All);
            }
            self.received += self.packets.len() as u64;
            for (packet, received) in self.packets.iter() {
                self.unstamped += u64::from(received.stamps.software_ns.is_none());
                if self.handing.hand(packet, &received).is_err() {
                    return Ok(Handed::ToNobody);
                }
            }
            self.bell.ring();
            if self.packets.len() < self.packets.capacity() {
                return Ok(Handed::All);
            }
        }
        Ok(Handed::Some)
    }
}

struct Sender<'a, E> {
    socket: &'a StampingSocket,
    ends: &'a mut E,
    stop: &'a Stop,
    taking: Taking,
    bell: &'a Bell,
    errors: ErrorBatch,
    tally: Tally,
    /// The probe whose answer is waited for.
    awaited: Option<u64>,
    /// The thread that receives is gone: it failed.
    is_deaf: bool,
}

impl<E: Source + Sink> Sender<'_, E> {
    fn send_all<H: Host>(
        &mut self,
        plan: &Plan,
        sleeper: &mut Sleeper<H>,
        packet: &mut [u8],
    ) -> Result<(), NetError> {
        let guard = guard_ns(sleeper);
        let interval = ns(plan.schedule.interval());
        // Left for `quiet`, which would otherwise never be called where no answer comes.
        let reserve = guard + (interval / 4).min(2_000_000);
        let dues = plan.schedule.starting_at(monotonic_ns() + HEAD_START_NS);
        let count = usize::try_from(plan.count.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        for due in dues.take(count) {
            self.take_until(due.at_ns.saturating_sub(reserve), true)?;
            if monotonic_ns() < due.at_ns.saturating_sub(reserve.midpoint(guard)) {
                self.ends.quiet(due.at_ns.saturating_sub(guard));
            }
            if self.is_over() {
                self.tally.is_stopped = true;
                break;
            }
            let mono_ns = monotonic_ns();
            let is_late = mono_ns.saturating_sub(due.at_ns) > plan.most_late_ns();
            let length = match is_late {
                true => 0,
                false => self.ends.prepare(due, packet).min(packet.len()),
            };
            if length == 0 {
                self.tally.due += 1;
                self.tally.skipped += 1;
                self.ends.skipped(due, mono_ns);
                self.take()?;
                continue;
            }
            if monotonic_ns() >= due.at_ns.saturating_sub(guard) {
                // However short the time is, what came meanwhile is not left to fill the room.
                self.take()?;
            }
            self.take_until(due.at_ns.saturating_sub(guard), false)?;
            if self.is_over() {
                // It did not become due.
                self.tally.is_stopped = true;
                break;
            }
            sleeper.sleep_until_ns(due.at_ns);
            self.send(due, &mut packet[..length])?;
        }
        let end = monotonic_ns().saturating_add(ns(plan.timeout));
        self.take()?;
        while self.tally.answered < self.tally.sent || self.socket.waiting() > 0 {
            let left = end.saturating_sub(monotonic_ns());
            if left == 0 || self.is_over() {
                break;
            }
            self.wait_and_take(left)?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.stop.is_set() || self.is_deaf
    }

    fn send(&mut self, due: Due, packet: &mut [u8]) -> Result<(), NetError> {
        self.tally.due += 1;
        let route = self.ends.route(due);
        let mono_ns = monotonic_ns();
        let user_ns = realtime_ns();
        self.ends.stamp(due, user_ns, packet);
        let done = self.socket.send(due.number, user_ns, packet, &route);
        let sent = Sent {
            due,
            mono_ns,
            user_ns,
            length: packet.len(),
        };
        match done {
            Ok(()) => {
                self.tally.count_sent(&sent);
                self.awaited = Some(due.number);
                self.ends.sent(&sent);
            }
            Err(why) => {
                self.tally.not_sent += 1;
                self.awaited = None;
                self.ends.not_sent(&sent, why);
            }
        }
        self.take_errors()
    }

    fn take_errors(&mut self) -> Result<(), NetError> {
        let (ends, tally) = (&mut *self.ends, &mut self.tally);
        let of_kind = |event: Event<'_>| match event {
            Event::Stamp(stamp) => {
                tally.stamps += 1;
                ends.transmitted(stamp);
            }
            Event::Error(error) => {
                tally.icmp_errors += 1;
                ends.icmp_error(&error);
            }
        };
        self.socket.drain(&mut self.errors, MOST_ENTRIES, of_kind)?;
        // What is lost then is counted.
        self.socket.resynchronize()
    }

    /// Takes what comes until a moment, or until the answer that is waited for and all stamps of
    /// the last probe are there, where `only_awaited`.
    fn take_until(&mut self, until_ns: u64, only_awaited: bool) -> Result<(), NetError> {
        while !self.is_over() {
            let left = until_ns.saturating_sub(monotonic_ns());
            let has_all = self.awaited.is_none() && !self.socket.is_last_waiting();
            if left == 0 || (only_awaited && has_all) {
                break;
            }
            self.wait_and_take(left)?;
        }
        Ok(())
    }

    fn wait_and_take(&mut self, most_ns: u64) -> Result<(), NetError> {
        let (bell, errors) = (self.bell.as_fd(), self.socket.stamps_file());
        if wait_with_errors(bell, errors, self.stop, most_ns)? {
            self.bell.silence();
            self.take()?;
        }
        Ok(())
    }

    /// Takes what is there.
    fn take(&mut self) -> Result<(), NetError> {
        self.take_errors()?;
        let mut enter = entering(self.ends, &mut self.tally, &mut self.awaited);
        match self.taking.take(&mut enter) {
            Taken::All => {}
            // The next look finds it at once.
            Taken::Some => self.bell.ring(),
            Taken::IsOver => self.is_deaf = true,
        }
        Ok(())
    }

    /// Takes the packets that the other thread still hands over until it ends.
    fn take_rest(&mut self) {
        let mut enter = entering(self.ends, &mut self.tally, &mut self.awaited);
        self.taking.take_rest(&mut enter);
    }
}

fn entering<E: Sink>(
    ends: &mut E,
    tally: &mut Tally,
    awaited: &mut Option<u64>,
) -> impl FnMut(&[u8], &Received) {
    move |packet, received| {
        if let Some(number) = ends.received(packet, received) {
            tally.answered += 1;
            if *awaited == Some(number) {
                *awaited = None;
            }
        }
    }
}
