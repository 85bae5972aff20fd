//! Carrying out a plan: cell after cell, each in an instance of its own, every result
//! saved before the next begins.

mod platforms;
mod records;
mod scene;
mod sitting;
mod told;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tompion_record::{RunHeader, RunWriter, Status};

use crate::collect::{self, Collected, Failure, Place};
use crate::ledger::{Beside, Entry, Ledger};
use crate::leftovers::Workspace;
use crate::platform::{Presence, TaskError};
use crate::prospect::expected;
use crate::{Error, LabCell, LabPlan, order};

use self::scene::Done;
use self::sitting::Sitting;

pub use platforms::{Platforms, design};
pub use told::{Ending, Progress};

/// A lab with its files.
#[derive(Debug)]
pub struct Lab {
    plan: LabPlan,
    seed: u64,
    directory: PathBuf,
    ledger: Ledger,
    writer: RunWriter,
}

impl Lab {
    /// Begins a lab in `directory`, which must be absent or empty. `text` is the plan's
    /// text, which the lab keeps.
    ///
    /// # Errors
    /// A directory in use, and whatever the system refuses.
    pub fn begin(
        directory: &Path,
        text: &str,
        plan: LabPlan,
        seed: u64,
        header: RunHeader,
    ) -> Result<Self, Error> {
        let writer = RunWriter::create(directory, header)?;
        Ok(Self {
            plan,
            seed,
            directory: directory.to_path_buf(),
            ledger: Ledger::create(directory, text, seed)?,
            writer,
        })
    }

    /// Goes on with the lab in `directory`: what was finished stays, the cell that was
    /// under way is measured again, and so are those that failed.
    ///
    /// # Errors
    /// No lab, a damaged one, or one at work.
    pub fn resume(directory: &Path) -> Result<Self, Error> {
        let ledger = Ledger::open(directory)?;
        let plan = LabPlan::parse(&ledger.head.plan)
            .map_err(|e| Error::Wish(format!("the lab's plan is no plan any more: {e}")))?;
        Ok(Self {
            plan,
            seed: ledger.head.seed,
            directory: directory.to_path_buf(),
            writer: RunWriter::reopen(directory, ledger.trials())?,
            ledger,
        })
    }

    /// Its plan.
    pub fn plan(&self) -> &LabPlan {
        &self.plan
    }

    /// Measures what is left to measure, with `program` in every instance. Once `stop`
    /// is set, the cell under way is dropped and the lab ends in order.
    ///
    /// # Errors
    /// Only what leaves no run to go on with; a cell that fails, or that the disk has no
    /// space for, is written down as such, and the rest goes on.
    pub fn run(
        mut self,
        platforms: &Platforms,
        program: &Path,
        stop: &Arc<AtomicBool>,
        mut progress: impl FnMut(&Progress),
    ) -> Result<Ending, Error> {
        let workspace = Workspace::create(&self.directory)?;
        let began = Instant::now();
        let earlier = self.writer.record().header.started();
        let earlier = earlier.and_then(|start| SystemTime::now().duration_since(start).ok());
        let mut sitting = Sitting {
            platforms,
            program,
            stop,
            workspace: &workspace,
            began,
            earlier: earlier.unwrap_or_default(),
            instances: 0,
            notes: BTreeMap::new(),
        };
        let records = records::of(&self.plan, platforms, &self.writer.record().platforms);
        self.writer.platforms(records);
        self.writer.checkpoint()?;
        let result = self.cells(&mut sitting, &mut progress);
        let interrupted = stop.load(Ordering::Relaxed);
        let mut ending = self.ending(platforms, interrupted);
        ending.left = workspace.leave_elsewhere();
        let known = self.writer.record().platforms.iter();
        let described: Vec<String> = known.filter_map(records::in_words).collect();
        let placements = records::placements(&self.plan, &self.ledger);
        described
            .into_iter()
            .chain(placements)
            .for_each(|note| self.writer.note(note));
        for note in [&ending.absent, &ending.failed, &ending.left]
            .into_iter()
            .flatten()
        {
            self.writer.note(note.clone());
        }
        for (platform, notes) in &sitting.notes {
            notes
                .iter()
                .for_each(|note| self.writer.note(format!("On {platform}: {note}")));
        }
        let status = match (&result, ending.failed.is_empty()) {
            (Err(_), _) => Status::Interrupted,
            _ if interrupted => Status::Interrupted,
            (Ok(()), false) => Status::Incomplete,
            (Ok(()), true) => Status::Complete,
        };
        let finished = self.writer.finish(status);
        // The first error is the one to tell.
        result?;
        finished?;
        Ok(ending)
    }

