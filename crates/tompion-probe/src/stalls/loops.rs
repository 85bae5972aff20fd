//! One loop on each of several CPUs at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use tompion_cause::Counters;
use tompion_time::Rate;
use tompion_time::os;

use super::{Consumer, Row, Settings, StallsOutcome, measure, ring, sys};
use crate::{Error, MeasuringThread, ThreadSettings};

/// Threads that are ready to loop.
///
/// Prepared first and begun afterwards, so that who wants to watch them knows
/// their numbers in between.
///
/// Under a real-time policy on every CPU the loops leave nothing to the thread
/// that empties their rings, short of the kernel's 5 % for others: leave a CPU
/// free, or let the calling thread have a higher priority.
#[derive(Debug)]
pub struct Loops {
    loops: Vec<(ThreadSettings, MeasuringThread)>,
    tids: Vec<i32>,
}

impl Loops {
    /// Starts one thread for each placement, set up as it says.
    ///
    /// # Errors
    /// A thread cannot be started, or a setting is refused.
    pub fn prepare(placements: &[ThreadSettings]) -> Result<Self, Error> {
        let mut loops = Vec::with_capacity(placements.len());
        let mut tids = Vec::with_capacity(placements.len());
        for &settings in placements {
            let thread = MeasuringThread::start()?;
            tids.push(thread.run(settings, || Ok(sys::tid()))?);
            loops.push((settings, thread));
        }
        Ok(Self { loops, tids })
    }

    /// The threads' numbers, in the order of the placements.
    pub fn tids(&self) -> &[i32] {
        &self.tids
    }

    /// Begins all loops. Each has a ring for `ring_rows` rows. `counters` is called
    /// once on each thread with its number and gives what reads that thread's
    /// counters.
    ///
    /// # Errors
    /// A thread has panicked.
    pub fn begin<F, C>(
        self,
        settings: &Settings,
        rate: Option<Rate>,
        ring_rows: usize,
        counters: F,
    ) -> Result<Running, Error>
    where
        F: Fn(i32) -> C + Clone + Send + 'static,
        C: FnMut() -> Counters,
    {
        let mut running = Running {
            stop: Arc::clone(&settings.stop),
            rings: Vec::new(),
            results: Vec::new(),
            outcomes: Vec::new(),
            threads: Vec::new(),
        };
        for ((placement, thread), tid) in self.loops.into_iter().zip(self.tids) {
            let (mut producer, consumer) = ring(ring_rows);
            let (settings, counters) = (settings.clone(), counters.clone());
            let result = thread.begin(placement, move || {
                measure(rate, counters(tid), &settings, &mut producer)
            })?;
            running.rings.push(consumer);
            running.results.push(result);
            running.outcomes.push(None);
            running.threads.push(thread);
        }
        Ok(running)
    }
}

/// Loops that run. Dropped before they have ended, it ends them by setting `stop`
/// of their settings.
#[derive(Debug)]
pub struct Running {
    stop: Arc<AtomicBool>,
    rings: Vec<Consumer>,
    results: Vec<Receiver<Result<StallsOutcome, Error>>>,
    outcomes: Vec<Option<Result<StallsOutcome, Error>>>,
    /// Joined last: the loops have been told to stop by then.
    threads: Vec<MeasuringThread>,
}

impl Running {
    /// Empties all rings: `each` gets the placement's index and the row. Returns
    /// how many there were.
    pub fn drain(&mut self, mut each: impl FnMut(usize, Row)) -> usize {
        let mut rows = 0;
        for (index, ring) in self.rings.iter_mut().enumerate() {
            while let Some(row) = ring.pop() {
                each(index, row);
                rows += 1;
            }
        }
        rows
    }

    /// Whether all loops have ended.
    pub fn has_ended(&mut self) -> bool {
        for (result, outcome) in self.results.iter().zip(&mut self.outcomes) {
            if outcome.is_none() {
                *outcome = match result.try_recv() {
                    Ok(outcome) => Some(outcome),
                    Err(TryRecvError::Disconnected) => Some(Err(Error::Panicked)),
                    Err(TryRecvError::Empty) => None,
                };
            }
        }
        self.outcomes.iter().all(Option::is_some)
    }

    /// Empties the rings until all loops have ended, and gives what they brought,
    /// in the order of the placements.
    ///
    /// # Errors
    /// The first error of any loop.
    pub fn finish(mut self, mut each: impl FnMut(usize, Row)) -> Result<Vec<StallsOutcome>, Error> {
        const PAUSE: Duration = Duration::from_millis(20);
        while !self.has_ended() {
            self.drain(&mut each);
            os::sleep(PAUSE);
        }
        self.drain(&mut each);
        std::mem::take(&mut self.outcomes)
            .into_iter()
            .map(|outcome| outcome.expect("all have ended"))
            .collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}
