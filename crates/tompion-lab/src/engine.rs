//! Carrying out a plan: cell after cell, each in an instance of its own, every result
//! saved before the next begins.

mod bed;
mod placement_run;
mod platforms;
mod progress;
mod records;
mod session;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tompion_model::{RunHeader, RunRecord, Status, note_kind};

use tompion_store::{Directory, RunWriter};

use crate::collect::{self, Collected, Failure, Place};
use crate::estimate::expected;
use crate::ledger::{Beside, Entry, Ledger, no_lab};
use crate::{Error, LabCell, LabPlan, limits, order};
use tompion_platforms::leftovers::{self, Workspace};
use tompion_platforms::platform::TaskError;

use self::placement_run::Done;
use self::session::{Measured, Session};

pub use platforms::{Platforms, design};
pub use progress::{Ending, Progress};

/// A lab with its files.
#[derive(Debug)]
pub struct Lab {
    plan: LabPlan,
    /// How many results it has, and keys in these.
    results: (u64, u64),
    seed: u64,
    ledger: Ledger,
    writer: RunWriter,
}

/// What is known of a cell whose trials are saved.
#[derive(Debug, Default)]
struct Saved {
    beside: Vec<Beside>,
    notes: Vec<String>,
}

/// Tells builds of the program apart; nothing where it cannot be read.
fn checksum(program: &Path) -> Option<String> {
    let bytes = std::fs::read(program).ok()?;
    Some(format!("{:08x}-{}", crc32fast::hash(&bytes), bytes.len()))
}

/// How old the run is when a sitting begins. Between two sittings the time of day alone went
/// on; where it was set back meanwhile, no trial is to begin before those that are there.
fn age(began: Option<SystemTime>, now: SystemTime, trials_end: Duration) -> Duration {
    let by_day = began.and_then(|began| now.duration_since(began).ok());
    by_day.unwrap_or_default().max(trials_end)
}

/// When the last of a run's trials ended, since it began.
fn end_of_trials(record: &RunRecord) -> Duration {
    let trials = record.trials.iter();
    let ends = trials.map(|t| t.started_ns.saturating_add(t.duration_ns));
    Duration::from_nanos(ends.max().unwrap_or(0))
}

/// What came of a cell.
enum Taken {
    /// Nothing: the lab was stopped meanwhile.
    Stopped,
    Measured,
    /// Why, in one line.
    Failed(String),
}

impl Lab {
    /// Begins a lab in `directory`, which must be absent or empty. `text` is the plan's
    /// text, which the lab keeps; `program` will measure.
    ///
    /// # Errors
    /// A directory in use, and whatever the system refuses.
    pub fn begin(
        directory: &Path,
        text: &str,
        plan: LabPlan,
        seed: u64,
        program: &Path,
        header: RunHeader,
    ) -> Result<Self, Error> {
        let writer = RunWriter::create(directory, header)?;
        let ledger = Ledger::create(writer.directory(), text, seed, checksum(program))?;
        Ok(Self {
            results: plan.results(),
            plan,
            seed,
            ledger,
            writer,
        })
    }

    /// Goes on with the lab in `directory`: what was finished stays, the cell that was
    /// under way is measured again, and so are those that failed.
    ///
    /// # Errors
    /// No lab, a damaged one, or one at work.
    pub fn resume(directory: &Path) -> Result<Self, Error> {
        let opened = Directory::open(directory).map_err(|e| match e.is_absence() {
            true => no_lab(directory),
            false => e.into(),
        })?;
        opened.require_own()?;
        let ledger = Ledger::open(&opened)?;
        // Nobody else is at work here, as the ledger's lock tells.
        leftovers::remove_scratch(&opened.lasting_path());
        let plan = LabPlan::parse(&ledger.head.plan)
            .map_err(|e| Error::Request(format!("the lab's plan is no plan any more: {e}")))?;
        let writer =
            RunWriter::reopen(&opened, ledger.trials()).map_err(|e| match e.is_damage() {
                // Trials are numbered: what is gone cannot be measured again in its place.
                true => Error::Request(format!("{e}; put the file back, or begin the lab anew")),
                false => e.into(),
            })?;
        ledger.require_of(&plan)?;
        Ok(Self {
            results: plan.results(),
            plan,
            seed: ledger.head.seed,
            writer,
            ledger,
        })
    }

