//! Carrying out a plan: cell after cell, each in an instance of its own, every result
//! saved before the next begins.

mod records;
mod sitting;
mod told;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tompion_record::{Design, RunHeader, RunWriter, Status};

use crate::collect::{self, Collected, Failure, Place};
use crate::ledger::{Entry, Ledger};
use crate::leftovers::Workspace;
use crate::platform::{self, Platform, Presence, TaskError};
use crate::prospect::expected;
use crate::{Error, LabCell, LabPlan, order};

use self::sitting::Sitting;

pub use told::{Ending, Progress};

/// The platforms of a plan, looked for on this machine.
pub struct Platforms(Vec<(Box<dyn Platform>, Presence)>);

impl Platforms {
    /// Looks for them; `program` is the one that measures in their instances.
    pub fn look(plan: &LabPlan, program: &Path) -> Self {
        let look = |plan| {
            let platform = platform::of(plan);
            let presence = platform.presence(program);
            (platform, presence)
        };
        Self(plan.platforms.iter().map(look).collect())
    }

    /// Whether each is here, in the order of the plan.
    pub fn presence(&self) -> impl Iterator<Item = &Presence> {
        self.0.iter().map(|(_, presence)| presence)
    }

    /// Numbers of those that are.
    pub fn present(&self) -> Vec<usize> {
        let is_present = |presence: &Presence| matches!(presence, Presence::Present(_));
        let all = self.presence().enumerate();
        all.filter(|(_, p)| is_present(p))
            .map(|(number, _)| number)
            .collect()
    }
}

/// How the trials of a lab are ordered, for the header of its run.
pub fn design(plan: &LabPlan, platforms: &Platforms, seed: u64) -> Design {
    let present = platforms.present();
    let cells = plan
        .cells()
        .into_iter()
        .filter(|c| present.contains(&c.platform));
    Design {
        order: "every replicate measures every cell once, each in a fresh instance of its \
                platform, in random order over platforms, loads and probes"
            .to_owned(),
        seed,
        blocks: plan.replicates,
        cells: cells.map(|c| plan.keys(c.load, c.probe).len() as u32).sum(),
    }
}

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
    /// Only what keeps the lab from saving; a cell that fails is written down as such,
    /// and the rest goes on.
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
        let ending = self.ending(platforms, interrupted);
        let known = self.writer.record().platforms.iter();
        let described: Vec<String> = known.filter_map(records::in_words).collect();
        described
            .into_iter()
            .for_each(|note| self.writer.note(note));
        for note in ending.absent.iter().chain(&ending.failed) {
            self.writer.note(note.clone());
        }
        for (platform, notes) in &sitting.notes {
            notes
                .iter()
                .for_each(|note| self.writer.note(format!("On {platform}: {note}")));
        }
        let is_whole = result.is_ok() && !interrupted && ending.failed.is_empty();
        let status = if is_whole {
            Status::Complete
        } else {
            Status::Interrupted
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
        let present = sitting.platforms.present();
        let to_do: Vec<(u32, LabCell)> = (0..self.plan.replicates)
            .flat_map(|replicate| {
                let cells = order(&self.plan, self.seed, replicate);
                cells.into_iter().map(move |cell| (replicate, cell))
            })
            .filter(|(_, cell)| present.contains(&cell.platform))
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
            let failed = match self.one(replicate, cell, sitting)? {
                Ok(()) => None,
                Err(TaskError::Stopped) => return Ok(()),
                Err(TaskError::Failed(why)) => Some(why.replace('\n', " ")),
            };
            self.ledger.add(Entry {
                replicate,
                platform: cell.platform,
                load: cell.load,
                probe: cell.probe,
                name: told.what.clone(),
                trials: self.writer.record().trials.len(),
                seconds: since.elapsed().as_secs_f64(),
                failed: failed.clone(),
            })?;
            told.done += 1;
            told.failed = failed;
            told.left = self.time_for(left[number + 1..].iter().map(|&(_, cell)| cell));
            progress(&told);
            if left.get(number + 1).is_none_or(|next| next.0 != replicate) {
                self.writer.checkpoint()?;
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
    ) -> Result<Result<(), TaskError>, Error> {
        let began_ns = (sitting.earlier + sitting.began.elapsed()).as_nanos() as u64;
        let output = match sitting.output(&self.plan, self.seed, replicate, cell) {
            Ok(output) => output,
            Err(error) => return Ok(Err(error)),
        };
        let plan = &self.plan.platforms[cell.platform];
        let level = plan.level();
        let place = Place {
            platform: &level,
            replicate,
            began_ns,
        };
        let scratch = sitting.workspace.scratch();
        let Collected {
            trials,
            environment,
            notes,
        } = match collect::collect(&output.stdout, scratch, &place, &mut self.writer) {
            Ok(collected) => collected,
            Err(Failure::Saving(error)) => return Err(error.into()),
            Err(Failure::Result(why)) => return Ok(Err(TaskError::Failed(why))),
        };
        let wanted = self.plan.keys(cell.load, cell.probe).len();
        let known = sitting.notes.entry(level.clone()).or_default();
        for note in notes {
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
            record.environment = Some(environment);
            self.writer.platforms(records);
        }
        Ok(Ok(()))
    }

    /// What cells take, by those of their platform so far.
    fn time_for(&self, cells: impl Iterator<Item = LabCell>) -> Duration {
        let mut seen: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
        for entry in self.ledger.entries() {
            let (sum, n) = seen.entry((entry.platform, entry.probe)).or_default();
            *sum += entry.seconds;
            *n += 1.0;
        }
        let one = |cell: LabCell| match seen.get(&(cell.platform, cell.probe)) {
            Some((sum, n)) => sum / n,
            None => expected(&self.plan, cell).as_secs_f64(),
        };
        Duration::try_from_secs_f64(cells.map(one).sum()).unwrap_or(Duration::MAX)
    }

    fn ending(&self, platforms: &Platforms, interrupted: bool) -> Ending {
        let mut failed: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        let present = platforms.present();
        let here = self
            .ledger
            .entries()
            .filter(|e| present.contains(&e.platform));
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
                .collect(),
        }
    }
}
