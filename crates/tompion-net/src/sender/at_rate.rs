//! High rates: one thread sends, another drains what comes.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread;

use tompion_time::sleep::{Host, Sleeper, sleep_until_ns};

use super::{HEAD_START_NS, Plan, Sent, Sink, Source, Tally, ns};
use crate::batch::{ErrorBatch, ReceiveBatch, SendBatch};
use crate::error::NetError;
use crate::schedule::Due;
use crate::socket::StampingSocket;
use crate::stamps::{Event, monotonic_ns, realtime_ns};
use crate::wait::Stop;

/// The least room for packets between two drains, beside what a batch holds.
const ROUNDS: usize = 1024;

/// What the sending thread has the other know.
#[derive(Default)]
struct Progress {
    is_done: AtomicBool,
    /// The receiving thread failed: nothing more is sent.
    has_failed: AtomicBool,
}

/// Sends probes on the calling thread while another takes what comes, in batches each
/// [`Plan::drain_every`]. Probes that are due together go by one call; each batch has one user
/// stamp, read right before. Where the kernel counts packets
/// ([`Ids::Counted`](crate::Ids::Counted)), a probe that could not be sent leaves those after it without stamps until
/// the end; they are counted.
///
/// # Errors
/// Where no thread can be started, or reading fails.
pub fn at_rate<A: Source, B: Sink + Send, H: Host>(
    socket: &StampingSocket,
    plan: &Plan,
    sleeper: &mut Sleeper<H>,
    source: &mut A,
    sink: &mut B,
    stop: &Stop,
) -> Result<Tally, NetError> {
    let progress = Progress::default();
    let mut batch = SendBatch::new(plan.batch, plan.packet_bytes);
    let mut receiver = Receiver {
        socket,
        plan,
        sink,
        stop,
        progress: &progress,
        packets: ReceiveBatch::new(plan.batch, plan.packet_bytes),
        errors: ErrorBatch::new(plan.batch),
        tally: Tally::default(),
    };
    let (sent, received) = thread::scope(|scope| {
        let receiving = thread::Builder::new()
            .name("receiving".to_owned())
            .spawn_scoped(scope, move || {
                let done = receiver.run();
                if done.is_err() {
                    receiver.progress.has_failed.store(true, Release);
                }
                done.map(|()| receiver.tally)
            })
            .map_err(NetError::io("start a thread"))?;
        let sent = send_all(socket, plan, sleeper, source, stop, &progress, &mut batch);
        progress.is_done.store(true, Release);
        let received = receiving
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((sent, received))
    })?;
    socket.give_up();
    Ok(Tally {
        received: received.received,
        unstamped: received.unstamped,
        answered: received.answered,
        icmp_errors: received.icmp_errors,
        stamps: received.stamps,
        losses: socket.losses(),
        drops: socket.drops(),
        ..sent
    })
}