    /// Where its run is.
    pub fn directory(&self) -> &Directory {
        self.writer.directory()
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
        let workspace = Workspace::create(&self.writer.directory().lasting_path())?;
        let began = Instant::now();
        let sitting = Session {
            platforms,
            program,
            stop,
            workspace: &workspace,
            began,
            earlier: age(
                self.writer.record().header.started(),
                SystemTime::now(),
                end_of_trials(self.writer.record()),
            ),
            instances: AtomicUsize::new(0),
        };
        let records = records::of(&self.plan, platforms, &self.writer.record().platforms);
        self.writer.platforms(records);
        self.writer.checkpoint()?;
        let result = self.cells(&sitting, &mut progress);
        let interrupted = stop.load(Ordering::Relaxed);
        let mut ending = Ending::of(&self.plan, &self.ledger, platforms, interrupted);
        ending.left = workspace.leave();
        let known = self.writer.record().platforms.iter();
        let described: Vec<String> = known.filter_map(records::in_words).collect();
        let placements = records::placements(&self.plan, &self.ledger);
        // What is missing comes first.
        let mut noted = records::noted(&self.plan, &self.ledger);
        noted.extend(workspace.aside().map(str::to_owned));
        for (kind, texts) in [
            (note_kind::FAILED_CELL, &ending.lost),
            (note_kind::FAILED_CELL, &ending.failed),
            (note_kind::PLATFORM, &ending.absent),
            (note_kind::LEFT_BEHIND, &ending.left),
            (note_kind::PLATFORM, &described),
            (note_kind::PLATFORM, &placements),
            (note_kind::MACHINE, &noted),
        ] {
            texts.iter().for_each(|text| self.writer.note(kind, text));
        }
        if self.ledger.head.program.is_some() && self.ledger.head.program != checksum(program) {
            let note = "Some cells were measured by another build of the program than others.";
            self.writer.note(note_kind::REMARK, note);
        }
        let is_whole = ending.failed.is_empty() && ending.lost.is_empty();
        let status = match (&result, is_whole) {
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
        sitting: &Session<'_>,
        progress: &mut impl FnMut(&Progress),
    ) -> Result<(), Error> {
        let plan = self.plan.clone();
        let mut turns: Vec<(u32, Vec<LabCell>)> = (0..plan.replicates)
            .flat_map(|replicate| {
                let turns = order(&plan, self.seed, replicate);
                turns.into_iter().map(move |turn| (replicate, turn))
            })
            .collect();
        for (_, turn) in &mut turns {
            turn.retain(|&cell| sitting.platforms.can(cell));
        }
        let count = |turns: &[(u32, Vec<LabCell>)]| turns.iter().map(|t| t.1.len()).sum::<usize>();
        let total = count(&turns);
        for (replicate, turn) in &mut turns {
            turn.retain(|&cell| !self.ledger.is_done(*replicate, cell));
        }
        turns.retain(|(_, turn)| !turn.is_empty());
        let mut done = total - count(&turns);
        for (number, (replicate, turn)) in turns.iter().enumerate() {
            if sitting.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let names: Vec<_> = turn.iter().map(|&cell| plan.name_of(cell)).collect();
            progress(&Progress {
                done,
                total,
                what: names.join(" beside "),
                left: self.time_for(&turns[number..]),
                failed: None,
            });
            sitting.turn(&plan, self.seed, *replicate, turn, |measured| {
                let what = plan.name_of(measured.cell);
                let failed = match self.take(*replicate, measured, sitting.workspace)? {
                    Taken::Stopped => return Ok(()),
                    Taken::Measured => None,
                    Taken::Failed(why) => Some(why),
                };
                done += 1;
                progress(&Progress {
                    done,
                    total,
                    what,
                    left: self.time_for(&turns[number + 1..]),
                    failed,
                });
                Ok::<_, Error>(())
            })?;
            if turns
                .get(number + 1)
                .is_none_or(|next| next.0 != *replicate)
            {
                // A list of what is on the disk already: where there is no space for it
                // now, the run's end has some left.
                let _ = self.writer.checkpoint();
            }
        }
        Ok(())
    }

    /// Writes down what came of a cell; nothing where it was stopped.
    fn take(
        &mut self,
        replicate: u32,
        measured: Measured,
        workspace: &Workspace,
    ) -> Result<Taken, Error> {
        let (cell, seconds) = (measured.cell, measured.seconds);
        let before = self.writer.record().trials.len();
        let saved = match measured.result {
            Ok(done) => self.save(
                replicate,
                cell,
                (measured.began_ns, seconds),
                done,
                workspace,
            )?,
            Err(error) => Err(error),
        };
        let (Saved { beside, notes }, mut failed) = match saved {
            Ok(saved) => (saved, None),
            Err(TaskError::Stopped) => return Ok(Taken::Stopped),
            Err(TaskError::Failed(why) | TaskError::Late(why)) => {
                (Saved::default(), Some(limits::reason(&why)))
            }
        };
        let entry = |trials, failed| Entry {
            replicate,
            platform: cell.platform,
            placement: cell.placement,
            load: cell.load,
            probe: cell.probe,
            name: self.plan.name_of(cell),
            trials,
            seconds,
            failed,
            beside: beside.clone(),
            notes: notes.clone(),
        };
        let trials = self.writer.record().trials.len();
        if let Err(why) = self.ledger.add(entry(trials, failed.clone())) {
            // Trials that no line tells of would be measured twice.
            self.writer.take_back(before)?;
            failed = Some(format!("it cannot be written down: {why}"));
            self.ledger.add(entry(before, failed.clone()))?;
        }
        Ok(failed.map_or(Taken::Measured, Taken::Failed))
    }

    /// Saves the trials of a cell.
    fn save(
        &mut self,
        replicate: u32,
        cell: LabCell,
        (began_ns, seconds): (u64, f64),
        done: Done,
        workspace: &Workspace,
    ) -> Result<Result<Saved, TaskError>, Error> {
        let plan = &self.plan.platforms[cell.platform];
        let level = plan.level();
        let scratch = workspace.scratch();
        let before = self.writer.record().trials.len();
        let mut all: Vec<Collected> = Vec::new();
        let Done {
            outputs,
            beside,
            network,
        } = done;
        let wanted = self.plan.keys(cell).len() * outputs.len();
        let told = network
            .as_ref()
            .map(|network| self.plan.at(network.far_end));
        let told = told.as_ref().unwrap_or(&self.plan);
        let keys = told.own_keys(cell.load, cell.probe);
        let load = self.plan.loads[cell.load].level();
        for (number, output) in outputs {
            let place = Place {
                platform: &level,
                placement: self.plan.placement_level(cell),
                guest: (number > 1).then_some(number),
                replicate,
                began_ns,
                lasted_ns: (seconds * 1e9) as u64,
                results: self.results.0,
                keys: self.results.1,
                load: &load,
                tapped: network.as_ref().map(|network| network.tapped.as_slice()),
            };
            let bytes = output.stdout;
            let why = match collect::collect(bytes, &keys, scratch, &place, &mut self.writer) {
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
        let trials: u32 = all.iter().map(|collected| collected.trials).sum();
        // Which trial or block it was means nothing here.
        let all_notes = all.iter().flat_map(|collected| collected.notes.clone());
        let mut notes: Vec<String> = all_notes
            .filter(|note| note.kind != note_kind::TIME_RAN_OUT)
            .map(|note| note.text)
            .collect();
        let which = format!("{} of replicate {}", self.plan.name_of(cell), replicate + 1);
        let late = network.as_ref().and_then(|network| network.late.as_ref());
        notes.extend(late.map(|late| format!("{which}: {late}.")));
        if (trials as usize) < wanted {
            notes.push(format!(
                "{which} has {trials} of {wanted} trials: its time was up."
            ));
        }
        let mut records = self.writer.record().platforms.clone();
        let record = records.iter_mut().find(|r| r.level == level);
        if let Some(record) = record {
            let seen = all.into_iter().next().map(|first| first.environment);
            notes.extend(records::another_clock(&which, record, seen.as_ref()));
            if record.environment.is_none() {
                record.environment = seen;
                self.writer.platforms(records);
            }
        }
        // Some of their words are an instance's.
        let notes = notes.iter().map(|note| limits::reason(note)).collect();
        Ok(Ok(Saved { beside, notes }))
    }

    /// What turns take, by cells of their platforms so far.
    fn time_for(&self, turns: &[(u32, Vec<LabCell>)]) -> Duration {
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
        let longest = |turn: &[LabCell]| turn.iter().map(|&cell| one(cell)).fold(0.0, f64::max);
        let seconds = turns.iter().map(|(_, turn)| longest(turn)).sum();
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sitting_begins_after_all_trials_however_the_day_was_set_meanwhile() {
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let s = Duration::from_secs;
        assert_eq!(age(Some(began), began + s(500), s(90)), s(500));
        assert_eq!(age(Some(began), began - s(3600), s(90)), s(90));
        assert_eq!(age(Some(began), began + s(5), s(90)), s(90));
        assert_eq!(age(None, began, s(90)), s(90));
    }
}
