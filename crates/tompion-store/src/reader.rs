//! Reading a run back, also one whose process died.

use crate::error::{DAMAGED, Fault, WRITTEN_SO};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tompion_stats::Distribution;

use super::column::{Kind, form_of_checksum, hexadecimal};
use super::directory::Directory;
use super::json_size::JsonSize;
use super::keys::Keys;
use super::links::Links;
use super::parquet_file::{ParquetFile, open_regular};
use super::places::Places;
use super::turn::Turn;
use super::{
    RUN_FILE, SAMPLES, column, limits, magnitudes, run_json, samples, trial_files, version_1,
};
use crate::{Error, Result};
use tompion_model::{
    FileRef, Note, RunRecord, Sample, SideTables, Status, Storage, TableRef, Trial, TrialData,
    filling_work, note_kind, stall_parts, table,
};

/// A run read from its directory.
pub struct Run {
    record: Arc<RunRecord>,
    /// SHA-256 of the `run.json` that the record is from.
    sha256: String,
    tables: Tables,
    /// What is changed in a trial's tables before they are shown.
    edit: Option<DataEdit>,
    /// Of the `run.json` that the record is from.
    identity: Option<Identity>,
    /// Length of all files with tables.
    bytes: u64,
    /// What of it their pages take, once somebody has to know.
    of_pages: OnceLock<u64>,
    filling: Mutex<Filling>,
}

/// What filling in missed periods takes of the trials that were read so far.
#[derive(Debug, Default)]
struct Filling {
    counted: BTreeSet<u32>,
    work: u64,
}

impl Filling {
    /// Counts a trial, once however often it is read.
    fn add(&mut self, trial: u32, work: u64) -> u64 {
        if self.counted.insert(trial) {
            self.work = self.work.saturating_add(work);
        }
        self.work
    }
}

/// A change of the tables of a trial.
type DataEdit = Box<dyn Fn(&mut TrialData) + Send + Sync>;

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Run").field(&self.path()).finish()
    }
}

/// By this two versions of a file differ that were each renamed into its place: the number of
/// its inode, and when that was last changed.
type Identity = (u64, i64, i64);

fn identity(directory: &Directory) -> Option<Identity> {
    let found = directory.find(RUN_FILE).ok()??;
    Some((found.st_ino, found.st_ctime, found.st_ctime_nsec as i64))
}

/// What comes of reading while nothing is replaced: whoever writes a run may end it meanwhile, and
/// take away what was listed. Of a directory in which that never stops, what the last attempt gives:
/// its owner can replace a file for ever.
fn settled<T>(
    look: impl Fn() -> Option<Identity>,
    mut read: impl FnMut(Option<Identity>) -> T,
) -> T {
    const ATTEMPTS: u32 = 20;
    let mut identity = look();
    let mut attempt = 1;
    loop {
        let found = read(identity);
        let now = look();
        if now == identity || attempt == ATTEMPTS {
            return found;
        }
        identity = now;
        attempt += 1;
    }
}

