//! Carrying out a plan.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tompion_load::LoadError;
use tompion_probe::Limits;
use tompion_record::{RunWriter, Status, TrialDraft};

use crate::{Bench, Error, Plan, PlannedCell, ProbePlan, Trial};

/// Where the run stands, told after every trial.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Trials done.
    pub done: usize,
    /// Trials in all.
    pub total: usize,
    /// The cell just measured.
    pub cell: &'a PlannedCell,
    /// Time used.
    pub elapsed: Duration,
}

/// Rows a trial keeps in memory (32 bytes each); longer trials keep bins.
const ROWS: usize = 1 << 20;

/// A wake-up trial gets at least this long, however little time is left.
const SHORTEST: Duration = Duration::from_millis(8);

/// A read-cost trial ends after this long: under heavy load a busy thread may
/// wait for the CPU many times longer than it runs.
const LONGEST_READ: Duration = Duration::from_millis(150);

/// A run may take this much longer than planned; then it ends after the block
/// under way, with fewer blocks rather than late.
const OVERTIME: Duration = Duration::from_secs(5);

/// How often a trial is tried whose load cannot prove that it ran.
const ATTEMPTS: u32 = 5;

/// Measures every cell of every block and saves each trial as it ends.
///
/// When `stop` is set the trial under way is dropped and the run ends as
/// interrupted, which is no error. After an error the run is marked interrupted
/// and keeps what was saved.
pub fn execute(
    plan: &Plan,
    bench: &mut impl Bench,
    writer: &mut RunWriter,
    stop: &Arc<AtomicBool>,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<Status, Error> {
    let result = trials(plan, bench, writer, stop, &mut progress);
    match result {
        Ok(status) => {
            writer.finish(status)?;
            Ok(status)
        }
        Err(error) => {
            writer.note(format!("The run ended early: {error}"));
            // The first error is the one to tell.
            let _ = writer.finish(Status::Interrupted);
            Err(error)
        }
    }
}

fn trials(
    plan: &Plan,
    bench: &mut impl Bench,
    writer: &mut RunWriter,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Status, Error> {
    let began = bench.now();
    let mut run = Run {
        plan,
        began,
        budget: Budget::new(plan, began),
        done: 0,
        writer,
        stop,
        progress,
    };
    for block in 0..plan.blocks {
        for (load, cells) in plan.order(block) {
            let switching = bench.now();
            bench.load_on(load)?;
            run.budget.switched(bench.now() - switching);
            let measured = run.beside_one_load(bench, block, &cells);
            // Whatever went wrong, the load is switched off.
            let off = bench.load_off(load);
            if measured? == Status::Interrupted {
                return Ok(Status::Interrupted);
            }
            off?;
        }
        run.writer.checkpoint()?;
        if run.is_too_slow(block + 1, bench.now()) {
            return Ok(Status::Interrupted);
        }
    }
    Ok(Status::Complete)
}

/// A plan being carried out.
struct Run<'a> {
    plan: &'a Plan,
    began: Duration,
    budget: Budget,
    done: usize,
    writer: &'a mut RunWriter,
    stop: &'a Arc<AtomicBool>,
    progress: &'a mut dyn FnMut(Progress<'_>),
}

impl Run<'_> {
    /// Measures and saves cells beside a load that is on.
    fn beside_one_load(
        &mut self,
        bench: &mut impl Bench,
        block: u32,
        cells: &[usize],
    ) -> Result<Status, Error> {
        for &index in cells {
            let cell = &self.plan.cells[index];
            let trial_began = bench.now();
            let time = self.budget.time_for(cell, trial_began);
            let trial = with_proof(bench, cell, time, self.stop)?;
            if self.stop.load(Ordering::Relaxed) {
                self.writer
                    .note("The run was interrupted by a signal; the trial under way was dropped.");
                return Ok(Status::Interrupted);
            }
            let (started, ended) = (trial.started, trial.ended);
            self.writer.save(
                TrialDraft {
                    factors: cell.factors.clone(),
                    block,
                    started_ns: (started - self.began).as_nanos() as u64,
                    duration_ns: (ended - started).as_nanos() as u64,
                    measurement: trial.outcome.measurement,
                    load: trial.load,
                    storage: trial.outcome.storage,
                    missed_periods: trial.outcome.missed_periods,
                },
                &trial.outcome.data,
            )?;
            self.done += 1;
            let now = bench.now();
            self.budget.spent(cell, now - trial_began, ended - started);
            (self.progress)(Progress {
                done: self.done,
                total: self.plan.trials(),
                cell,
                elapsed: now - self.began,
            });
        }
        Ok(Status::Complete)
    }

    /// Whether one more block would take too much time; noted in the run.
    fn is_too_slow(&mut self, blocks: u32, now: Duration) -> bool {
        let planned = self.plan.blocks;
        let next = (now - self.began).mul_f64(f64::from(blocks + 1) / f64::from(blocks));
        let late = blocks < planned && next > self.plan.duration + OVERTIME;
        if late {
            self.writer.note(format!(
                "Time ran out after {blocks} of {planned} blocks: this machine is slower beside \
                 these loads than planned. A longer --duration measures them all."
            ));
        }
        late
    }
}

