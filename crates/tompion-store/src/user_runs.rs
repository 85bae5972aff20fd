//! Where runs go that nobody names a place for, and which are there.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::turn::Turn;
use tompion_host::remove_tree;

use crate::{Error, Result};

/// What the directory of a run is called while it is being removed.
const REMOVED: &str = ".removed-";

/// Beginning of a directory that a lab at work has in its run's, where others may be mounted.
const SCRATCH: &str = "scratch-";

/// How deep in a run's directory files are counted: its own are the first level. A lab at work keeps those of its
/// instances in directories of a directory there.
const DEPTH: u32 = 4;

/// The user's directory for runs: `tompion/runs` in his state directory by the XDG Base Directory
/// Specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRuns {
    path: PathBuf,
}

impl UserRuns {
    /// By the environment: below `XDG_STATE_HOME`, else below `.local/state` in the home directory.
    ///
    /// # Errors
    /// [`Error::NoPlace`] where neither is known.
    pub fn find() -> Result<Self> {
        let state = std::env::var_os("XDG_STATE_HOME");
        Self::below(state, std::env::home_dir()).ok_or(Error::NoPlace)
    }

    fn below(state: Option<OsString>, home: Option<PathBuf>) -> Option<Self> {
        // What is no absolute path is to be ignored, says the specification.
        let state = state.map(PathBuf::from).filter(|path| path.is_absolute());
        let home = home.filter(|path| path.is_absolute());
        let state = state.or_else(|| home.map(|home| home.join(".local/state")))?;
        Some(Self {
            path: state.join("tompion/runs"),
        })
    }

    /// This directory in its place.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory, and those above it, for the user alone, where they are not there.
    ///
    /// # Errors
    /// [`Error::NotOwn`], and whatever the system refuses.
    pub fn make(&self) -> Result<()> {
        if fs::symlink_metadata(&self.path).is_err() {
            self.require_own_so_far()?;
        }
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        let made = builder.create(&self.path);
        made.map_err(Error::io(&self.path, "creating"))?;
        self.require_own(&Directory::open(&self.path)?)
    }

    /// The same of what is there of its path, before anything is made through it.
    fn require_own_so_far(&self) -> Result<()> {
        let is_there = |path: &&Path| fs::symlink_metadata(path).is_ok();
        let there = self.path.ancestors().find(is_there);
        match there.map(tompion_host::others_on_the_way) {
            // Where it leads nowhere, making it says so.
            None | Some(Ok(None) | Err(_)) => Ok(()),
            Some(Ok(Some(why))) => Err(Error::NotOwn {
                path: self.path.clone(),
                why,
            }),
        }
    }

    /// Refuses a directory of another user, and for root one where somebody else can have its path lead elsewhere: what is
    /// made and removed there goes by names.
    fn require_own(&self, directory: &Directory) -> Result<()> {
        directory.require_own()?;
        let others = tompion_host::others_on_the_way(&self.path);
        match others.map_err(Error::io(&self.path, "looking at"))? {
            None => Ok(()),
            Some(why) => Err(Error::NotOwn {
                path: self.path.clone(),
                why,
            }),
        }
    }

    /// Directories of runs, the newest first. There are none where the directory itself is not
    /// there.
    ///
    /// # Errors
    /// [`Error::NotOwn`], and whatever the system refuses.
    pub fn list(&self) -> Result<Vec<PathBuf>> {
        let directory = match Directory::open(&self.path) {
            Err(e) if e.is_absence() => return Ok(Vec::new()),
            opened => opened?,
        };
        // Others may have put anything there.
        self.require_own(&directory)?;
        let names = directory.names();
        let names = names.map_err(Error::io(&self.path, "reading"))?;
        let mut found: Vec<(Age, String)> = names
            .into_iter()
            .filter_map(|name| Some((age(&name)?, name)))
            .collect();
        found.sort_by(|a, b| b.cmp(a));
        let is_directory = |path: &PathBuf| {
            fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_dir())
        };
        let paths = found.into_iter().map(|(_, name)| self.path.join(name));
        Ok(paths.filter(is_directory).collect())
    }

    /// The newest run that was begun there, for 1; that before it, for 2; and so on.
    ///
    /// # Errors
    /// [`Error::NoSuchRun`], and as [`UserRuns::list`].
    pub fn recent(&self, number: usize) -> Result<PathBuf> {
        let all = self.list()?;
        let path = number.checked_sub(1).and_then(|at| all.get(at).cloned());
        path.ok_or_else(|| Error::NoSuchRun {
            path: self.path.clone(),
            number,
            there: all.len(),
        })
    }

    /// Removes a run that [`UserRuns::list`] has named.
    ///
    /// # Errors
    /// [`Error::Taken`] while somebody writes it, [`Error::Invalid`] for what is none of these or
    /// where a lab that was killed has left something, and whatever the system refuses.
    pub fn remove(&self, run: &Path) -> Result<()> {
        let name = run.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| age(name).is_some() && run == self.path.join(name));
        let name = name.ok_or_else(|| Error::invalid(run, "is no run in the user's directory"))?;
        let directory = Directory::open(&self.path)?;
        self.require_own(&directory)?;
        let opened = directory
            .within(name)
            .and_then(|found| found.ok_or(io::ErrorKind::NotFound.into()))
            .map_err(Error::io(run, "opening"))?;
        let _turn = Turn::begin(&opened)?;
        if opened.has_any(|name| name.starts_with(SCRATCH)) {
            let why =
                "a lab that was killed has left things there; `tompion lab clean` removes them";
            return Err(Error::invalid(run, why));
        }
        // Whoever looks meanwhile sees a whole run or none.
        let away = self.path.join(format!("{REMOVED}{name}"));
        fs::rename(run, &away).map_err(Error::io(run, "removing"))?;
        remove_tree(&away).map_err(Error::io(&away, "removing"))
    }

    /// Whether a process writes a run just now.
    pub fn is_being_written(run: &Path) -> bool {
        Directory::open(run).is_ok_and(|opened| Turn::is_taken(&opened) == Some(true))
    }

    /// Removes what a process that was killed has left of runs that it was removing.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn remove_leftovers(&self) -> Result<()> {
        let directory = match Directory::open(&self.path) {
            Err(e) if e.is_absence() => return Ok(()),
            opened => opened?,
        };
        self.require_own(&directory)?;
        let names = directory.names();
        for name in names.map_err(Error::io(&self.path, "reading"))? {
            // Nothing else is called so by us.
            if name
                .strip_prefix(REMOVED)
                .is_some_and(|run| age(run).is_some())
            {
                let left = self.path.join(name);
                remove_tree(&left).map_err(Error::io(&left, "removing"))?;
            }
        }
        Ok(())
    }
}

