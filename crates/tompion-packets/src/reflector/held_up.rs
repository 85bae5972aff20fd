//! What keeps a reflector from answering, and which requests that held up.
//!
//! The thread that answers is observed by another one, while senders ask that can be told: an answer never waits for that.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use tompion_cause::{Cause, Source};
use tompion_net::sender::own_tid;
use tompion_path::trust::{HELD_UP_NS, HeldUp, Side};
use tompion_stamp::{Reply, Stamp, StampKind};

use crate::observed::{Observed, Observing};

/// How long it is observed after the last request that asks for it, in nanoseconds.
const IDLE_NS: u64 = 10_000_000_000;
/// How often the observing thread looks, and how many looks make a window: a mark comes a window late.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS: u32 = 2;
/// Requests that wait for a cause; of more nothing is said.
const MOST: usize = 1024;
/// Stays of the latest answers, of which a quarter are the usual ones, and how few say nothing.
const LATEST: usize = 64;
const FEWEST: usize = 8;

/// A request that stayed for longer than usual.
#[derive(Clone, Copy, Debug)]
struct Slow {
    reply: Reply,
    /// Most of it in the device's queue, where nothing but other packets holds it up while the thread is not kept from running.
    is_queued: bool,
    from_ns: i64,
    until_ns: i64,
    excess_ns: i64,
}

/// Requests that were held up, and who looks for the causes.
pub(super) struct HeldUpAnswers {
    tid: i32,
    cpus: Vec<u32>,
    asked_ns: Option<u64>,
    watcher: Option<Watcher>,
    usual: Usual,
    slow: Vec<Slow>,
    before: Option<Observed>,
}

impl HeldUpAnswers {
    /// Of this thread, which may run on these CPUs; without any it is not observed.
    pub fn new(cpus: &[u32]) -> Self {
        Self {
            tid: own_tid(),
            cpus: cpus.to_vec(),
            asked_ns: None,
            watcher: None,
            usual: Usual::default(),
            slow: Vec::with_capacity(MOST),
            before: None,
        }
    }

    /// A request came from somebody who can be told.
    pub fn asked(&mut self, now_ns: u64) {
        self.asked_ns = Some(now_ns);
    }

    /// An answer left, which came to the device's queue then, where that is known.
    pub fn left(&mut self, reply: &Reply, scheduled_ns: Option<i64>, stamp: Stamp) {
        let is_kernels = |stamp: &Stamp| stamp.kind == StampKind::Kernel;
        if self.watcher.is_none() || !is_kernels(&reply.received) || !is_kernels(&stamp) {
            return;
        }
        let from_ns = reply.received.utc_ns;
        let stay_ns = stamp.utc_ns.saturating_sub(from_ns);
        // Which is looked for only where it may matter: there are many answers.
        let usual_ns = (stay_ns > HELD_UP_NS).then(|| self.usual.ns()).flatten();
        self.usual.push(stay_ns);
        let excess_ns = usual_ns.map_or(0, |usual_ns| stay_ns.saturating_sub(usual_ns));
        if excess_ns <= HELD_UP_NS || !reply.takes_marks {
            return;
        }
        let queued_ns = scheduled_ns.map_or(0, |at_ns| stamp.utc_ns.saturating_sub(at_ns));
        let is_queued = queued_ns > excess_ns / 2;
        if self.slow.len() < MOST {
            self.slow.push(Slow {
                reply: *reply,
                is_queued,
                from_ns: match is_queued {
                    true => stamp.utc_ns - queued_ns,
                    false => from_ns,
                },
                until_ns: stamp.utc_ns,
                excess_ns,
            });
        }
    }

