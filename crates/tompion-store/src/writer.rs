//! Writing a run, trial by trial.

use std::collections::BTreeMap;
use std::path::Path;

use super::column::Kind;
use super::directory::Directory;
use super::histograms::{self, Histograms};
use super::json_size::JsonSize;
use super::keys::Keys;
use super::parquet_file::ParquetFile;
use super::reader::Tables;
use super::reserve::Reserve;
use super::share::{self, Share};
use super::turn::Turn;
use super::{RUN_FILE, SAMPLES, gather, limits, magnitudes, run_json, trial_files};
use crate::error::Fault;
use crate::{Error, Result, Run};
use tompion_model::{
    ClockReading, CpuUse, Hold, Note, PlatformRecord, RunHeader, RunRecord, SCHEMA_VERSION,
    SideTables, Status, Throttling, Trial, TrialData, TrialDraft, factor, note_kind, now_utc,
    table,
};

/// Writes a run directory so that a crash loses at most the trial under way.
///
/// While it is measured each trial has files of its own, one of which carries the trial's
/// description too; `run.json` is rewritten at checkpoints. At the end all trials are
/// brought together into a few files, which `run.json` then names; only after that the
/// many go.
#[derive(Debug)]
pub struct RunWriter {
    directory: Directory,
    record: RunRecord,
    reserve: Reserve,
    /// Brings trials together at the end; absent where they stay apart.
    together: Option<Together>,
    /// Of all trials so far, unless some were saved by another process.
    histograms: Option<Histograms>,
    /// Columns of each probe's side tables, by the names of both: at the end they are one file.
    side_columns: BTreeMap<(String, String), Vec<(String, Kind)>>,
    /// How much the descriptions of the trials up to each hold.
    sizes: Vec<JsonSize>,
    /// The cells of all trials.
    keys: Keys,
    _turn: Option<Turn>,
}

/// A number that no other run has. Where there is none to be had the Parquet library would panic
/// for want of one.
fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(Error::NoRandomNumbers)?;
    let id = uuid::Builder::from_random_bytes(bytes).into_uuid();
    Ok(id.to_string())
}

/// The id of a run in one form, however it is written; nothing where it is no UUID, or the one of nobody.
pub fn canonical_id(text: &str) -> Option<String> {
    let id = uuid::Uuid::try_parse(text).ok()?;
    (!id.is_nil()).then(|| id.to_string())
}

/// How trials are brought together and taken apart: by address, so that a program that does
/// neither has none of it.
#[derive(Clone, Copy, Debug)]
struct Together {
    gather: fn(&mut RunWriter) -> Result<()>,
    spread: fn(&mut RunWriter) -> Result<()>,
    is_listed: fn(&RunWriter) -> bool,
}

impl RunWriter {
    /// Starts a run in `directory`, which must be absent or empty. Of several
    /// that begin there at the same moment one goes on, the others are refused.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] and [`Error::Taken`] where the directory is in use,
    /// and whatever the system refuses.
    pub fn create(directory: &Path, header: RunHeader) -> Result<Self> {
        Ok(Self::create_apart(directory, header)?.gathering())
    }