/// When a run began, as its name says: the second, and which one in it.
type Age = (String, u32);

/// Of `20261124-184653`, `20261124-184653-2`; `None` for other names.
fn age(name: &str) -> Option<Age> {
    let (second, number) = match name.get(15..) {
        Some("") => (name, 1),
        Some(rest) => (name.get(..15)?, later(rest.strip_prefix('-')?)?),
        None => return None,
    };
    let (day, time) = second.split_once('-')?;
    let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let is_second = day.len() == 8 && are_digits(day) && are_digits(time);
    is_second.then(|| (second.to_owned(), number))
}

/// The number of a run that was not the first of its second: from 2 on, as this program writes it.
fn later(number: &str) -> Option<u32> {
    let read: u32 = number.parse().ok()?;
    (read > 1 && number == read.to_string()).then_some(read)
}

/// Bytes of the files in a directory, and in three levels of directories below it; links are not followed.
pub fn bytes_of(directory: &Path) -> u64 {
    fn below(directory: &Path, depth: u32) -> u64 {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let of = |entry: fs::DirEntry| match entry.metadata() {
            Ok(found) if found.is_dir() && depth > 1 => below(&entry.path(), depth - 1),
            Ok(found) if found.is_file() => found.len(),
            _ => 0,
        };
        entries.map(of).fold(0, u64::saturating_add)
    }
    below(directory, DEPTH)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_directory_is_that_of_the_xdg_specification() {
        let below = |state: Option<&str>, home: Option<&str>| {
            let found = UserRuns::below(state.map(Into::into), home.map(Into::into));
            found.map(|runs| runs.path.to_string_lossy().into_owned())
        };
        let home = Some("/home/a");
        assert_eq!(below(Some("/s"), home).unwrap(), "/s/tompion/runs");
        let usual = "/home/a/.local/state/tompion/runs";
        for none in [None, Some(""), Some("relative/s")] {
            assert_eq!(below(none, home).unwrap(), usual);
        }
        assert_eq!(below(None, None), None);
        assert_eq!(below(None, Some("")), None);
    }

    fn runs_of(place: &Path, names: &[&str]) -> UserRuns {
        let runs = UserRuns::at(place.join("state/tompion/runs"));
        runs.make().unwrap();
        for name in names {
            fs::create_dir(runs.path.join(name)).unwrap();
            fs::write(runs.path.join(name).join("run.json"), "1234").unwrap();
        }
        runs
    }

    fn names(runs: &UserRuns) -> Vec<String> {
        let name = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        runs.list().unwrap().into_iter().map(name).collect()
    }

    #[test]
    fn runs_are_listed_from_the_newest_on_and_nothing_else_is() {
        let place = tempfile::tempdir().unwrap();
        assert!(
            UserRuns::at(place.path().join("none"))
                .list()
                .unwrap()
                .is_empty()
        );
        let runs = runs_of(
            place.path(),
            &[
                "20261124-184653",
                "20261124-184653-2",
                "20261124-184653-10",
                "20251124-235959",
            ],
        );
        let mode = fs::metadata(&runs.path).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        for other in [
            "mine",
            "20261124-18465",
            "20261124-184653-x",
            "20261124-184653-+5",
            "20261124-184653-02",
            "20261124-184653-0",
            "20261124-184653-1",
            ".removed-20261124-184653",
        ] {
            fs::create_dir(runs.path.join(other)).unwrap();
        }
        fs::write(runs.path.join("20261124-184654"), "").unwrap();
        symlink("mine", runs.path.join("20261124-184655")).unwrap();
        assert_eq!(
            names(&runs),
            [
                "20261124-184653-10",
                "20261124-184653-2",
                "20261124-184653",
                "20251124-235959"
            ]
        );
        assert_eq!(runs.recent(4).unwrap(), runs.path.join("20251124-235959"));
        let none = runs.recent(5).unwrap_err().to_string();
        assert!(
            none.contains("holds 4 runs") && none.contains("@5"),
            "{none}"
        );
        assert!(runs.recent(0).is_err());
        let others = fs::Permissions::from_mode(0o777);
        fs::set_permissions(&runs.path, others).unwrap();
        assert!(matches!(runs.list(), Err(Error::NotOwn { .. })));
    }

    /// As root whoever owns a directory above it could have the path lead elsewhere.
    #[test]
    fn a_directory_that_somebody_else_can_lead_elsewhere_is_refused() {
        use std::os::unix::fs::{chown, lchown};
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let runs = runs_of(place.path(), &["20261124-184653"]);
        let run = runs.path.join("20261124-184653");
        let refused = |runs: &UserRuns| {
            let all = [
                runs.make(),
                runs.list().map(drop),
                runs.remove(&runs.path.join("20261124-184653")),
                runs.remove_leftovers(),
            ];
            all.iter()
                .all(|done| matches!(done, Err(Error::NotOwn { .. })))
        };
        let above = place.path().join("state");
        for (owner, mode) in [(65_534, 0o755), (0, 0o777), (0, 0o770)] {
            chown(&above, Some(owner), None).unwrap();
            fs::set_permissions(&above, fs::Permissions::from_mode(mode)).unwrap();
            assert!(refused(&runs), "{owner} {mode:o}");
        }
        chown(&above, Some(0), None).unwrap();
        fs::set_permissions(&above, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(names(&runs), ["20261124-184653"]);
        // A link of another user's, in a directory of root's.
        fs::create_dir(place.path().join("tompion")).unwrap();
        let link = place.path().join("tompion/runs");
        symlink(&runs.path, &link).unwrap();
        assert_eq!(UserRuns::at(link.clone()).list().unwrap().len(), 1);
        lchown(&link, Some(65_534), None).unwrap();
        assert!(refused(&UserRuns::at(link)));
        assert!(run.exists());
        // Nothing is made through one, or in a directory of another user's, before it is refused.
        let (target, theirs) = (place.path().join("target"), place.path().join("theirs"));
        let link = theirs.join("state");
        fs::create_dir(&target).unwrap();
        fs::create_dir(&theirs).unwrap();
        symlink(&target, &link).unwrap();
        for path in [&theirs, &link] {
            lchown(path, Some(65_534), None).unwrap();
            let runs = UserRuns::at(path.join("tompion/runs"));
            assert!(matches!(runs.make(), Err(Error::NotOwn { .. })));
        }
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
    }

    #[test]
    fn files_are_counted_four_levels_deep() {
        let place = tempfile::tempdir().unwrap();
        let mut directory = place.path().to_owned();
        for level in 1..=5 {
            fs::write(directory.join("file"), "x").unwrap();
            assert_eq!(bytes_of(place.path()), level.min(u64::from(DEPTH)));
            directory.push("within");
            fs::create_dir(&directory).unwrap();
        }
    }

    #[test]
    fn a_run_is_removed_whole_and_nothing_that_it_links_to() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        let runs = runs_of(place.path(), &["20261124-184653", "20261124-184654"]);
        let run = runs.path.join("20261124-184653");
        symlink(&outside, run.join("link")).unwrap();
        assert_eq!(bytes_of(&run), 4);
        for other in [
            outside.clone(),
            run.join("run.json"),
            runs.path.join("../runs"),
        ] {
            assert!(runs.remove(&other).is_err(), "{other:?}");
        }
        let writer = Turn::begin(&Directory::open(&run).unwrap()).unwrap();
        assert!(matches!(runs.remove(&run), Err(Error::Taken { .. })));
        assert!(UserRuns::is_being_written(&run));
        drop(writer);
        assert!(!UserRuns::is_being_written(&run));
        fs::create_dir(run.join("scratch-1-2")).unwrap();
        let left = runs.remove(&run).unwrap_err().to_string();
        assert!(left.contains("lab clean"), "{left}");
        fs::remove_dir(run.join("scratch-1-2")).unwrap();
        runs.remove(&run).unwrap();
        assert!(outside.join("kept").exists());
        assert_eq!(names(&runs), ["20261124-184654"]);
        fs::create_dir(runs.path.join(".removed-20261124-184653")).unwrap();
        // What is somebody else's stays, and is in nobody's way.
        let other = OsString::from_vec(b".removed-\xff".to_vec());
        fs::create_dir(runs.path.join(other)).unwrap();
        fs::write(runs.path.join(".removed-mine"), "").unwrap();
        runs.remove_leftovers().unwrap();
        assert_eq!(fs::read_dir(&runs.path).unwrap().count(), 3);
    }
}