    fn cells(
        &mut self,
        sitting: &mut Sitting<'_>,
        progress: &mut impl FnMut(&Progress),
    ) -> Result<(), Error> {
        let to_do: Vec<(u32, LabCell)> = (0..self.plan.replicates)
            .flat_map(|replicate| {
                let cells = order(&self.plan, self.seed, replicate);
                cells.into_iter().map(move |cell| (replicate, cell))
            })
            .filter(|(_, cell)| sitting.platforms.can(*cell))
            .collect();
        let total = to_do.len();
        let left: Vec<_> = to_do
            .into_iter()
            .filter(|(r, c)| !self.ledger.is_done(*r, *c))
            .collect();
        for (number, &(replicate, cell)) in left.iter().enumerate() {
            if sitting.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let mut told = Progress {
                done: total - left.len() + number,
                total,
                what: self.plan.name_of(cell),
                left: self.time_for(left[number..].iter().map(|&(_, cell)| cell)),
                failed: None,
            };
            progress(&told);
            let since = Instant::now();
            let before = self.writer.record().trials.len();
            let (beside, mut failed) = match self.one(replicate, cell, sitting)? {
                Ok(beside) => (beside, None),
                Err(TaskError::Stopped) => return Ok(()),
                Err(TaskError::Failed(why)) => (Vec::new(), Some(why.replace('\n', " "))),
            };
            let entry = |trials, failed| Entry {
                replicate,
                platform: cell.platform,
                placement: cell.placement,
                load: cell.load,
                probe: cell.probe,
                name: told.what.clone(),
                trials,
                seconds: since.elapsed().as_secs_f64(),
                failed,
                beside: beside.clone(),
            };
            let trials = self.writer.record().trials.len();
            if let Err(why) = self.ledger.add(entry(trials, failed.clone())) {
                // Trials that no line tells of would be measured twice.
                self.writer.take_back(before)?;
                failed = Some(format!("it cannot be written down: {why}"));
                self.ledger.add(entry(before, failed.clone()))?;
            }
            told.done += 1;
            told.failed = failed;
            told.left = self.time_for(left[number + 1..].iter().map(|&(_, cell)| cell));
            progress(&told);
            if left.get(number + 1).is_none_or(|next| next.0 != replicate) {
                // A list of what is on the disk already: where there is no space for it
                // now, the run's end has some left.
                let _ = self.writer.checkpoint();
            }
        }
        Ok(())
    }

    /// Measures one cell and saves its trials.
    fn one(
        &mut self,
        replicate: u32,
        cell: LabCell,
        sitting: &mut Sitting<'_>,
    ) -> Result<Result<Vec<Beside>, TaskError>, Error> {
        let began_ns = (sitting.earlier + sitting.began.elapsed()).as_nanos() as u64;
        let Done { outputs, beside } = match sitting.output(&self.plan, self.seed, replicate, cell)
        {
            Ok(done) => done,
            Err(error) => return Ok(Err(error)),
        };
        let plan = &self.plan.platforms[cell.platform];
        let level = plan.level();
        let scratch = sitting.workspace.scratch();
        let before = self.writer.record().trials.len();
        let mut all: Vec<Collected> = Vec::new();
        for (number, output) in outputs.iter().enumerate() {
            let place = Place {
                platform: &level,
                placement: self.plan.placement_level(cell),
                guest: (number > 0).then_some(number + 1),
                replicate,
                began_ns,
            };
            let why = match collect::collect(&output.stdout, scratch, &place, &mut self.writer) {
                Ok(collected) => {
                    all.push(collected);
                    continue;
                }
                Err(Failure::Saving(error)) => format!("its result cannot be saved: {error}"),
                Err(Failure::Result(why)) => why,
            };
            // All guests' trials, or none.
            self.writer.take_back(before)?;
            return Ok(Err(TaskError::Failed(why)));
        }
        let wanted = self.plan.keys(cell.load, cell.probe).len() * outputs.len();
        let trials: u32 = all.iter().map(|collected| collected.trials).sum();
        let known = sitting.notes.entry(level.clone()).or_default();
        for note in all.iter().flat_map(|collected| collected.notes.clone()) {
            // Which trial or block it was means nothing here.
            if !known.contains(&note) && !note.starts_with("Time ran out") {
                known.push(note);
            }
        }
        if (trials as usize) < wanted {
            let name = self.plan.name_of(cell);
            known.push(format!(
                "{name} of replicate {} has {trials} of {wanted} trials: its time was up.",
                replicate + 1
            ));
        }
        let mut records = self.writer.record().platforms.clone();
        let record = records.iter_mut().find(|r| r.level == level);
        if let Some(record) = record.filter(|r| r.environment.is_none()) {
            record.environment = all.into_iter().next().map(|first| first.environment);
            self.writer.platforms(records);
        }
        Ok(Ok(beside))
    }

    /// What cells take, by those of their platform so far.
    fn time_for(&self, cells: impl Iterator<Item = LabCell>) -> Duration {
        let alike = |cell: LabCell| (cell.platform, cell.placement, cell.probe);
        let mut seen: BTreeMap<_, (f64, f64)> = BTreeMap::new();
        for entry in self.ledger.entries() {
            let (sum, n) = seen.entry(alike(entry.cell())).or_default();
            *sum += entry.seconds;
            *n += 1.0;
        }
        let one = |cell: LabCell| match seen.get(&alike(cell)) {
            Some((sum, n)) => sum / n,
            None => expected(&self.plan, cell).as_secs_f64(),
        };
        Duration::try_from_secs_f64(cells.map(one).sum()).unwrap_or(Duration::MAX)
    }

    fn ending(&self, platforms: &Platforms, interrupted: bool) -> Ending {
        let mut failed: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        let here = self.ledger.entries().filter(|e| platforms.can(e.cell()));
        let mut measured = 0;
        for entry in here {
            match &entry.failed {
                Some(why) => *failed.entry((&entry.name, why)).or_default() += 1,
                None => measured += 1,
            }
        }
        let of = self.plan.replicates;
        let named = self.plan.platforms.iter().zip(platforms.presence());
        Ending {
            interrupted,
            measured,
            failed: failed
                .iter()
                .map(|((name, why), n)| format!("{name} failed in {n} of {of} replicates: {why}"))
                .collect(),
            absent: named
                .filter_map(|(plan, presence)| match presence {
                    Presence::Absent(why) => Some(format!("{} is absent: {why}", plan.level())),
                    Presence::Present(_) => None,
                })
                .chain(platforms.refused().iter().map(|r| r.mistake.text.clone()))
                .collect(),
            left: Vec::new(),
        }
    }
}
