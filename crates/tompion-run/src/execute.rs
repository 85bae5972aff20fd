//! Carrying out a plan.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tompion_load::LoadError;
use tompion_model::{Factors, Status, note_kind};
use tompion_probe::Limits;
use tompion_store::RunWriter;

use crate::attention::{Attention, Even, Guides};
use crate::budget::Budget;
use crate::clock_watch::{ClockWatch, since};
use crate::fit::{as_option, in_words};
use crate::plan::Half;
use crate::search::searches;
use crate::switch::{Nothing, Switch};
use crate::{Bench, Error, Plan, PlannedCell, PlannedSearch, Trial};

/// Where the run stands, told after every trial.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Trials done.
    pub done: usize,
    /// Trials in all.
    pub total: usize,
    /// The cell just measured, or the search that begins.
    pub what: &'a Factors,
    /// Time used.
    pub elapsed: Duration,
}

/// Rows a trial keeps in memory (32 bytes each); longer trials keep bins.
const ROWS: usize = 1 << 20;

/// How much longer a trial may last that has hardly a sample when its time is up.
const PATIENCE: Duration = Duration::from_millis(150);

/// How often a trial is tried whose load cannot prove that it ran; the machine looks
/// longer each time.
pub(crate) const ATTEMPTS: u32 = 8;

/// Measures every cell of every block and saves each trial as it ends.
///
/// When `stop` is set the trial under way is dropped and the run ends as
/// interrupted, which is no error. When the time is up it ends after a whole
/// block; only where even that would take far too long is a block cut short, each
/// load having had its turn. After an error the run is marked interrupted and
/// keeps what was saved.
pub fn execute(
    plan: &Plan,
    bench: &mut impl Bench,
    writer: &mut RunWriter,
    stop: &Arc<AtomicBool>,
    progress: impl FnMut(Progress<'_>),
) -> Result<Status, Error> {
    execute_guided(plan, bench, writer, Guides::default(), stop, progress)
}

/// The same, with somebody who says where time is needed, or with something outside that is set to the
/// plan's levels by turns, before halves of blocks.
///
/// That it cannot be set is an error as any other; how it is left is noted in the run.
pub fn execute_guided(
    plan: &Plan,
    bench: &mut impl Bench,
    writer: &mut RunWriter,
    guides: Guides<'_>,
    stop: &Arc<AtomicBool>,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<Status, Error> {
    let before = bench.throttling();
    let mut nothing = Nothing;
    let switch = guides.switch.unwrap_or(&mut nothing);
    let mut even = Even;
    let attention = guides.attention.unwrap_or(&mut even);
    for note in switch.notes() {
        writer.note(note_kind::SWITCH, note);
    }
    let clocks = ClockWatch::begin(bench, writer);
    let watched = Watched {
        stop,
        clocks: &clocks,
    };
    let result = trials(
        plan,
        bench,
        writer,
        switch,
        attention,
        watched,
        &mut progress,
    );
    if !plan.levels().is_empty() {
        writer.note(note_kind::SWITCH, switch.leave());
    }
    clocks.read(bench, writer);
    writer.throttling(since(before, bench.throttling()));
    match result {
        Ok(status) => {
            writer.finish(status)?;
            Ok(status)
        }
        Err(error) => {
            writer.note(
                note_kind::INTERRUPTED,
                format!("The run ended early: {error}"),
            );
            // The first error is the one to tell.
            let _ = writer.finish(Status::Interrupted);
            Err(error)
        }
    }
}

/// What is looked at all the while.
#[derive(Clone, Copy)]
struct Watched<'a> {
    stop: &'a Arc<AtomicBool>,
    clocks: &'a ClockWatch,
}

fn trials(
    plan: &Plan,
    bench: &mut impl Bench,
    writer: &mut RunWriter,
    switch: &mut dyn Switch,
    attention: &mut dyn Attention,
    Watched { stop, clocks }: Watched<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Status, Error> {
    let began = bench.now();
    let mut run = Run {
        plan,
        began,
        budget: Budget::new(plan, began),
        done: 0,
        dropped: 0,
        writer,
        attention,
        stop,
        progress,
    };
    let mut status = Status::Complete;
    for block in 0..plan.blocks {
        run.attend(plan.blocks - block, bench.now());
        let mut halves: VecDeque<Half> = plan.halves(block).into();
        while let Some(half) = halves.pop_front() {
            let later = halves.iter().flat_map(|h| h.turns.iter().map(|t| t.0));
            let later: Vec<usize> = later.collect();
            if !run.half(bench, switch, block, half, &later)? {
                return Ok(Status::Interrupted);
            }
        }
        clocks.read(bench, run.writer);
        run.writer.checkpoint()?;
        if run.time_is_up(block, bench.now()) {
            status = Status::TimeLimit;
            break;
        }
    }
    let done = run.done;
    let total = plan.trials();
    let mut told = |search: &PlannedSearch, now: Duration| {
        (run.progress)(Progress {
            done,
            total,
            what: &search.factors,
            elapsed: now - began,
        });
    };
    Ok(match searches(plan, bench, run.writer, stop, &mut told)? {
        true => status,
        false => Status::Interrupted,
    })
}

/// How the trials beside one load ended.
enum Turn {
    /// With these cells left, for want of time.
    Over(Vec<usize>),
    /// By a signal.
    Stopped,
}

/// A plan being carried out.
struct Run<'a, 'b> {
    plan: &'a Plan,
    began: Duration,
    budget: Budget,
    done: usize,
    /// Trials of this block that its end left no time for.
    dropped: usize,
    writer: &'a mut RunWriter,
    attention: &'a mut (dyn Attention + 'b),
    stop: &'a Arc<AtomicBool>,
    progress: &'a mut dyn FnMut(Progress<'_>),
}

