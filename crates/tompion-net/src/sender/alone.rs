//! One thread that sends a probe and waits for its reply, as a program does.

use std::os::fd::AsFd;

use tompion_time::sleep::{Host, Sleeper};

use super::{HEAD_START_NS, Plan, Sent, Sink, Source, Tally, guard_ns, ns};
use crate::batch::{ErrorBatch, ReceiveBatch};
use crate::error::NetError;
use crate::schedule::Due;
use crate::socket::StampingSocket;
use crate::stamps::{Event, monotonic_ns, realtime_ns};
use crate::wait::{Stop, wait};

/// Packets and entries of the error queue that are read by one call.
const AT_ONCE: usize = 16;

struct Alone<'a, E> {
    socket: &'a StampingSocket,
    ends: &'a mut E,
    stop: &'a Stop,
    packets: ReceiveBatch,
    errors: ErrorBatch,
    tally: Tally,
    /// The probe whose answer is waited for.
    awaited: Option<u64>,
}

impl<E: Source + Sink> Alone<'_, E> {
    /// Takes all that is there.
    fn take(&mut self) -> Result<(), NetError> {
        self.take_errors()?;
        while self.socket.receive(&mut self.packets)? > 0 {
            self.tally.received += self.packets.len() as u64;
            for (packet, received) in self.packets.iter() {
                self.tally.unstamped += u64::from(received.stamps.software_ns.is_none());
                if let Some(number) = self.ends.received(packet, &received) {
                    self.tally.answered += 1;
                    if self.awaited == Some(number) {
                        self.awaited = None;
                    }
                }
            }
            if self.packets.len() < self.packets.capacity() {
                break;
            }
        }
        Ok(())
    }

    fn take_errors(&mut self) -> Result<(), NetError> {
        let Self {
            socket,
            ends,
            errors,
            tally,
            ..
        } = self;
        socket.drain(errors, usize::MAX, |event| match event {
            Event::Stamp(stamp) => {
                tally.stamps += 1;
                ends.transmitted(stamp);
            }
            Event::Error(error) => {
                tally.icmp_errors += 1;
                ends.icmp_error(&error);
            }
        })?;
        // What is lost then is counted.
        socket.resynchronize()
    }

    /// Takes what comes until a moment, or until the answer that is waited for and all stamps of
    /// the last probe are there, where `only_awaited`.
    fn take_until(&mut self, until_ns: u64, only_awaited: bool) -> Result<(), NetError> {
        while !self.stop.is_set() {
            let left = until_ns.saturating_sub(monotonic_ns());
            let has_all = self.awaited.is_none() && !self.socket.is_last_waiting();
            if left == 0 || (only_awaited && has_all) {
                break;
            }
            if wait(&[self.socket.as_fd()], self.stop, left)? {
                self.take()?;
            }
        }
        Ok(())
    }
}

/// Sends probes one after the other and waits for each reply, until the next probe is due at
/// most. Replies that come later are taken when they come.
///
/// # Errors
/// Where reading, waiting or the kernel's count of packets fails; what is under way is lost.
pub fn alone<E: Source + Sink, H: Host>(
    socket: &StampingSocket,
    plan: &Plan,
    sleeper: &mut Sleeper<H>,
    ends: &mut E,
    stop: &Stop,
) -> Result<Tally, NetError> {
    let mut packet = vec![0; plan.packet_bytes];
    let mut alone = Alone {
        socket,
        ends,
        stop,
        packets: ReceiveBatch::new(AT_ONCE, plan.packet_bytes),
        errors: ErrorBatch::new(AT_ONCE),
        tally: Tally::default(),
        awaited: None,
    };
    let guard = guard_ns(sleeper);
    let interval = ns(plan.schedule.interval());
    // Left for `quiet`, which would otherwise never be called where no answer comes.
    let reserve = guard + (interval / 4).min(2_000_000);
    let dues = plan.schedule.starting_at(monotonic_ns() + HEAD_START_NS);
    let count = usize::try_from(plan.count.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    for due in dues.take(count) {
        alone.take_until(due.at_ns.saturating_sub(reserve), true)?;
        if monotonic_ns() < due.at_ns.saturating_sub(reserve.midpoint(guard)) {
            alone.ends.quiet(due.at_ns.saturating_sub(guard));
        }
        if alone.stop.is_set() {
            alone.tally.is_stopped = true;
            break;
        }
        let mono_ns = monotonic_ns();
        let is_late = mono_ns.saturating_sub(due.at_ns) > plan.most_late_ns();
        let length = match is_late {
            true => 0,
            false => alone.ends.prepare(due, &mut packet).min(packet.len()),
        };
        if length == 0 {
            alone.tally.due += 1;
            alone.tally.skipped += 1;
            alone.ends.skipped(due, mono_ns);
            alone.take()?;
            continue;
        }
        if monotonic_ns() >= due.at_ns.saturating_sub(guard) {
            // However short the time is, what came meanwhile is not left to fill the buffer.
            alone.take()?;
        }
        alone.take_until(due.at_ns.saturating_sub(guard), false)?;
        if stop.is_set() {
            // It did not become due.
            alone.tally.is_stopped = true;
            break;
        }
        sleeper.sleep_until_ns(due.at_ns);
        alone.send(due, &mut packet[..length])?;
    }
    let end = monotonic_ns().saturating_add(ns(plan.timeout));
    while alone.tally.answered < alone.tally.sent || alone.socket.waiting() > 0 {
        let left = end.saturating_sub(monotonic_ns());
        if left == 0 || stop.is_set() {
            break;
        }
        if wait(&[socket.as_fd()], stop, left)? {
            alone.take()?;
        }
    }
    // What is there after a stop.
    alone.take()?;
    socket.give_up();
    Ok(Tally {
        losses: socket.losses(),
        drops: socket.drops(),
        ..alone.tally
    })
}

impl<E: Source + Sink> Alone<'_, E> {
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
}