impl Run {
    /// Opens a run of this format version or an older one, and checks that its files are
    /// whole. Trials saved after the last checkpoint of a run that died are taken from
    /// their sample files; unless they are all that was planned, the run counts as
    /// interrupted.
    ///
    /// # Errors
    /// No run, a damaged one, or one of a newer version; in one line.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_in(&Self::find(path)?)
    }

    /// The same, after whatever a killed process has left half done there is removed; of a run
    /// that cannot be tidied it is left.
    ///
    /// # Errors
    /// As [`Run::open`].
    pub fn open_tidied(path: &Path) -> Result<Self> {
        let directory = Self::find(path)?;
        let _ = directory.remove_leftovers();
        Self::open_in(&directory)
    }

    /// The directory that somebody takes for a run's.
    fn find(path: &Path) -> Result<Directory> {
        Directory::at(path).map_err(|e| {
            let why = match e.kind() {
                io::ErrorKind::NotADirectory if path.exists() => {
                    format!("it is a file; name the directory with {RUN_FILE} in it")
                }
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    "it is not there".to_owned()
                }
                _ => return Error::io(path, "opening")(e),
            };
            Error::invalid(path, format!("not a run directory: {why}"))
        })
    }

    /// As [`Run::open`], in a directory that was opened before.
    ///
    /// # Errors
    /// As there.
    pub fn open_in(directory: &Directory) -> Result<Self> {
        let look = || identity(directory);
        settled(look, |identity| Self::open_once(directory, identity))
    }

    fn went_on(&self) -> Error {
        let why = "the run went on or was finished while it was read; read it again";
        Error::invalid(self.path(), why)
    }

    fn open_once(directory: &Directory, identity: Option<Identity>) -> Result<Self> {
        let found = run_json::read(directory)?;
        let mut run = Self {
            tables: Tables::open(directory, found.version, &found.record.files)?,
            record: Arc::new(found.record),
            sha256: found.sha256,
            edit: None,
            identity,
            bytes: 0,
            of_pages: OnceLock::new(),
            filling: Mutex::default(),
        };
        let (places, links) = run.check_listed()?;
        if run.record.status == Status::Running {
            run.recover(places, links, found.size)?;
        }
        Keys::of(run.record.trials.iter().map(|trial| &trial.factors))
            .and_then(|keys| keys.check_uses(run.record.header.profiles.len()))
            .map_err(|why| Error::invalid(directory.path(), why.to_string()))?;
        magnitudes::check(&run.record)
            .map_err(|why| Error::invalid(&directory.path().join(RUN_FILE), why.to_string()))?;
        run.bytes = run.check_rows()?;
        run.tables.texts = Mutex::new(Texts::in_files_of(run.bytes));
        Ok(run)
    }

    fn check_listed(&self) -> Result<(Places, Links)> {
        let mut places = Places::new(self.record.files.is_empty());
        let mut links = Links::default();
        for (i, trial) in self.record.trials.iter().enumerate() {
            let listed = match trial.id as usize == i {
                true => self.tables.check(trial),
                false => Err(format!("its id is {}, its place in the list {i}", trial.id).into()),
            };
            let listed = listed.and_then(|()| places.take(trial));
            listed.map_err(|why| {
                let come_of = come_of(self.tables.version);
                let why = format!("trial {i} is listed wrongly: {why}; {come_of}");
                Error::invalid(&self.path().join(RUN_FILE), why)
            })?;
            // Of finished runs the checksum of the whole file says as much.
            if self.record.files.is_empty() {
                self.take_links(&mut links, trial)?;
                let at = &trial.tables[table::SAMPLES];
                let file = self.tables.file(at)?;
                let rows = file.rows();
                if rows != at.rows {
                    let why = format!("holds {rows} rows, {RUN_FILE} says {}", at.rows);
                    return Err(file.damaged(&why));
                }
            }
        }
        Ok((places, links))
    }

    /// Refuses a trial of whose files one is another's.
    fn take_links(&self, links: &mut Links, trial: &Trial) -> Result<()> {
        let mut tables = trial.tables.values();
        tables.try_for_each(|at| links.take(self.directory(), &at.file))
    }

    /// Refuses more rows than files of their size hold, before memory is taken for any; the length of
    /// these files together.
    fn check_rows(&self) -> Result<u64> {
        let mut sizes = self.tables.sizes.clone();
        let mut all = 0_u64;
        for (i, trial) in self.record.trials.iter().enumerate() {
            for at in trial.tables.values().filter(|at| at.rows > 0) {
                sizes.insert(at.file.clone(), self.tables.length(at)?);
                let rows = match at.rows {
                    version_1::UNKNOWN_ROWS => self.tables.file(at)?.rows(),
                    rows => rows,
                };
                all = all.saturating_add(rows);
                if limits::OF_TABLE.are_free(rows) {
                    continue;
                }
                let bytes = self.tables.file(at)?.bytes();
                limits::OF_TABLE.check(rows, bytes).map_err(|why| {
                    let path = self.path().join(&at.file);
                    Error::invalid(&path, format!("trial {i}: {why}"))
                })?;
            }
        }
        let bytes = sizes.values().fold(0, |sum: u64, n| sum.saturating_add(*n));
        if !limits::OF_RUN.are_free(all) {
            limits::OF_RUN
                .check(all, self.bytes_of_pages()?)
                .map_err(|why| Error::invalid(self.path(), why.to_string()))?;
        }
        Ok(bytes)
    }

    /// What the pages of all files with tables take: every footer is gone through for it.
    fn bytes_of_pages(&self) -> Result<u64> {
        if let Some(known) = self.of_pages.get() {
            return Ok(*known);
        }
        let mut counted = BTreeSet::new();
        let mut bytes = 0_u64;
        let tables = self.record.trials.iter().flat_map(|t| t.tables.values());
        for at in tables.filter(|at| at.rows > 0) {
            if counted.insert(&at.file) {
                bytes = bytes.saturating_add(self.tables.file(at)?.bytes());
            }
        }
        Ok(*self.of_pages.get_or_init(|| bytes))
    }

    /// Adds the trials that the last checkpoint does not list.
    fn recover(&mut self, mut places: Places, mut links: Links, mut size: JsonSize) -> Result<()> {
        loop {
            let id = self.record.trials.len();
            let name = trial_files::sample_file(id);
            if !self.directory().has(&name) {
                break;
            }
            // Before its footer is gone through.
            links.take(self.directory(), &name)?;
            let file = ParquetFile::open(self.directory(), &name)?;
            self.tables.count(&name, &file)?;
            let trial = trial_files::description(&file, self.tables.version, &mut size)?;
            if trial.id as usize != id || trial.rows() != file.rows() {
                return Err(file.damaged("belongs to another trial"));
            }
            let listed = self.tables.check(&trial);
            if let Err(why) = listed.and_then(|()| places.take(&trial)) {
                return Err(file.damaged(&format!("its trial is described wrongly: {why}")));
            }
            self.take_links(&mut links, &trial)?;
            self.record_mut().trials.push(trial);
        }
        let design = &self.record.header.design;
        let planned = u64::from(design.blocks) * u64::from(design.cells);
        // Killed after its last trial, it lost nothing.
        let is_whole = planned > 0 && self.record.trials.len() as u64 == planned;
        let status = match is_whole {
            true => Status::Complete,
            false => Status::Interrupted,
        };
        let text = match (is_whole, Turn::is_taken(self.directory())) {
            (true, Some(true)) => {
                "All trials of this run are saved, and the process that writes it is still at work."
            }
            (true, _) => {
                "The process that wrote this run ended after its last trial, before it could say so."
            }
            (false, Some(true)) => {
                "This run is not finished: the process that writes it is still at work."
            }
            (false, Some(false)) => {
                "This run is not finished: the process that wrote it ended early."
            }
            (false, None) => {
                "This run is not finished: the process that writes it is still at work, or ended early."
            }
        };
        let mut text = text.to_owned();
        let behind = trial_files::behind(self.directory(), self.record.trials.len());
        if behind > 0 {
            text += &format!(
                " {behind} whole trials are left out, because one before them is missing: {}.",
                trial_files::sample_file(self.record.trials.len())
            );
        }
        let record = self.record_mut();
        record.status = status;
        record.notes.push(Note::new(note_kind::NOT_FINISHED, text));
        Ok(())
    }

    /// What `run.json` holds, recovered trials included.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The same for whoever keeps it longer than the run.
    pub fn shared_record(&self) -> Arc<RunRecord> {
        Arc::clone(&self.record)
    }

    /// Nobody else has it while the run is opened.
    fn record_mut(&mut self) -> &mut RunRecord {
        Arc::make_mut(&mut self.record)
    }

    /// SHA-256 of its `run.json`, in hexadecimal digits. The checksums of all tables stand in that
    /// file, so it names the run with its samples.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The same run with a record that `record` changed, and tables of trials that `data`
    /// changes, for showing it otherwise than it is written, for example without names.
    /// Where the trials' tables lie must stay.
    pub fn edited(
        mut self,
        record: impl FnOnce(&mut RunRecord),
        data: impl Fn(&mut TrialData) + Send + Sync + 'static,
    ) -> Self {
        record(self.record_mut());
        self.edit = Some(Box::new(data));
        self
    }

    /// The run's directory.
    pub fn directory(&self) -> &Directory {
        &self.tables.directory
    }

    fn path(&self) -> &Path {
        self.directory().path()
    }

    /// Length of all files with tables, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The samples of one trial and its other tables, checked against their checksums.
    ///
    /// # Errors
    /// Damage, or a run that was finished since it was opened, in one line.
    pub fn data(&self, trial: &Trial) -> Result<TrialData> {
        let checked = |mut data| match self.check_data(trial, &data) {
            Ok(()) => {
                self.edit.iter().for_each(|edit| edit(&mut data));
                Ok(data)
            }
            Err(why) => {
                let why = format!("trial {}: {why}", trial.id);
                Err(Error::invalid(self.path(), why))
            }
        };
        self.tables.data(trial).and_then(checked).map_err(|error| {
            match identity(self.directory()) == self.identity {
                true => error,
                false => self.went_on(),
            }
        })
    }

    fn check_data(&self, trial: &Trial, data: &TrialData) -> std::result::Result<(), Fault> {
        magnitudes::check_data(data, self.record.trials.len())?;
        if trial.measurement.period_ns.is_none() {
            return Ok(());
        }
        let work = filling_work(data.samples.iter());
        let mut filling = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
        let all = filling.add(trial.id, work);
        drop(filling);
        if limits::OF_FILLING.are_free(all) {
            return Ok(());
        }
        let bytes = self.bytes_of_pages().map_err(|e| e.to_string())?;
        limits::OF_FILLING.check(all, bytes)
    }

    /// How many bytes the pages of a trial's tables are once they are unpacked, by what their headers say, which is held to them.
    ///
    /// # Errors
    /// Damage of a file.
    pub fn unpacked_bytes(&self, trial: &Trial) -> Result<u64> {
        trial.tables.values().try_fold(0, |sum: u64, at| {
            let unpacked = self.tables.file(at)?.unpacked(at.row_group, at.rows)?;
            Ok(sum.saturating_add(unpacked))
        })
    }

    /// How many values a trial's side tables hold, by what their files announce, a text as three: so much of them is
    /// in memory once [`Run::data`] has read them.
    ///
    /// # Errors
    /// Damage of a file.
    pub fn side_values(&self, trial: &Trial) -> Result<u64> {
        self.tables.side_values(trial)
    }

    /// Whether a checksum covers the trials' summaries, so that they may be taken for what the
    /// samples say: not in runs of version 1.
    pub fn summaries_are_checked(&self) -> bool {
        self.tables.version > 1
    }

    /// The distribution behind each summary of a trial by its name there (`measured`,
    /// `undisturbed`, `missed_filled`, `batched`), in picoseconds, from bins whose middles
    /// are within 0.05 % of every value in them. Without the samples, hence quick where
    /// there are many. `None` in runs that were not finished, or are of version 1.
    ///
    /// # Errors
    /// Damage, in one line.
    pub fn histograms(&self, trial: &Trial) -> Result<Option<BTreeMap<String, Distribution>>> {
        let Some(at) = trial.tables.get(table::HISTOGRAMS) else {
            return Ok(None);
        };
        let file = self.tables.file(at)?;
        let wanted = Some(&samples::HISTOGRAMS[..]);
        let columns = trial_files::read_table(&file, table::HISTOGRAMS, at, wanted)?;
        let histograms = samples::to_histograms(&columns)
            .map_err(|e| file.damaged(&format!("unreadable histograms ({e})")))?;
        let most = histograms.values().map(Distribution::len).max();
        magnitudes::check_counted(most.unwrap_or(0), self.record.trials.len())
            .map_err(|e| file.damaged(&e.to_string()))?;
        Ok(Some(histograms))
    }

    pub(super) fn into_record(self) -> RunRecord {
        Arc::unwrap_or_clone(self.record)
    }
}

