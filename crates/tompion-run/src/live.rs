//! Measuring what a viewer chooses, slice by slice, while the viewer looks on.

mod joined;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tompion_model::{Design, Factors, Status, Storage, Throttling};

use tompion_store::RunWriter;

use crate::clock_watch::{ClockWatch, since};
use crate::execute::with_proof;
use crate::probes::Way;
use crate::{Bench, Error, PlannedCell, Trial};
use joined::join;

/// Slices of sleeps of one cell that follow each other are saved as one trial, which is
/// ended after this long: a file for each slice would be ten thousand in an hour.
const TRIAL: Duration = Duration::from_secs(10);

/// `run.json` is rewritten this often; trials saved since are in their own files.
const CHECKPOINT: Duration = Duration::from_secs(60);

/// Rows that a slice, and all slices of a trial, keep.
const ROWS: usize = 1 << 18;

/// Rows that a busy loop keeps, which lasts half a second: one for every 8 us of it. They and
/// those on their way are memory that every loop takes anew.
const LOOP_ROWS: usize = 1 << 16;

/// A bench that measures one slice after the other, each as it is asked for, and saves
/// them: sleeps as trials of ten seconds, a busy loop, whose trial has no gaps, by itself.
///
/// Between two slices nothing is measured: that is the time to draw.
pub struct Live<'a, B: Bench> {
    bench: &'a mut B,
    writer: &'a mut RunWriter,
    stop: Arc<AtomicBool>,
    began: Duration,
    checkpointed: Duration,
    throttling: Option<Throttling>,
    clocks: ClockWatch,
    on: Option<On>,
    open: Vec<Trial>,
    /// Trials saved of each cell: the number of the next one's block.
    saved: BTreeMap<Factors, u32>,
}

/// Beside which load, on which CPU: a thread that was pinned stays so.
#[derive(Clone, Copy, PartialEq, Eq)]
struct On {
    load: usize,
    cpu: Option<u32>,
}

impl<'a, B: Bench> Live<'a, B> {
    /// How a live run orders its trials, for its record: there is no plan.
    pub fn design() -> Design {
        Design {
            order: "live: slices of what the viewer chose, one kind after the other in turn; \
                    those of sleeps are joined to trials of 10 s"
                .to_owned(),
            seed: 0,
            blocks: 0,
            cells: 0,
        }
    }

    /// Begins. A slice under way ends early when `stop` is set.
    pub fn begin(bench: &'a mut B, writer: &'a mut RunWriter, stop: &Arc<AtomicBool>) -> Self {
        let began = bench.now();
        Self {
            began,
            checkpointed: began,
            throttling: bench.throttling(),
            clocks: ClockWatch::begin(bench, writer),
            bench,
            writer,
            stop: Arc::clone(stop),
            on: None,
            open: Vec::new(),
            saved: BTreeMap::new(),
        }
    }

    /// Time since it began.
    pub fn now(&mut self) -> Duration {
        self.bench.now() - self.began
    }

    /// What the CPU quota has done since it began; absent without one.
    pub fn throttling(&mut self) -> Option<Throttling> {
        since(self.throttling, self.bench.throttling())
    }

    /// Measures one slice of `cell`, its load switched on first where it is not, shows
    /// what it brought, with the time it began since the run did, and keeps it.
    ///
    /// # Errors
    /// What the probe, the load or saving says; what was measured before is kept.
    pub fn slice(
        &mut self,
        cell: &PlannedCell,
        time: Duration,
        mut look: impl FnMut(&Trial, Duration),
    ) -> Result<(), Error> {
        let wanted = On {
            load: cell.load,
            cpu: cell.thread.cpu,
        };
        if self.on != Some(wanted) {
            self.rest()?;
            self.bench.load_on(wanted.load)?;
            self.on = Some(wanted);
        }
        let time = time.max(cell.least_time());
        let rows = match cell.probe.way() {
            Way::Loops(_) => LOOP_ROWS,
            _ => ROWS,
        };
        let trials = match with_proof(self.bench, cell, time, rows, &self.stop) {
            Err(_) if self.stop.load(Ordering::Relaxed) => return Ok(()),
            result => result?,
        };
        for trial in trials {
            // Stopped before its first sample, it tells nothing.
            let is_empty = trial.outcome.data.samples.is_empty()
                && trial
                    .findings
                    .stalls
                    .as_ref()
                    .is_none_or(|s| s.iterations == 0);
            if !is_empty {
                look(&trial, trial.started - self.began);
                self.keep(trial)?;
            }
        }
        let now = self.bench.now();
        if now - self.checkpointed > CHECKPOINT {
            self.checkpointed = now;
            self.clocks.read(self.bench, self.writer);
            self.writer.checkpoint()?;
        }
        Ok(())
    }

    /// Switches the load off, and saves what is open.
    ///
    /// # Errors
    /// The load could not be stopped, or saving failed.
    pub fn rest(&mut self) -> Result<(), Error> {
        let off = match self.on.take() {
            Some(on) => self.bench.load_off(on.load),
            None => Ok(()),
        };
        self.save_all()?;
        off
    }

    /// Ends the run, saving what is open.
    ///
    /// # Errors
    /// Saving failed.
    pub fn finish(mut self, status: Status) -> Result<(), Error> {
        let rested = self.rest();
        self.clocks.read(self.bench, self.writer);
        let throttling = self.throttling();
        self.writer.throttling(throttling);
        self.writer.finish(status)?;
        rested
    }

    fn keep(&mut self, trial: Trial) -> Result<(), Error> {
        if !trial.findings.is_empty() || trial.outcome.storage != Storage::Complete {
            return self.save(trial);
        }
        let same = |t: &Trial| t.factors == trial.factors;
        if let Some(at) = self.open.iter().position(same) {
            let open = &self.open[at];
            let is_full = trial.ended - open.started > TRIAL
                || open.outcome.data.samples.len() + trial.outcome.data.samples.len() > ROWS;
            if !is_full {
                join(&mut self.open[at], trial);
                return Ok(());
            }
            let full = self.open.swap_remove(at);
            self.save(full)?;
        }
        self.open.push(trial);
        Ok(())
    }

    fn save_all(&mut self) -> Result<(), Error> {
        while !self.open.is_empty() {
            let trial = self.open.remove(0);
            self.save(trial)?;
        }
        Ok(())
    }

    fn save(&mut self, trial: Trial) -> Result<(), Error> {
        let next = self.saved.entry(trial.factors.clone()).or_default();
        let block = *next;
        *next += 1;
        let (draft, data) = trial.into_draft(block, self.began);
        self.writer.save(draft, &data)?;
        Ok(())
    }
}