    /// The same for a run that leaves each trial in files of its own when it ends, since
    /// others take it apart at once.
    ///
    /// # Errors
    /// As [`RunWriter::create`].
    pub fn create_apart(path: &Path, header: RunHeader) -> Result<Self> {
        let run_id = random_id()?;
        let directory = Directory::make(path)?;
        let require_free = || match directory.is_free() {
            true => Ok(()),
            false => Err(Error::NotEmpty {
                path: path.to_path_buf(),
            }),
        };
        require_free()?;
        // Else somebody may swap our files for links to others of ours.
        directory.require_own()?;
        let turn = Turn::begin(&directory)?;
        if turn.is_some() {
            // Nobody else is at work here, but may have been until now; what is there else was
            // left.
            require_free()?;
            directory.make_free()?;
        }
        // Only one can make it: where there are no locks this claims the directory.
        directory.make_within(SAMPLES).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => Error::Taken {
                path: path.to_path_buf(),
            },
            _ => Error::io(&path.join(SAMPLES), "creating")(e),
        })?;
        let record = RunRecord {
            schema_version: SCHEMA_VERSION,
            run_id: Some(run_id),
            status: Status::Running,
            finished_at: None,
            notes: Vec::new(),
            throttling: None,
            cpu_use_before: None,
            header,
            files: Vec::new(),
            trials: Vec::new(),
            clock_readings: Vec::new(),
            holds: Vec::new(),
            platforms: Vec::new(),
        };
        let writer = Self::of(&directory, record, turn);
        writer.checkpoint()?;
        Ok(writer)
    }

    /// Refuses where [`RunWriter::create`] would refuse to begin: so that nobody measures or reads for long and
    /// has no place for the outcome. Makes nothing.
    ///
    /// # Errors
    /// As there, as far as that can be told beforehand.
    pub fn try_create(path: &Path) -> Result<()> {
        match Directory::try_make(path)? {
            Some(directory) if !directory.is_free() => Err(Error::NotEmpty {
                path: path.to_path_buf(),
            }),
            Some(directory) => directory.require_own(),
            None => Ok(()),
        }
    }

    /// Writes a run again, in another directory, which must be absent or empty; of what it
    /// holds nothing changes. One without a `run_id` that is a UUID gets one.
    ///
    /// # Errors
    /// Damage of `run`, and as [`RunWriter::create`] and [`RunWriter::save`]; nothing is left of it then.
    pub fn copy(run: &Run, directory: &Path) -> Result<Directory> {
        Self::copy_changed(run, directory, |_, data| Ok(data), |_| Ok(Vec::new()))
    }

    /// The same of a run whose tables are changed, by `change`, and that has further trials
    /// behind its own: `further` makes them of each trial. Gives the new directory, by whatever name it goes by now.
    ///
    /// # Errors
    /// As [`RunWriter::copy`], and those of `change` and `further`.
    pub fn copy_changed<E: From<Error>>(
        run: &Run,
        directory: &Path,
        change: impl FnMut(&Trial, TrialData) -> std::result::Result<TrialData, E>,
        further: impl FnMut(&Trial) -> std::result::Result<Vec<(TrialDraft, TrialData)>, E>,
    ) -> std::result::Result<Directory, E> {
        let was_there = directory.symlink_metadata().is_ok();
        let mut writer = Self::create(directory, run.record().header.clone())?;
        match writer.take_all_of(run, change, further) {
            Ok(()) => Ok(writer.directory.clone()),
            Err(why) => {
                writer.undo(was_there);
                Err(why)
            }
        }
    }

    fn take_all_of<E: From<Error>>(
        &mut self,
        run: &Run,
        mut change: impl FnMut(&Trial, TrialData) -> std::result::Result<TrialData, E>,
        mut further: impl FnMut(&Trial) -> std::result::Result<Vec<(TrialDraft, TrialData)>, E>,
    ) -> std::result::Result<(), E> {
        let record = run.record();
        for trial in &record.trials {
            let data = change(trial, run.data(trial)?)?;
            self.save(trial.clone().into(), &data)?;
        }
        for trial in &record.trials {
            for (draft, data) in further(trial)? {
                self.save(draft, &data)?;
            }
        }
        let to = &mut self.record;
        // One measurement has one name, wherever it is copied to.
        if let Some(id) = record.run_id.as_deref().and_then(canonical_id) {
            to.run_id = Some(id);
        }
        to.notes.clone_from(&record.notes);
        to.throttling.clone_from(&record.throttling);
        to.cpu_use_before.clone_from(&record.cpu_use_before);
        to.clock_readings.clone_from(&record.clock_readings);
        to.holds.clone_from(&record.holds);
        to.platforms.clone_from(&record.platforms);
        self.finish(record.status)?;
        self.record.finished_at.clone_from(&record.finished_at);
        self.checkpoint()?;
        Ok(())
    }

    /// Ends a run that came to nothing, and removes it.
    fn undo(mut self, keep_directory: bool) {
        // What is left harms nothing.
        let gathered = gather::file_names(&self.record.trials);
        let _ = self.directory.remove_from(|name| gathered.contains(name));
        let _ = self.take_back(0);
        self.discard(keep_directory);
    }

    fn of(directory: &Directory, record: RunRecord, turn: Option<Turn>) -> Self {
        Self {
            directory: directory.clone(),
            record,
            reserve: Reserve::take(directory),
            together: None,
            histograms: None,
            side_columns: BTreeMap::new(),
            sizes: Vec::new(),
            keys: Keys::default(),
            _turn: turn,
        }
    }

    /// How much the descriptions of all trials hold.
    fn size(&self) -> JsonSize {
        self.sizes.last().copied().unwrap_or_default()
    }

    /// Brings trials together at the end.
    fn gathering(self) -> Self {
        Self {
            together: Some(Together {
                gather: Self::gather,
                spread: Self::spread,
                is_listed: Self::is_listed,
            }),
            histograms: Histograms::new().ok(),
            ..self
        }
    }

    /// Goes on with a run that ended early: keeps its first `trials` trials, takes
    /// back later ones, and forgets its notes.
    ///
    /// # Errors
    /// A directory that is not the caller's own, a damaged run, one with fewer trials, one that
    /// another process writes, and whatever the system refuses; the run is then as it was.
    pub fn reopen(directory: &Directory, trials: usize) -> Result<Self> {
        directory.require_own()?;
        random_id()?;
        let turn = Turn::wait(directory)?;
        Self::reopen_in_turn(directory, trials, turn).inspect_err(|_| {
            // What was half done takes space.
            if let Ok(run) = Run::open_in(directory) {
                let _ = directory.remove_unlisted(run.record());
            }
        })
    }

    fn reopen_in_turn(directory: &Directory, trials: usize, turn: Option<Turn>) -> Result<Self> {
        let run = Run::open_in(directory)?;
        let has = run.record().trials.len();
        if has < trials {
            let why =
                format!("holds {has} trials where {trials} were saved: sample files are gone");
            return Err(Error::invalid(directory.path(), why));
        }
        let mut writer = Self::of(directory, run.into_record(), turn).gathering();
        writer.record.trials.truncate(trials);
        writer.count_keys();
        for trial in &writer.record.trials {
            // What was read can be written.
            let description = serde_json::to_string(trial).unwrap_or_default();
            let size = writer.size() + JsonSize::of_gathered_trial(&description);
            writer.sizes.push(size);
        }
        if writer.record.schema_version < SCHEMA_VERSION {
            // Its tables are rewritten: an older version's have no checksums.
            writer.gather()?;
            writer.checkpoint()?;
            directory.remove_unlisted(&writer.record)?;
        }
        writer.record.status = Status::Running;
        writer.record.finished_at = None;
        writer.record.notes.clear();
        let together = writer.record.files.clone();
        writer.spread()?;
        // The list first: a trial that is listed must have its file.
        writer.checkpoint()?;
        // Those of probes, too, that no trial has that is kept.
        directory.remove_from(|name| together.iter().any(|f| f.file == name))?;
        directory.remove_unlisted(&writer.record)?;
        directory.remove_trials_from(trials)?;
        Ok(writer)
    }

    /// Summarises and saves one trial.
    ///
    /// # Errors
    /// Names, numbers and lengths beyond the limits that docs/run-format.md states, and
    /// whatever the system refuses.
    pub fn save(&mut self, draft: TrialDraft, data: &TrialData) -> Result<&Trial> {
        self.check(&draft, data)?;
        self.keys
            .add(&draft.factors)
            .map_err(|why| self.no_room(&why))?;
        if let Some(Together { spread, .. }) = self.together
            && !self.record.files.is_empty()
        {
            spread(self)?;
            self.checkpoint()?;
            self.directory.remove_unlisted(&self.record)?;
        }
        self.check_side_tables(draft.factors.level(factor::PROBE), &data.tables)?;
        let (summary, bins) =
            histograms::summarise(data, draft.measurement.period_ns, draft.missed_periods);
        let mut trial = Trial {
            id: self.record.trials.len() as u32,
            summary,
            factors: draft.factors,
            block: draft.block,
            started_ns: draft.started_ns,
            started_at: draft.started_at,
            duration_ns: draft.duration_ns,
            storage: draft.storage,
            tables: tompion_model::TableRefs::new(),
            measurement: draft.measurement,
            load: draft.load,
            findings: draft.findings,
            observation: draft.observation,
            cpu_use: draft.cpu_use,
        };
        let size = trial_files::write(&self.directory, &mut trial, data, self.size())?;
        self.histograms = self.histograms.take().and_then(|mut all| {
            let follows = all.trials() == self.record.trials.len();
            (follows && all.add(trial.id, &bins).is_ok()).then_some(all)
        });
        self.sizes.push(size);
        self.record.trials.push(trial);
        Ok(self.record.trials.last().expect("just pushed"))
    }

    /// The same of a trial that somebody else has measured, which may hold no more than its share of
    /// what the run may: else nobody could read the run.
    ///
    /// # Errors
    /// As [`RunWriter::save`], and [`Error::Invalid`] of what has more; then nothing is saved.
    pub fn save_share(
        &mut self,
        draft: TrialDraft,
        data: &TrialData,
        share: Share,
    ) -> Result<&Trial> {
        self.save(draft, data)?;
        let saved = self.record.trials.len() - 1;
        if let Err(why) = share::check(&self.directory, &self.record.trials[saved], data, share)? {
            self.take_back(saved)?;
            return Err(Error::invalid(self.directory.path(), why.to_string()));
        }
        Ok(&self.record.trials[saved])
    }

    fn no_room(&self, why: &Fault) -> Error {
        let why = format!("no room for this trial: {why}");
        Error::invalid(self.directory.path(), why)
    }

    /// Counts the cells anew, where some may be gone.
    fn count_keys(&mut self) {
        let keys = self.record.trials.iter().map(|trial| &trial.factors);
        // A run that is there has no more than it may.
        self.keys = Keys::of(keys).unwrap_or_default();
    }

    /// Whether a reader would take such a trial.
    fn check(&self, draft: &TrialDraft, data: &TrialData) -> Result<()> {
        let wrong = |what: String| Err(Error::invalid(self.directory.path(), what));
        let fault = |what: Fault| wrong(what.to_string());
        limits::check_factors(&draft.factors).or_else(fault)?;
        if self.record.trials.len() >= limits::TRIALS {
            return wrong(format!("a run has at most {} trials", limits::TRIALS));
        }
        let period_ns = draft.measurement.period_ns;
        limits::check_period(period_ns).or_else(fault)?;
        magnitudes::check_missed(&data.samples, period_ns).or_else(fault)?;
        // Where all samples are kept they have no bins.
        let ours = [table::SAMPLES, table::BINS, table::HISTOGRAMS];
        let without = usize::from(data.bins.is_none());
        let most = limits::TABLES - ours.len() + without;
        if data.tables.len() > most {
            let found = data.tables.len();
            return wrong(format!("{found} side tables; a trial has at most {most}"));
        }
        let sides = data.tables.values().map(tompion_model::SideTable::rows);
        let rows = sides.chain([data.samples.len()]).max().unwrap_or(0) as u64;
        if rows > limits::ROWS {
            let most = limits::ROWS;
            return wrong(format!("a table of {rows} rows; at most {most}"));
        }
        for name in data.tables.keys() {
            if !limits::is_file_word(name) || ours.contains(&name.as_str()) {
                return wrong(format!(
                    "no side table may be called {name:?}: files are named by it"
                ));
            }
        }
        Ok(())
    }

    /// Refuses side tables that could not be brought together with those of earlier trials.
    fn check_side_tables(&mut self, probe: &str, tables: &SideTables) -> Result<()> {
        for (name, side_table) in tables {
            let found: Vec<(String, Kind)> = side_table
                .columns()
                .iter()
                .map(|c| (c.name.clone(), Kind::of_values(&c.values)))
                .collect();
            if found.len() > limits::COLUMNS {
                let (found, most) = (found.len(), limits::COLUMNS);
                let why = format!("side table `{name}` has {found} columns, at most {most}");
                return Err(Error::invalid(self.directory.path(), why));
            }
            let key = (probe.to_owned(), name.clone());
            if !self.side_columns.contains_key(&key) {
                // Of a run that is gone on with.
                let mut earlier = self.record.trials.iter();
                let known = earlier
                    .find(|t| {
                        t.factors.level(factor::PROBE) == probe && t.tables.contains_key(name)
                    })
                    .map(|t| ParquetFile::open(&self.directory, &t.tables[name].file))
                    .transpose()?;
                let Some(known) = known else {
                    self.side_columns.insert(key, found);
                    continue;
                };
                let columns = known.side_columns()?.into_iter();
                let columns = columns.map(|(_, name, kind)| (name.to_owned(), kind));
                self.side_columns.insert(key.clone(), columns.collect());
            }
            if self.side_columns[&key] != found {
                let why = format!("side table `{name}` has other columns than in earlier trials");
                return Err(Error::invalid(self.directory.path(), why));
            }
        }
        Ok(())
    }

    /// Brings all trials together into a few files. What they lay in before stays.
    fn gather(&mut self) -> Result<()> {
        let (version, files) = (self.record.schema_version, &self.record.files);
        let old = Tables::open(&self.directory, version, files)?;
        let known = self.histograms.take();
        let gathered = gather::gather(&self.directory, &old, &self.record.trials, known)?;
        for (trial, tables) in self.record.trials.iter_mut().zip(gathered.tables) {
            trial.tables = tables;
        }
        self.record.files = gathered.files;
        self.record.schema_version = SCHEMA_VERSION;
        Ok(())
    }

    /// Gives each trial files of its own again. What they lay in before stays.
    fn spread(&mut self) -> Result<()> {
        if self.record.files.is_empty() {
            return Ok(());
        }
        let (version, files) = (self.record.schema_version, &self.record.files);
        let old = Tables::open(&self.directory, version, files)?;
        match self.directory.make_within(SAMPLES) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(Error::io(&self.directory.path().join(SAMPLES), "creating")(
                    e,
                ));
            }
            _ => {}
        }
        let mut trials = self.record.trials.clone();
        for trial in &mut trials {
            let data = old.data(trial)?;
            trial_files::write(&self.directory, trial, &data, JsonSize::default())?;
        }
        // Only all of them: the list names either the many files or the few.
        self.record.trials = trials;
        self.record.files.clear();
        Ok(())
    }

    /// Takes back all but the first `trials` trials, as if they had never been saved.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn take_back(&mut self, trials: usize) -> Result<()> {
        self.record.trials.truncate(trials);
        self.sizes.truncate(trials);
        self.count_keys();
        // They may be those of trials that are gone.
        self.side_columns.clear();
        self.directory.remove_trials_from(trials)
    }

    /// Ends a run in which there is nothing, and removes it; its directory, too, unless that is
    /// to stay.
    pub fn discard(self, keep_directory: bool) {
        let directory = self.directory;
        // What is left harms nothing.
        let _ = directory.remove(RUN_FILE);
        let _ = directory.make_free();
        // By its name, which is all there is to remove it by: nothing goes that holds anything.
        if !keep_directory && directory.is_at(directory.path()) {
            let _ = std::fs::remove_dir(directory.path());
        }
    }

    /// Adds to what protects the measurement.
    pub fn guard(&mut self, text: impl Into<String>) {
        self.record.header.guards.push(text.into());
    }

    /// Adds a remark to the run.
    pub fn note(&mut self, kind: &str, text: impl Into<String>) {
        self.record.notes.push(Note::new(kind, text));
    }

    /// States what a CPU quota did during the run.
    pub fn throttling(&mut self, throttling: Option<Throttling>) {
        self.record.throttling = throttling;
    }

    /// States who else used the CPUs right before the run.
    pub fn cpu_use_before(&mut self, cpu_use: Option<CpuUse>) {
        self.record.cpu_use_before = cpu_use;
    }

    /// Adds a reading of the clocks.
    pub fn clock_reading(&mut self, reading: ClockReading) {
        self.record.clock_readings.push(reading);
    }

    /// Keeps what a search for the smallest period found.
    pub fn hold(&mut self, hold: Hold) {
        self.record.holds.push(hold);
    }

    /// States the platforms of a lab, instead of those stated before.
    pub fn platforms(&mut self, platforms: Vec<PlatformRecord>) {
        self.record.platforms = platforms;
    }

    /// What the run holds so far.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The run's directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Writes `run.json` with the trials so far.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn checkpoint(&self) -> Result<()> {
        run_json::write(&self.directory, &self.record)
    }

    /// Ends the run: brings its trials together, and writes `run.json` for the last time,
    /// into space kept free for it where the disk is full by now. Where they cannot be
    /// brought together they stay as they are, and a note says why.
    ///
    /// # Errors
    /// Whatever the system refuses of `run.json`; the trials are there all the same.
    pub fn finish(&mut self, status: Status) -> Result<()> {
        self.record.status = status;
        self.record.finished_at = Some(now_utc());
        let has_trials = self.record.files.is_empty() && !self.record.trials.is_empty();
        let together = self.together.filter(|_| has_trials);
        let before = together.map(|_| self.tables());
        if let Some(Together { gather, .. }) = together {
            // Bringing together takes a while: whoever is killed in it has said how it ended.
            // On a full disk there may be room for it only later.
            let _ = self.checkpoint();
            if let Err(error) = gather(self) {
                self.keep_apart(&error);
            }
        }
        self.reserve.release();
        let mut written = self.checkpoint();
        if let (Err(error), Some(before), Some(together)) = (&written, before, together)
            && !(together.is_listed)(self)
        {
            self.record.files.clear();
            for (trial, tables) in self.record.trials.iter_mut().zip(before) {
                trial.tables = tables;
            }
            let text = error.to_string();
            self.keep_apart(&text);
            written = self.checkpoint();
        }
        // Whatever the new list does not name; what cannot be removed does no harm.
        let _ = self.directory.remove_unlisted(&self.record);
        written
    }

    /// Says why trials stay as they are, and makes room for the list.
    fn keep_apart(&mut self, why: &impl std::fmt::Display) {
        let text = format!("Trials are kept in files of their own: {why}");
        self.note(note_kind::KEPT_APART, text);
        let _ = self.directory.remove_unlisted(&self.record);
    }

    /// Whether `run.json` names the files that the record does, whatever went wrong after it
    /// was written.
    fn is_listed(&self) -> bool {
        let there = run_json::read(&self.directory);
        there.is_ok_and(|there| there.record.files == self.record.files)
    }

    fn tables(&self) -> Vec<tompion_model::TableRefs> {
        let trials = self.record.trials.iter();
        trials.map(|trial| trial.tables.clone()).collect()
    }
}