/// The tables of a run's trials.
#[derive(Debug)]
pub(super) struct Tables {
    directory: Directory,
    version: u64,
    /// Those of a finished run, each opened once, when it is asked for; empty where trials
    /// have their own.
    files: BTreeMap<String, Mutex<Option<Arc<ParquetFile>>>>,
    /// Their lengths, in bytes.
    sizes: BTreeMap<String, u64>,
    chunks: Mutex<Chunks>,
    texts: Mutex<Texts>,
}

/// The texts of all tables that were read so far, each trial's counted once, in bytes.
#[derive(Debug, Default)]
struct Texts {
    /// Bytes of the run's files.
    files: u64,
    of_trials: BTreeMap<u32, u64>,
    all: u64,
}

impl Texts {
    fn in_files_of(files: u64) -> Self {
        Self {
            files,
            ..Self::default()
        }
    }

    /// Counts those of a trial; says that they are more than a run has.
    fn add(&mut self, trial: u32, bytes: u64) -> std::result::Result<(), Fault> {
        let before = self.of_trials.insert(trial, bytes).unwrap_or(0);
        self.all = (self.all - before).saturating_add(bytes);
        limits::OF_TEXTS_OF_RUN.check(self.all, self.files)
    }
}

/// What the footers of a run's files describe, each counted once.
#[derive(Debug, Default)]
struct Chunks {
    counted: BTreeSet<String>,
    all: u64,
}

