//! Which cells are done: one line each in the lab's directory, on the disk before the
//! next cell begins. What it needs to go on stands in the first line.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tompion_store::Directory;

use crate::{Error, LabCell, LabPlan};

/// Name of the file in the lab's directory.
pub const LEDGER: &str = "lab.jsonl";
const FORMAT: u32 = 1;
/// The longest that is read: a plan of 4 MiB, and a hundred thousand cells.
const MOST_BYTES: u64 = 64 << 20;

/// The lab as it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    format: u32,
    /// Text of the plan.
    pub plan: String,
    /// Seed of the order.
    pub seed: u64,
    /// Checksum of the program that measures; absent in labs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// A cell that was measured, or failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The replicate, from 0.
    pub replicate: u32,
    /// Number of the platform in the plan; so with the next three.
    pub platform: usize,
    /// The placement; absent in labs of older versions.
    #[serde(default)]
    pub placement: usize,
    /// The load.
    pub load: usize,
    /// The probe.
    pub probe: usize,
    /// The same in words.
    pub name: String,
    /// Trials in the lab's run from then on.
    pub trials: usize,
    /// How long it took.
    pub seconds: f64,
    /// Why it failed; absent where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// What its neighbours did meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// What its instances noted, and what it lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A neighbour while a cell was measured, from its start to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// Which it is and what it does.
    pub what: String,
    /// CPUs it was bound to; any where absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// Time that it saw go by.
    pub seconds: f64,
    /// CPU time that its load used in it.
    pub cpu_seconds: f64,
}

impl Entry {
    pub fn cell(&self) -> LabCell {
        LabCell {
            platform: self.platform,
            placement: self.placement,
            load: self.load,
            probe: self.probe,
        }
    }
}

/// The file, held by one lab at a time.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    file: File,
    pub head: Head,
    /// Of each replicate and cell the last word.
    entries: BTreeMap<(u32, LabCell), Entry>,
    trials: usize,
}

impl Ledger {
    /// Begins one in a directory that has none.
    pub fn create(
        directory: &Directory,
        plan: &str,
        seed: u64,
        program: Option<String>,
    ) -> Result<Self, Error> {
        let path = directory.path().join(LEDGER);
        let file = directory.append(LEDGER, true);
        let file = file.map_err(Error::io(path.display().to_string()))?;
        let mut ledger = Self {
            path,
            file,
            head: Head {
                format: FORMAT,
                plan: plan.to_owned(),
                seed,
                program,
            },
            entries: BTreeMap::new(),
            trials: 0,
        };
        lock(&ledger.file, &ledger.path)?;
        let line = serde_json::to_string(&ledger.head).expect("plain");
        ledger.write(&line)?;
        Ok(ledger)
    }

