//! The places of a lab at work, and its journal.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::held::Held;
use super::home::{Home, home};
use super::{
    JOURNAL, Made, Owner, PREFIX, base, boot_id, cgroups, read_journal, remove_directory, run,
    trust,
};
use crate::Error;

/// The places of a lab at work. Everything in them goes when this is dropped.
#[derive(Debug)]
pub struct Workspace {
    directory: PathBuf,
    home: Home,
    stem: String,
    /// Whether its journal names something that is still there.
    left_elsewhere: AtomicBool,
    _held: Option<Held>,
}

impl Workspace {
    /// Makes them: one under [`base`], one beside the samples in `out`, which lies on
    /// a disk and not in memory; in another place where that is not safe.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn create(out: &Path) -> Result<Self, Error> {
        Self::create_below(&base(), out)
    }

    /// The same with its journal below another directory, where nobody looks for what dead
    /// labs left.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn create_below(base: &Path, out: &Path) -> Result<Self, Error> {
        let owner = Owner::this().map_err(Error::io("this process"))?;
        Self::create_for(&owner, base, out, |directory| {
            let held = Held::make(directory);
            held.map(Some)
                .map_err(Error::io(directory.display().to_string()))
        })
    }

    /// The same for any owner, whose directory `hold` makes and holds.
    pub(super) fn create_for(
        owner: &Owner,
        base: &Path,
        out: &Path,
        hold: impl FnOnce(&Path) -> Result<Option<Held>, Error>,
    ) -> Result<Self, Error> {
        let private = |path: &Path| {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(Error::io(path.display().to_string()))
        };
        private(base)?;
        trust(base)?;
        let stem = owner.stem();
        let directory = base.join(&stem);
        let held = hold(&directory)?;
        let workspace = Self {
            directory,
            home: home(out, &stem).map_err(Error::io(out.display().to_string()))?,
            stem,
            left_elsewhere: AtomicBool::new(false),
            _held: held,
        };
        workspace.write(&serde_json::to_string(owner).expect("plain"))?;
        workspace.note(&Made::Directory(workspace.scratch().to_path_buf()))?;
        private(workspace.scratch())?;
        Ok(workspace)
    }

    /// A place on a disk: that of the run as a rule.
    pub fn scratch(&self) -> &Path {
        &self.home.path
    }

    /// Where that place is and why, if it is not in the run's directory: a sentence.
    pub fn aside(&self) -> Option<&str> {
        self.home.aside.as_deref()
    }

    /// A place for what must vanish with a reboot.
    pub fn volatile(&self) -> &Path {
        &self.directory
    }

    /// A name that no other lab has, for the instance `number`.
    pub fn id(&self, number: usize) -> String {
        format!("{PREFIX}-{}-{number}", self.stem)
    }

    /// A name for what this lab makes on other machines, where labs of any machine may
    /// be at work.
    pub fn name_elsewhere(&self) -> String {
        let boot = boot_id();
        let boot = boot.split('-').next().unwrap_or_default();
        format!("{PREFIX}-{}-{boot}", self.stem)
    }

    /// Removes all that was made, and tells what could not be removed: that is left to `lab
    /// clean`.
    pub fn leave(&self) -> Vec<String> {
        let mut left = self.leave_elsewhere();
        left.extend(self.leave_here());
        left
    }

    fn leave_here(&self) -> Vec<String> {
        let groups = format!("{PREFIX}-{}-", self.stem);
        let mut left = Vec::new();
        if !cgroups::remove(&groups) {
            left.push(format!("control groups {groups}... are left"));
        }
        let mut remove = |path: &Path| {
            let problem = remove_directory(path).err();
            left.extend(problem.map(|e| format!("directory {} is left: {e}", path.display())));
            left.is_empty()
        };
        // The journal goes last, and only when there is nothing left to know.
        if remove(self.scratch()) && !self.left_elsewhere.load(Ordering::Relaxed) {
            remove(&self.directory);
        }
        left
    }

    /// What was made on other machines.
    pub(super) fn leave_elsewhere(&self) -> Vec<String> {
        let (_, made) = read_journal(&self.directory);
        let problem = |made: Made| match made {
            Made::Elsewhere { what, remove } => {
                let why = run(&remove).err()?;
                Some(format!("{what} is left: {why}"))
            }
            Made::Directory(_) | Made::Container { .. } => None,
        };
        let problems: Vec<String> = made.into_iter().filter_map(problem).collect();
        self.left_elsewhere
            .store(!problems.is_empty(), Ordering::Relaxed);
        problems
    }

    /// Writes down what is about to be made.
    pub fn note(&self, made: &Made) -> Result<(), Error> {
        if matches!(made, Made::Elsewhere { .. }) {
            self.left_elsewhere.store(true, Ordering::Relaxed);
        }
        self.write(&serde_json::to_string(made).expect("plain"))
    }

    fn write(&self, line: &str) -> Result<(), Error> {
        let path = self.directory.join(JOURNAL);
        let append = || -> io::Result<()> {
            let mut file = File::options().create(true).append(true).open(&path)?;
            let end = file.metadata()?.len();
            let written = file.write_all(format!("{line}\n").as_bytes());
            // Half a line would spoil the next one.
            written
                .and_then(|()| file.sync_data())
                .inspect_err(|_| drop(file.set_len(end)))
        };
        append().map_err(Error::io(path.display().to_string()))
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // Nothing, as a rule, after `leave`; what is left all the same is found by `lab clean`.
        self.leave_here();
    }
}