impl Chunks {
    /// Counts those of a file, unless they were before; says that they are more than are read.
    fn add(&mut self, file: &str, chunks: u64) -> std::result::Result<(), Fault> {
        if self.counted.contains(file) {
            return Ok(());
        }
        let all = self.all.saturating_add(chunks);
        if all > limits::CHUNKS {
            return Err(format!(
                "with it, the files of this run describe {all} row groups and columns of these; at most {} are read",
                limits::CHUNKS
            )
            .into());
        }
        self.counted.insert(file.to_owned());
        self.all = all;
        Ok(())
    }
}

impl Tables {
    /// The tables in the files that a run's record lists, whose bytes are checked.
    pub(super) fn open(directory: &Directory, version: u64, files: &[FileRef]) -> Result<Self> {
        let mut listed = BTreeSet::new();
        let mut links = Links::default();
        for file in files {
            if !listed.insert(&file.file) {
                return Err(wrong_file(directory, file, version, "twice"));
            }
            check_bytes(directory, file, version, &mut links)?;
        }
        let unopened = |f: &FileRef| (f.file.clone(), Mutex::default());
        Ok(Self {
            directory: directory.clone(),
            version,
            files: files.iter().map(unopened).collect(),
            sizes: files.iter().map(|f| (f.file.clone(), f.bytes)).collect(),
            chunks: Mutex::default(),
            texts: Mutex::default(),
        })
    }