fn send_all<A: Source, H: Host>(
    socket: &StampingSocket,
    plan: &Plan,
    sleeper: &mut Sleeper<H>,
    source: &mut A,
    stop: &Stop,
    progress: &Progress,
    batch: &mut SendBatch,
) -> Tally {
    let mut tally = Tally::default();
    let most_late_ns = plan.most_late_ns();
    let count = usize::try_from(plan.count.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let start = monotonic_ns() + HEAD_START_NS;
    let mut dues = plan.schedule.starting_at(start).take(count).peekable();
    // Of the packets in the batch, which begins empty.
    let mut of_batch: Vec<Due> = Vec::with_capacity(plan.batch.clamp(1, 1024));
    while let Some(first) = dues.next() {
        if stop.is_set() || progress.has_failed.load(Acquire) {
            tally.is_stopped = true;
            break;
        }
        batch.clear();
        of_batch.clear();
        take(
            source,
            first,
            most_late_ns,
            batch,
            &mut of_batch,
            &mut tally,
        );
        wait_until(sleeper, first.at_ns, stop);
        if stop.is_set() {
            // It did not become due.
            tally.due -= of_batch.len() as u64;
            tally.is_stopped = true;
            break;
        }
        // Those that have become due meanwhile go along.
        let now = monotonic_ns();
        while !batch.is_full()
            && let Some(next) = dues.next_if(|next| next.at_ns <= now)
        {
            take(source, next, most_late_ns, batch, &mut of_batch, &mut tally);
        }
        let mono_ns = monotonic_ns();
        let user_ns = realtime_ns();
        for (index, due) in of_batch.iter().enumerate() {
            source.stamp(*due, user_ns, batch.packet_mut(index));
        }
        let sent_of = |due: Due, length| Sent {
            due,
            mono_ns,
            user_ns,
            length,
        };
        socket.send_batch(batch, user_ns, |index, length, why| {
            tally.not_sent += 1;
            source.not_sent(&sent_of(of_batch[index], length), why);
        });
        for (index, due) in of_batch.iter().enumerate() {
            if batch.was_sent(index) {
                let sent = sent_of(*due, batch.packet_mut(index).len());
                tally.count_sent(&sent);
                source.sent(&sent);
            }
        }
    }
    tally
}

/// Puts a probe into the batch, unless it is too late or has no packet.
fn take<A: Source>(
    source: &mut A,
    due: Due,
    most_late_ns: u64,
    batch: &mut SendBatch,
    of_batch: &mut Vec<Due>,
    tally: &mut Tally,
) {
    tally.due += 1;
    let mono_ns = monotonic_ns();
    let is_late = mono_ns.saturating_sub(due.at_ns) > most_late_ns;
    let length = match is_late {
        true => 0,
        false => source.prepare(due, batch.room()),
    };
    if length == 0 {
        tally.skipped += 1;
        source.skipped(due, mono_ns);
        return;
    }
    batch.push(due.number, length, source.route(due));
    of_batch.push(due);
}

/// Sleeps, in pieces that a stop can end.
fn wait_until<H: Host>(sleeper: &mut Sleeper<H>, due_ns: u64, stop: &Stop) {
    const PIECE_NS: u64 = 50_000_000;
    while !stop.is_set() && monotonic_ns().saturating_add(PIECE_NS) < due_ns {
        sleeper.sleep_until_ns(monotonic_ns().saturating_add(PIECE_NS / 2));
    }
    if !stop.is_set() {
        sleeper.sleep_until_ns(due_ns);
    }
}

struct Receiver<'a, B> {
    socket: &'a StampingSocket,
    plan: &'a Plan,
    sink: &'a mut B,
    stop: &'a Stop,
    progress: &'a Progress,
    packets: ReceiveBatch,
    errors: ErrorBatch,
    tally: Tally,
}

impl<B: Sink> Receiver<'_, B> {
    fn run(&mut self) -> Result<(), NetError> {
        let every = self.plan.drain_every;
        let mut end = None;
        loop {
            self.drain()?;
            let is_done = self.progress.is_done.load(Acquire);
            if is_done {
                let now = monotonic_ns();
                let end = *end.get_or_insert(now.saturating_add(ns(self.plan.timeout)));
                // However much came: what is an answer, and to which probe, is found out later.
                if now >= end || self.stop.is_set() {
                    return self.drain();
                }
            }
            let until = monotonic_ns().saturating_add(ns(every));
            self.sink.quiet(until);
            sleep_until_ns(until);
        }
    }

    /// Takes what is there, of both queues by turns, and no more than a bounded number of
    /// rounds, so that a flood does not keep it from seeing the end.
    fn drain(&mut self) -> Result<(), NetError> {
        for _ in 0..ROUNDS {
            let Self {
                socket,
                sink,
                errors,
                tally,
                ..
            } = self;
            let stamps = socket.transmitted(errors, |event| match event {
                Event::Stamp(stamp) => {
                    tally.stamps += 1;
                    sink.transmitted(stamp);
                }
                Event::Error(error) => {
                    tally.icmp_errors += 1;
                    sink.icmp_error(&error);
                }
            })?;
            let packets = self.socket.receive(&mut self.packets)?;
            self.tally.received += packets as u64;
            for (packet, received) in self.packets.iter() {
                self.tally.unstamped += u64::from(received.stamps.software_ns.is_none());
                if self.sink.received(packet, &received).is_some() {
                    self.tally.answered += 1;
                }
            }
            if stamps == 0 && packets == 0 {
                break;
            }
        }
        Ok(())
    }
}