impl Run<'_, '_> {
    /// Shares the time of the blocks that are left by what is still needed.
    fn attend(&mut self, blocks_left: u32, now: Duration) {
        let shares = self.attention.shares(&self.plan.cells);
        self.budget.share_anew(self.plan, &shares, blocks_left, now);
    }

    /// One half of a block, or a block that has none; false where a signal ended it. `later` are
    /// the loads that have turns in this block after it.
    fn half(
        &mut self,
        bench: &mut impl Bench,
        switch: &mut dyn Switch,
        block: u32,
        half: Half,
        later: &[usize],
    ) -> Result<bool, Error> {
        let mut began = Some(bench.now());
        if let Some(level) = half.level
            && !self.set(bench, switch, block, level)?
        {
            return Ok(false);
        }
        let mut turns: VecDeque<(usize, Vec<usize>)> = half.turns.into();
        let mut first_turns = turns.len();
        while let Some((load, cells)) = turns.pop_front() {
            // The first load of a half takes as long as what is switched before it, too.
            let switching = began.take().unwrap_or_else(|| bench.now());
            let after = turns.iter().map(|turn| turn.0);
            let after: Vec<usize> = after.chain(later.iter().copied()).collect();
            let until = self.budget.turn_ends(switching, &after);
            bench.load_on(load)?;
            self.budget.switched(load, bench.now() - switching);
            // Whatever those before it took, no load is left out of a run.
            let is_due = block == 0 && first_turns > 0;
            let turn = self.beside_one_load(bench, block, &cells, until, is_due);
            // Whatever went wrong, the load is switched off.
            let off = bench.load_off(load);
            let left = match turn? {
                Turn::Stopped => return Ok(false),
                Turn::Over(left) => left,
            };
            off?;
            // What was left has a second turn in what time the others leave.
            let is_first = first_turns > 0;
            first_turns = first_turns.saturating_sub(1);
            let now = bench.now();
            let has_time = now < self.budget.turn_ends(now, later);
            if is_first && !left.is_empty() && has_time {
                turns.push_back((load, left));
            } else {
                self.dropped += left.len();
            }
        }
        Ok(true)
    }

    /// Has what is outside set to a level; false where a signal came meanwhile.
    fn set(
        &mut self,
        bench: &mut impl Bench,
        switch: &mut dyn Switch,
        block: u32,
        level: usize,
    ) -> Result<bool, Error> {
        let set = switch.set(level, self.stop);
        bench.disturbed();
        if self.stop.load(Ordering::Relaxed) {
            self.writer.note(
                note_kind::INTERRUPTED,
                format!(
                    "The run was interrupted by a signal while switch={} was being set.",
                    self.plan.levels()[level]
                ),
            );
            return Ok(false);
        }
        let (number, level) = (block + 1, &self.plan.levels()[level]);
        let before = format!("before the half of block {number} with switch={level}");
        set.map_err(|why| Error::Switch(format!("{why}, {before}")))?;
        Ok(true)
    }