    /// Length of the file that a table lies in, in bytes.
    fn length(&self, at: &TableRef) -> Result<u64> {
        if let Some(bytes) = self.sizes.get(&at.file) {
            return Ok(*bytes);
        }
        let path = self.directory.path().join(&at.file);
        let file = open_regular(&self.directory, &at.file)?;
        let found = file.metadata().map_err(Error::io(&path, "reading"))?;
        Ok(found.len())
    }

    /// Says what is wrong with where a trial's tables lie, how many they are, and how it is
    /// described.
    fn check(&self, trial: &Trial) -> std::result::Result<(), Fault> {
        limits::check_factors(&trial.factors)?;
        limits::check_period(trial.measurement.period_ns)?;
        let found = trial.tables.len();
        if found > limits::TABLES {
            return Err(format!("{found} tables, at most {}", limits::TABLES).into());
        }
        if !trial.tables.contains_key(table::SAMPLES) {
            return Err("tables has no `samples`".into());
        }
        if trial.storage != Storage::Complete && !trial.tables.contains_key(table::BINS) {
            return Err("its storage is `tail`, and tables has no `bins`".into());
        }
        trial.tables.iter().try_for_each(|(name, at)| {
            self.check_table(name, at)
                .map_err(|why| format!("tables.{}: {why}", name.escape_debug()).into())
        })
    }

    fn check_table(&self, name: &str, at: &TableRef) -> std::result::Result<(), Fault> {
        let file = at.file.escape_debug();
        let path = Path::new(&at.file);
        let is_inside = path.components().all(|c| matches!(c, Component::Normal(_)))
            // Written in one way only: by its name it is known whether another table has it.
            && path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
        if !limits::is_file_word(name) {
            return Err(format!("no table may be called {name:?}").into());
        }
        if !is_inside {
            return Err(format!("{file} is no file of the run's directory").into());
        }
        match self.files.is_empty() {
            true if !Path::new(&at.file).starts_with(SAMPLES) => {
                Err(format!("{file} is not in {SAMPLES}/, and `files` lists none").into())
            }
            false if !self.files.contains_key(&at.file) => {
                Err(format!("{file} is not listed under `files`").into())
            }
            _ if self.version > 1 && at.rows > limits::ROWS => {
                Err(format!("{} rows, at most {}", at.rows, limits::ROWS).into())
            }
            _ => match form_of_checksum(&at.crc32) {
                Some(why) if self.version > 1 => Err(why.into()),
                _ => Ok(()),
            },
        }
    }