    /// Nothing is under way: tells of each request whose cause is known by now.
    pub fn quiet(&mut self, now_ns: u64, tell: impl FnMut(&Reply, (Cause, Source))) {
        let is_wanted = self
            .asked_ns
            .is_some_and(|asked_ns| now_ns.saturating_sub(asked_ns) < IDLE_NS);
        match (&self.watcher, is_wanted && !self.cpus.is_empty()) {
            (None, true) => match Watcher::start(self.tid, &self.cpus) {
                Ok(watcher) => self.watcher = Some(watcher),
                // Where there is no thread to be had there are no marks.
                Err(_) => self.cpus.clear(),
            },
            (Some(_), false) => {
                // It ends by itself.
                self.watcher = None;
                self.before = None;
                self.slow.clear();
            }
            _ => {}
        }
        let window = self.watcher.as_ref().and_then(Watcher::window);
        if let Some(window) = window {
            self.judge(window, tell);
        }
    }

    /// Says what held up the requests that were answered within what was observed.
    fn judge(&mut self, window: Observed, mut tell: impl FnMut(&Reply, (Cause, Source))) {
        let Some(until_ns) = window.until_utc_ns() else {
            // The clock was set: nobody knows what was when.
            self.slow.clear();
            self.before = None;
            return;
        };
        let over: Vec<Slow> = self
            .slow
            .extract_if(.., |slow| slow.until_ns <= until_ns)
            .collect();
        // One that came in the window before may have been held up in both.
        let both = match self.before.take() {
            Some(before) => window.clone().after(before),
            None => window.clone(),
        };
        self.before = Some(window);
        let held_up: Vec<HeldUp> = over
            .iter()
            .enumerate()
            .map(|(row, slow)| HeldUp {
                row,
                side: match slow.is_queued {
                    true => Side::Queued,
                    false => Side::FarEnd,
                },
                from_ns: slow.from_ns,
                until_ns: slow.until_ns,
                excess_ns: slow.excess_ns,
            })
            .collect();
        for (slow, by) in over.iter().zip(both.causes_of_answers(&held_up)) {
            let otherwise = slow.is_queued.then_some((Cause::Queued, Source::Event));
            if let Some(by) = by.map(|by| (by.cause, by.source)).or(otherwise) {
                tell(&slow.reply, by);
            }
        }
    }
}

/// What a quarter of the latest answers keep to.
#[derive(Default)]
struct Usual {
    latest: Vec<i64>,
    next: usize,
}

impl Usual {
    /// Nothing of few.
    fn ns(&self) -> Option<i64> {
        (self.latest.len() >= FEWEST).then(|| {
            let mut sorted = [0; LATEST];
            let sorted = &mut sorted[..self.latest.len()];
            sorted.copy_from_slice(&self.latest);
            let quarter = sorted.len() / 4;
            *sorted.select_nth_unstable(quarter).1
        })
    }

    fn push(&mut self, stay_ns: i64) {
        match self.latest.len() < LATEST {
            true => self.latest.push(stay_ns),
            false => self.latest[self.next % LATEST] = stay_ns,
        }
        self.next = self.next.wrapping_add(1);
    }
}

/// The thread that observes. It ends when this is dropped.
struct Watcher {
    windows: Receiver<Observed>,
    _stop: Sender<()>,
}

impl Watcher {
    fn start(tid: i32, cpus: &[u32]) -> std::io::Result<Self> {
        let (told, windows) = channel();
        let (stop, stopped) = channel();
        let cpus = cpus.to_vec();
        thread::Builder::new()
            .name("tompion-observe".to_owned())
            .spawn(move || observe(tid, &cpus, &stopped, &told))?;
        let _stop = stop;
        Ok(Self { windows, _stop })
    }

    /// The next window, if it is over.
    fn window(&self) -> Option<Observed> {
        self.windows.try_recv().ok()
    }
}

fn observe(tid: i32, cpus: &[u32], stopped: &Receiver<()>, told: &Sender<Observed>) {
    let mut observing = Observing::begin(&[tid], &[], cpus);
    let mut looks = 0;
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(LOOK) {
        looks += 1;
        if looks % LOOKS != 0 {
            observing.look();
        } else if told.send(observing.next()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