    /// Measures and saves cells beside a load that is on; none begins that would end after
    /// `until`, by what those before it took, but for the first one where it `is_due`. Returns
    /// those that there was no time for.
    fn beside_one_load(
        &mut self,
        bench: &mut impl Bench,
        block: u32,
        cells: &[usize],
        until: Duration,
        is_due: bool,
    ) -> Result<Turn, Error> {
        let turn_began = bench.now();
        let is_made = |&index: &usize| self.budget.is_made(index, &self.plan.cells[index]);
        let cells: Vec<usize> = cells.iter().copied().filter(is_made).collect();
        for (measured, &index) in cells.iter().enumerate() {
            let cell = &self.plan.cells[index];
            let trial_began = bench.now();
            // Of a fifth of a CPU one trial may take as long as all others together.
            let mean = (trial_began - turn_began) / (measured as u32).max(1);
            let is_first = is_due && measured == 0;
            if !is_first && (trial_began >= until || trial_began + mean > until) {
                return Ok(Turn::Over(cells[measured..].to_vec()));
            }
            let time = self.budget.time_for(index, cell, trial_began);
            let trial = with_proof(bench, cell, time, ROWS, self.stop);
            let stopped = self.stop.load(Ordering::Relaxed);
            let trials = match trial {
                trial if !stopped => trial?,
                Ok(mut trials) => {
                    trials.retain(Trial::is_good_at_any_length);
                    trials
                }
                Err(_) => Vec::new(),
            };
            if stopped {
                let what = match trials.len() {
                    0 => "was dropped",
                    _ => "is kept as far as it got",
                };
                self.writer.note(
                    note_kind::INTERRUPTED,
                    format!("The run was interrupted by a signal; the trial under way {what}."),
                );
            }
            for trial in trials {
                let (draft, data) = trial.into_draft(block, self.began);
                self.attention.saw(&draft, &data);
                self.writer.save(draft, &data)?;
                self.done += usize::from(!cell.is_optional);
            }
            if stopped {
                return Ok(Turn::Stopped);
            }
            let now = bench.now();
            self.budget.spent(index, cell, now - trial_began, time);
            (self.progress)(Progress {
                done: self.done,
                total: self.plan.trials(),
                what: &cell.factors,
                elapsed: now - self.began,
            });
        }
        Ok(Turn::Over(Vec::new()))
    }

    /// Whether the run ends after `block`, noted in the run: because the block was
    /// cut short, or because one more would end too late.
    fn time_is_up(&mut self, block: u32, now: Duration) -> bool {
        let (done, planned) = (block + 1, self.plan.blocks);
        let cut = self.dropped > 0;
        if !cut && (done >= planned || !self.budget.is_too_late_for_a_block(now)) {
            return false;
        }
        let pass = self.budget.pass();
        // What a block takes at least is no more than a guess for one that takes its
        // share of the time.
        let needed = pass.max(self.plan.duration / done.max(1));
        let reached = if cut {
            format!(
                "Time ran out within block {done} of {planned}, before {} of its {} cells",
                self.dropped,
                self.plan.cells.len()
            )
        } else {
            format!("Time ran out after {done} of {planned} blocks")
        };
        let text = format!(
            "{reached}: one block takes about {} here, so that {} {} holds {planned}.",
            in_words(needed),
            self.plan.time.name,
            as_option(needed.saturating_mul(planned)),
        );
        self.writer.note(note_kind::TIME_RAN_OUT, text);
        true
    }
}

/// Measures one cell, again where the load cannot prove that it ran: on a busy
/// machine it may not get the CPU within a trial of a few milliseconds.
pub(crate) fn with_proof(
    bench: &mut impl Bench,
    cell: &PlannedCell,
    time: Duration,
    rows: usize,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<Trial>, Error> {
    let limits = Limits {
        samples: cell.samples,
        time_ns: time.as_nanos() as u64,
        least_samples: crate::probes::FEW,
        patience_ns: PATIENCE.as_nanos() as u64,
        rows,
        granularity: true,
        stop: Arc::clone(stop),
    };
    let mut attempt = 1;
    loop {
        // Before the trial: a clock that is set meanwhile does not move its beginning.
        let (now, unix_ns) = (bench.now(), bench.clocks().realtime_ns);
        match bench.trial(cell, &limits) {
            Err(Error::Load(LoadError::DidNothing { .. })) if attempt < ATTEMPTS => attempt += 1,
            Ok(mut trials) => {
                for trial in &mut trials {
                    let later = trial.started.saturating_sub(now).as_nanos() as u64;
                    trial.started_unix_ns = Some(unix_ns.saturating_add(later));
                }
                return Ok(trials);
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod by_turns_tests;
#[cfg(test)]
pub(crate) mod tests;