    /// The file that a table lies in.
    pub(super) fn file(&self, at: &TableRef) -> Result<Arc<ParquetFile>> {
        let Some(opened) = self.files.get(&at.file) else {
            let file = ParquetFile::open(&self.directory, &at.file)?;
            self.count(&at.file, &file)?;
            return Ok(Arc::new(file));
        };
        // Whoever held it when a thread panicked has left it as it was.
        let mut opened = opened
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let file = match opened.take() {
            Some(file) => file,
            None => {
                let file = ParquetFile::open_whole(&self.directory, &at.file)?;
                self.count(&at.file, &file)?;
                Arc::new(file)
            }
        };
        Ok(Arc::clone(opened.insert(file)))
    }

    /// Counts what a file's footer describes.
    fn count(&self, name: &str, file: &ParquetFile) -> Result<()> {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = chunks.add(name, file.chunks());
        counted.map_err(|why| file.refused(&why.to_string()))
    }

    /// Whether every table has one.
    pub(super) fn has_checksums(&self) -> bool {
        self.version > 1
    }

    /// The samples of a trial.
    pub(super) fn samples(&self, file: &ParquetFile, at: &TableRef) -> Result<Vec<Sample>> {
        trial_files::read_samples(file, at, self.version)
    }

    /// [`Run::side_values`].
    fn side_values(&self, trial: &Trial) -> Result<u64> {
        self.values_of(&self.side_files(trial)?, AS_TEXT)
    }

    /// A trial's side tables, and the file that each is in: opened once, since its footer is gone through each time.
    fn side_files<'t>(&self, trial: &'t Trial) -> Result<Vec<SideFile<'t>>> {
        let opened = |(name, at)| Ok((name, at, self.file(at)?));
        side_tables(trial).map(opened).collect()
    }

    /// Values of tables, a text as so many.
    fn values_of(&self, tables: &[SideFile<'_>], text: u64) -> Result<u64> {
        tables.iter().try_fold(0, |sum: u64, (_, at, file)| {
            let columns = file
                .side_columns()?
                .into_iter()
                .map(|(_, _, kind)| match kind {
                    Kind::Text => text,
                    _ => 1,
                });
            let columns: u64 = columns.sum();
            // In version 1 the record does not say.
            let rows = match self.version > 1 {
                true => at.rows,
                false => file.rows(),
            };
            Ok(sum.saturating_add(rows.saturating_mul(columns)))
        })
    }

    /// Refuses side tables that together hold more values than files of their size, before any is read.
    fn check_values(&self, trial: &Trial, tables: &[SideFile<'_>]) -> Result<()> {
        let values = self.values_of(tables, 1)?;
        let mut files = BTreeMap::new();
        for (_, at, file) in tables {
            files.insert(&at.file, file.bytes());
        }
        let bytes = files.values().fold(0, |sum: u64, b| sum.saturating_add(*b));
        limits::OF_VALUES.check(values, bytes).map_err(|why| {
            let why = format!("trial {}: {why}", trial.id);
            Error::invalid(&self.directory.path().join(RUN_FILE), why)
        })
    }

    pub(super) fn data(&self, trial: &Trial) -> Result<TrialData> {
        let at = trial.tables.get(table::SAMPLES).ok_or_else(|| {
            let why = format!("trial {} has no samples; the run is damaged", trial.id);
            Error::invalid(&self.directory.path().join(RUN_FILE), why)
        })?;
        let file = self.file(at)?;
        let samples = self.samples(&file, at)?;
        magnitudes::check_missed(&samples, trial.measurement.period_ns)
            .map_err(|why| file.damaged(&why.to_string()))?;
        let (bins, filled_bins) = match (trial.storage, trial.tables.get(table::BINS)) {
            (Storage::Tail { .. }, Some(at)) => {
                let (measured, filled) = trial_files::read_bins(&*self.file(at)?, at)?;
                (Some(measured), Some(filled))
            }
            _ => (None, None),
        };
        let side_files = self.side_files(trial)?;
        self.check_values(trial, &side_files)?;
        let mut tables = SideTables::new();
        let mut texts = 0_u64;
        for (name, at, file) in side_files {
            let columns = trial_files::read_table(&file, name, at, None)?;
            let of_table = columns.iter().map(column::Column::text_bytes);
            texts = of_table.fold(texts, u64::saturating_add);
            let mut all = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
            all.add(trial.id, texts)
                .map_err(|why| file.refused(&why.to_string()))?;
            drop(all);
            let table = column::to_side_table(columns)
                .map_err(|e| file.damaged(&format!("unreadable table `{name}` ({e})")))?;
            // Tables of probes that this version does not know are kept as they are.
            if trial.findings.stalls.is_some() && name == stall_parts::NAME {
                stall_parts::of_table(&table)
                    .map_err(|e| file.damaged(&format!("unreadable stalls ({e})")))?;
            }
            tables.insert(name.to_owned(), table);
        }
        Ok(TrialData {
            samples,
            bins,
            filled_bins,
            tables,
        })
    }
}

/// What a text takes in memory while it is read and written, in numbers that do.
const AS_TEXT: u64 = 3;

/// A side table, and the file that it is in.
type SideFile<'t> = (&'t str, &'t TableRef, Arc<ParquetFile>);

/// The tables of a trial that only its probe has.
pub(super) fn side_tables(trial: &Trial) -> impl Iterator<Item = (&str, &TableRef)> {
    const OURS: [&str; 3] = [table::SAMPLES, table::BINS, table::HISTOGRAMS];
    let all = trial.tables.iter().map(|(name, at)| (name.as_str(), at));
    all.filter(|(name, _)| !OURS.contains(name))
}

fn wrong_file(directory: &Directory, file: &FileRef, version: u64, how: &str) -> Error {
    let name = file.file.escape_debug();
    let come_of = come_of(version);
    let why = format!("lists a file `{name}` {how}; {come_of}");
    Error::invalid(&directory.path().join(RUN_FILE), why)
}

/// Checks the length and the checksum of a file of a finished run.
/// What comes of a list that cannot be: from version 2 on it has its checksum.
fn come_of(version: u64) -> &'static str {
    match version {
        0 | 1 => DAMAGED,
        _ => WRITTEN_SO,
    }
}