    /// Goes on with the one in `directory`; a last line that was cut off is taken back.
    pub fn open(directory: &Directory) -> Result<Self, Error> {
        let path = directory.path().join(LEDGER);
        let at = path.display().to_string();
        let mut file = match directory.append(LEDGER, false) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(no_lab(directory.path())),
            file => file.map_err(Error::io(&at))?,
        };
        // What another lab writes down meanwhile must not be missed.
        lock(&file, &path)?;
        let mut text = String::new();
        let read = (&mut file).take(MOST_BYTES + 1).read_to_string(&mut text);
        read.map_err(Error::io(&at))?;
        if text.len() as u64 > MOST_BYTES {
            let why = format!(
                "{at}: longer than {} MiB, which no lab writes",
                MOST_BYTES >> 20
            );
            return Err(Error::Request(why));
        }
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let damaged = |line: usize, why: &dyn std::fmt::Display| {
            let line = line + 1;
            Error::Request(format!(
                "{at}:{line}: not as the lab wrote it: {why}; the lab cannot go on; what it \
                 measured can be shown: tompion report {}",
                directory.path().display()
            ))
        };
        let mut lines = text[..whole].lines().enumerate();
        let head: Head = match lines.next() {
            Some((n, line)) => serde_json::from_str(line).map_err(|e| damaged(n, &e))?,
            None => return Err(damaged(0, &"it has no first line")),
        };
        if head.format != FORMAT {
            return Err(Error::Request(format!(
                "{at}: format {}, this program reads {FORMAT}; go on with the tompion that began it",
                head.format
            )));
        }
        let (mut entries, mut trials) = (BTreeMap::new(), 0);
        for (n, line) in lines {
            let entry: Entry = serde_json::from_str(line).map_err(|e| damaged(n, &e))?;
            trials = entry.trials;
            entries.insert((entry.replicate, entry.cell()), entry);
        }
        let ledger = Self {
            path,
            file,
            head,
            entries,
            trials,
        };
        if whole < text.len() {
            ledger.file.set_len(whole as u64).map_err(Error::io(at))?;
        }
        Ok(ledger)
    }

    /// Refuses lines about cells that a plan does not have.
    ///
    /// # Errors
    /// In one line.
    pub fn require_of(&self, plan: &LabPlan) -> Result<(), Error> {
        let has = |(replicate, cell): &(u32, LabCell)| {
            *replicate < plan.replicates
                && cell.platform < plan.platforms.len()
                && cell.placement < plan.placements.len()
                && cell.load < plan.loads.len()
                && cell.probe < plan.probes.len()
        };
        match self.entries.keys().all(has) {
            true => Ok(()),
            false => Err(Error::Request(format!(
                "{}: names a cell that its plan does not have; the lab cannot go on",
                self.path.display()
            ))),
        }
    }

    /// Writes down how a cell ended. That one failed is known for this sitting at least,
    /// whatever the disk holds: the next one measures it again in any case.
    ///
    /// # Errors
    /// Whatever the system refuses, for a cell that was measured.
    pub fn add(&mut self, entry: Entry) -> Result<(), Error> {
        let written = self.write(&serde_json::to_string(&entry).expect("plain"));
        if entry.failed.is_none() {
            written?;
        }
        self.trials = entry.trials;
        self.entries.insert((entry.replicate, entry.cell()), entry);
        Ok(())
    }

    fn write(&mut self, line: &str) -> Result<(), Error> {
        let end = self.file.seek(SeekFrom::End(0));
        let written = end.and_then(|end| {
            let line = format!("{line}\n");
            self.file
                .write_all(line.as_bytes())
                .and_then(|()| self.file.sync_data())
                // Half a line would make the next one unreadable.
                .inspect_err(|_| drop(self.file.set_len(end)))
        });
        written.map_err(Error::io(self.path.display().to_string()))
    }

    /// Trials that belong to finished cells.
    pub fn trials(&self) -> usize {
        self.trials
    }

    /// Whether a cell was measured; one that failed was not.
    pub fn is_done(&self, replicate: u32, cell: LabCell) -> bool {
        let entry = self.entries.get(&(replicate, cell));
        entry.is_some_and(|entry| entry.failed.is_none())
    }

    /// The last word on every cell.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }
}

/// Why a directory holds no lab to go on with.
pub(crate) fn no_lab(directory: &Path) -> Error {
    let at = directory.display();
    Error::Request(match directory.exists() && !directory.is_dir() {
        true => format!("{at} is no directory of a lab; a new lab is begun with a plan alone"),
        false => format!("{at} is no lab: it has no {LEDGER}"),
    })
}