/// Measures one cell, again where the load cannot prove that it ran: on a busy
/// machine it may not get the CPU within a trial of a few milliseconds.
fn with_proof(
    bench: &mut impl Bench,
    cell: &PlannedCell,
    time: Duration,
    stop: &Arc<AtomicBool>,
) -> Result<Trial, Error> {
    let limits = Limits {
        samples: cell.samples,
        time_ns: time.as_nanos() as u64,
        rows: ROWS,
        granularity: true,
        stop: Arc::clone(stop),
    };
    let mut attempt = 1;
    loop {
        match bench.trial(cell, &limits) {
            Err(Error::Load(LoadError::DidNothing { .. })) if attempt < ATTEMPTS => attempt += 1,
            result => return result,
        }
    }
}

/// Shares the run's time among the trials left. Read-cost trials take what they
/// need; wake-up trials share the rest by their weights.
struct Budget {
    deadline: Duration,
    reads_left: u32,
    wakes_left: u32,
    /// Weights of the wake-up trials left.
    weight_left: f64,
    /// Loads still to be switched on, and how long that takes.
    switches_left: u32,
    switch_length: Mean,
    /// Mean length of a read-cost trial, saving included.
    read_length: Mean,
    /// Mean time of a wake-up trial outside its measurement.
    wake_overhead: Mean,
}

impl Budget {
    fn new(plan: &Plan, now: Duration) -> Self {
        let reads = plan
            .cells
            .iter()
            .filter(|c| matches!(c.probe, ProbePlan::ReadCost(_)))
            .count() as u32;
        Self {
            deadline: now + plan.duration,
            reads_left: reads * plan.blocks,
            wakes_left: (plan.cells.len() as u32 - reads) * plan.blocks,
            weight_left: f64::from(plan.blocks)
                * plan.cells.iter().filter_map(wake_weight).sum::<f64>(),
            switches_left: plan.loads.len() as u32 * plan.blocks,
            switch_length: Mean::starting_at(0.3),
            read_length: Mean::starting_at(0.03),
            wake_overhead: Mean::starting_at(0.01),
        }
    }

    fn time_for(&self, cell: &PlannedCell, now: Duration) -> Duration {
        let left = self.deadline.saturating_sub(now).as_secs_f64();
        match cell.probe {
            ProbePlan::ReadCost(_) => LONGEST_READ,
            ProbePlan::WakeUp { .. } => {
                let measuring = left
                    - f64::from(self.switches_left) * self.switch_length.get()
                    - f64::from(self.reads_left) * self.read_length.get()
                    - f64::from(self.wakes_left) * self.wake_overhead.get();
                let share = cell.weight / self.weight_left.max(cell.weight);
                SHORTEST.max(Duration::from_secs_f64((measuring * share).max(0.0)))
            }
        }
    }

    fn switched(&mut self, took: Duration) {
        self.switches_left = self.switches_left.saturating_sub(1);
        self.switch_length.add(took.as_secs_f64());
    }

    fn spent(&mut self, cell: &PlannedCell, whole: Duration, measured: Duration) {
        match cell.probe {
            ProbePlan::ReadCost(_) => {
                self.reads_left = self.reads_left.saturating_sub(1);
                self.read_length.add(whole.as_secs_f64());
            }
            ProbePlan::WakeUp { .. } => {
                self.wakes_left = self.wakes_left.saturating_sub(1);
                self.weight_left -= cell.weight;
                self.wake_overhead
                    .add(whole.saturating_sub(measured).as_secs_f64());
            }
        }
    }
}

/// The weight of a wake-up cell; none for read cost.
fn wake_weight(cell: &PlannedCell) -> Option<f64> {
    matches!(cell.probe, ProbePlan::WakeUp { .. }).then_some(cell.weight)
}

/// A running mean whose first guess weighs as much as eight observations.
struct Mean {
    sum: f64,
    n: f64,
}

impl Mean {
    fn starting_at(guess: f64) -> Self {
        Self {
            sum: 8.0 * guess,
            n: 8.0,
        }
    }

    fn add(&mut self, x: f64) {
        self.sum += x;
        self.n += 1.0;
    }

    fn get(&self) -> f64 {
        self.sum / self.n
    }
}

#[cfg(test)]
mod tests;