fn check_bytes(
    directory: &Directory,
    file: &FileRef,
    version: u64,
    links: &mut Links,
) -> Result<()> {
    let path = directory.path().join(&file.file);
    let is_name = file.file.strip_suffix(".parquet").is_some_and(|stem| {
        stem.split('.').count() <= 2 && stem.split('.').all(limits::is_file_word)
    });
    if !is_name {
        return Err(wrong_file(
            directory,
            file,
            version,
            "of a name that no file of a run has",
        ));
    }
    if let Some(why) = form_of_checksum(&file.crc32) {
        return Err(wrong_file(
            directory,
            file,
            version,
            &format!("with a wrong checksum: {why}"),
        ));
    }
    links.take(directory, &file.file)?;
    let content = open_regular(directory, &file.file)?;
    let length = content
        .metadata()
        .map_err(Error::io(&path, "reading"))?
        .len();
    if length != file.bytes {
        let why = format!(
            "has {length} bytes, {RUN_FILE} says {}; the run is damaged",
            file.bytes
        );
        return Err(Error::invalid(&path, why));
    }
    let mut hash = crc32fast::Hasher::new();
    let mut piece = vec![0; 1 << 16];
    // Whoever lengthens it meanwhile keeps nobody.
    let mut content = content.take(file.bytes);
    loop {
        match content
            .read(&mut piece)
            .map_err(Error::io(&path, "reading"))?
        {
            0 => break,
            read => hash.update(&piece[..read]),
        }
    }
    match hexadecimal(hash.finalize()) == file.crc32 {
        true => Ok(()),
        false => {
            let why = "does not match its checksum; the run is damaged";
            Err(Error::invalid(&path, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tompion_model::{
        Column, Design, Environment, Factors, RunHeader, SideTable, TrialDraft, Values, factor,
    };

    use super::super::RunWriter;
    use super::super::parquet_file::OPENED;
    use super::*;

    /// An unfinished run of these trials.
    fn saved(path: &Path, trials: &[TrialData]) {
        let header = RunHeader {
            command_line: vec!["tompion".to_owned()],
            tool: "tompion test".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            design: Design {
                order: "as planted".to_owned(),
                seed: 1,
                blocks: trials.len() as u32,
                cells: 1,
            },
            environment: Environment::default(),
            guards: Vec::new(),
            profiles: Vec::new(),
        };
        let mut writer = RunWriter::create(path, header).unwrap();
        for (block, data) in (0..).zip(trials) {
            let draft = TrialDraft {
                factors: Factors::new().with(factor::PROBE, "wake-up"),
                block,
                ..TrialDraft::default()
            };
            writer.save(draft, data).unwrap();
        }
        writer.checkpoint().unwrap();
    }

    fn of_rows(rows: usize) -> TrialData {
        let sample = |i: usize| Sample {
            at_ns: i as u64 * 100,
            n: 1,
            ..Sample::default()
        };
        TrialData {
            samples: (0..rows).map(sample).collect(),
            ..TrialData::default()
        }
    }

    #[test]
    fn a_run_in_which_one_file_has_two_names_is_refused_in_one_line() {
        let place = tempfile::tempdir().unwrap();
        saved(place.path(), &[of_rows(2), of_rows(2)]);
        let samples = place.path().join(SAMPLES);
        let second = samples.join("00001.parquet");
        std::fs::remove_file(&second).unwrap();
        std::fs::hard_link(samples.join("00000.parquet"), &second).unwrap();
        let told = Run::open(place.path()).unwrap_err().to_string();
        assert!(
            told.contains("00001.parquet: is the same file as"),
            "{told}"
        );
        assert!(!told.contains('\n'), "{told}");
        // Nor may a finished run list one so.
        for name in ["a.parquet", "b.parquet"] {
            std::fs::hard_link(&second, place.path().join(name)).unwrap();
        }
        let content = std::fs::read(&second).unwrap();
        let listed = |name: &str| FileRef {
            file: name.to_owned(),
            bytes: content.len() as u64,
            crc32: hexadecimal(crc32fast::hash(&content)),
        };
        let here = Directory::open(place.path()).unwrap();
        let open = |names: &[&str]| {
            let files: Vec<_> = names.iter().map(|name| listed(name)).collect();
            Tables::open(&here, 2, &files).map_err(|e| e.to_string())
        };
        open(&["a.parquet"]).unwrap();
        let told = open(&["a.parquet", "b.parquet"]).unwrap_err();
        assert!(told.contains("is the same file as a.parquet"), "{told}");
    }

    #[test]
    fn each_file_of_an_unfinished_run_is_opened_once_for_its_trial() {
        let place = tempfile::tempdir().unwrap();
        let column = Column {
            name: "n".to_owned(),
            values: Values::Int64(vec![Some(1)]),
        };
        let mut data = of_rows(2);
        let side = SideTable::new(vec![column]).unwrap();
        data.tables.insert("packets".to_owned(), side);
        saved(place.path(), &[data]);
        let run = Run::open(place.path()).unwrap();
        let before = OPENED.get();
        run.data(&run.record().trials[0]).unwrap();
        assert_eq!(OPENED.get() - before, 2);
    }

    #[test]
    fn zeros_between_pages_and_footer_account_for_no_rows() {
        let place = tempfile::tempdir().unwrap();
        saved(place.path(), &[of_rows((1 << 21) + (1 << 20))]);
        let path = place.path().join(SAMPLES).join("00000.parquet");
        let content = std::fs::read(&path).unwrap();
        let end = content.len() - 8;
        let footer = u32::from_le_bytes(content[end..end + 4].try_into().unwrap());
        let (pages, footer) = content.split_at(end - footer as usize);
        assert!(pages.len() < 1 << 18);
        std::fs::write(&path, [pages, &[0; 1 << 20], footer].concat()).unwrap();
        let told = Run::open(place.path()).unwrap_err().to_string();
        assert!(told.contains("3145728 rows in"), "{told}");
    }

    #[test]
    fn what_all_footers_of_a_run_describe_is_bounded_together() {
        let mut chunks = Chunks::default();
        for file in ["a", "b", "a", "b"] {
            chunks.add(file, limits::CHUNKS / 2).unwrap();
        }
        let why = chunks.add("c", 1).unwrap_err().to_string();
        assert!(why.contains("describe 524289 row groups"), "{why}");
        assert!(chunks.add("c", 0).is_ok());
    }

    #[test]
    fn a_run_json_that_is_replaced_without_end_keeps_nobody_waiting() {
        for (changes, attempts) in [(0, 1), (1, 2), (5, 6), (u64::MAX, 20)] {
            let looks = Cell::new(0);
            let look = || {
                looks.set(looks.get() + 1);
                Some((looks.get().min(changes.saturating_add(1)), 0, 0))
            };
            let mut read = 0;
            settled(look, |_| read += 1);
            assert_eq!(read, attempts, "{changes}");
        }
    }
}