/// Refuses a file that another lab holds.
fn lock(file: &File, path: &Path) -> Result<(), Error> {
    let at = path.display();
    file.try_lock().map_err(|e| match e {
        TryLockError::WouldBlock => Error::Request(format!("{at}: another lab is at work there")),
        TryLockError::Error(e) => Error::io(at.to_string())(e),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(replicate: u32, trials: usize, failed: Option<&str>) -> Entry {
        Entry {
            replicate,
            platform: 1,
            placement: 0,
            load: 0,
            probe: 0,
            name: "runc/idle/stalls".to_owned(),
            trials,
            seconds: 1.5,
            failed: failed.map(str::to_owned),
            beside: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_lab_goes_on_after_its_last_whole_line() {
        let d = tempfile::tempdir().unwrap();
        let lab = Directory::open(d.path()).unwrap();
        let mut ledger = Ledger::create(&lab, "the plan\n", 5, None).unwrap();
        ledger.add(entry(0, 2, None)).unwrap();
        ledger.add(entry(1, 2, Some("no"))).unwrap();
        ledger.add(entry(2, 4, None)).unwrap();
        drop(ledger);
        // Killed within its last line.
        let path = d.path().join(LEDGER);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 10]).unwrap();
        let mut ledger = Ledger::open(&lab).unwrap();
        let cell = entry(0, 0, None).cell();
        assert_eq!(
            (ledger.head.plan.as_str(), ledger.head.seed),
            ("the plan\n", 5)
        );
        assert_eq!(ledger.trials(), 2);
        let done: Vec<_> = (0..3).map(|r| ledger.is_done(r, cell)).collect();
        assert_eq!(done, [true, false, false]);
        // The second attempt has the last word.
        ledger.add(entry(1, 4, None)).unwrap();
        drop(ledger);
        let ledger = Ledger::open(&lab).unwrap();
        assert!(ledger.is_done(1, cell) && ledger.trials() == 4);
        assert_eq!(ledger.entries().count(), 2);
    }

    #[test]
    fn what_is_no_lab_or_a_busy_one_is_refused() {
        let d = tempfile::tempdir().unwrap();
        let lab = Directory::open(d.path()).unwrap();
        let error = Ledger::open(&lab).unwrap_err().to_string();
        assert!(error.contains("is no lab"), "{error}");
        let plan = d.path().join("plan.toml");
        std::fs::write(&plan, "replicates = 2").unwrap();
        let error = no_lab(&plan).to_string();
        assert!(error.contains("is no directory of a lab"), "{error}");
        let _held = Ledger::create(&lab, "", 1, None).unwrap();
        let error = Ledger::open(&lab).unwrap_err().to_string();
        assert!(error.contains("another lab is at work there"), "{error}");
        let other = tempfile::tempdir().unwrap();
        let elsewhere = Directory::open(other.path()).unwrap();
        std::fs::write(
            other.path().join(LEDGER),
            "{\"format\":9,\"plan\":\"\",\"seed\":1}\n",
        )
        .unwrap();
        let error = Ledger::open(&elsewhere).unwrap_err().to_string();
        assert!(error.contains("format 9, this program reads 1"), "{error}");
        std::fs::write(other.path().join(LEDGER), "{}\n").unwrap();
        let error = Ledger::open(&elsewhere).unwrap_err().to_string();
        assert!(
            error.contains("lab.jsonl:1: not as the lab wrote it"),
            "{error}"
        );
        assert!(error.contains("can be shown: tompion report /"), "{error}");
        // A hole takes no room on a disk.
        let file = File::options().write(true).open(other.path().join(LEDGER));
        file.unwrap().set_len(MOST_BYTES + 2).unwrap();
        let error = Ledger::open(&elsewhere).unwrap_err().to_string();
        assert!(error.contains("longer than 64 MiB"), "{error}");
    }

    #[test]
    fn a_cell_that_the_plan_does_not_have_is_refused() {
        let plan = "replicates = 2\n[[platforms]]\nkind = \"host\"\n[[probes]]\nkind = \"wake-up\"\n\
                    methods = [\"usleep\"]\ntargets = [\"1ms\"]\n";
        let plan = LabPlan::parse(plan).unwrap();
        let own = Entry {
            platform: 0,
            ..entry(1, 1, None)
        };
        let change = |change: fn(&mut Entry)| {
            let mut entry = own.clone();
            change(&mut entry);
            entry
        };
        for (line, fits) in [
            (own.clone(), true),
            (change(|e| e.replicate = 2), false),
            (change(|e| e.platform = 1), false),
            (change(|e| e.placement = usize::MAX), false),
            (change(|e| e.load = 7), false),
            (change(|e| e.probe = 1), false),
        ] {
            let d = tempfile::tempdir().unwrap();
            let lab = Directory::open(d.path()).unwrap();
            let mut ledger = Ledger::create(&lab, "", 5, None).unwrap();
            ledger.add(line.clone()).unwrap();
            drop(ledger);
            let found = Ledger::open(&lab).unwrap().require_of(&plan);
            assert_eq!(found.is_ok(), fits, "{line:?}");
            let told = found.map_or_else(|e| e.to_string(), |()| String::new());
            assert!(
                fits || told.contains("a cell that its plan does not have"),
                "{told}"
            );
        }
    }
}
