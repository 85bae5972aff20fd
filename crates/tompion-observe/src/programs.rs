//! Who else uses the CPUs: the CPU time of all programs that are seen, read before and after a
//! trial.
//!
//! A look reads `/proc/PID/stat` of every process and the first line of `/proc/stat`: some 14 us
//! a process, on the controlling thread, before the first and after the last time stamp of a
//! trial. Where there are so many processes that looking would take more than 2 % of the time,
//! trials are left without.
//!
//! # What it does not see
//! Programs outside this PID namespace, and those that `/proc` hides (`hidepid`). Of what begins
//! and ends between two looks only what its parent waited for, under the parent's name. A tick
//! of `/proc` (10 ms) more or less of each process.

mod look;
mod used;

use std::time::{Duration, Instant};

use tompion_model::CpuUse;

use look::Look;

/// Looks at the machine's programs before and after something.
#[derive(Debug)]
pub struct Programs {
    began: Instant,
    /// Time that looks have taken.
    spent: Duration,
    /// What the last one took.
    cost: Duration,
    last: Option<(Instant, Look)>,
}

/// A look so fresh stands for another one.
const FRESH: Duration = Duration::from_millis(10);
/// Looks may take this part of the time.
const SHARE: u32 = 50;
/// And so much more, so that the first trials have some.
const GRACE: Duration = Duration::from_millis(100);

impl Programs {
    /// Nothing is read yet.
    #[allow(
        clippy::new_without_default,
        reason = "what it may spend counts from now"
    )]
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
            spent: Duration::ZERO,
            cost: Duration::ZERO,
            last: None,
        }
    }

    /// Looks, where that does not take too much of the time.
    pub fn begin(&mut self) {
        let is_fresh = |(at, _): &(Instant, Look)| at.elapsed() < FRESH;
        if self.last.as_ref().is_some_and(is_fresh) {
            return;
        }
        let allowed = GRACE + self.began.elapsed() / SHARE;
        // There is one more to come.
        self.last = match self.spent + 2 * self.cost <= allowed {
            true => self.look(),
            false => None,
        };
    }

    /// Looks again: who used the CPUs since [`begin`](Self::begin). Nothing where that did not
    /// look.
    pub fn end(&mut self) -> Option<CpuUse> {
        let (_, before) = self.last.take()?;
        self.last = self.look();
        let (_, after) = self.last.as_ref()?;
        Some(used::used(&before, after))
    }

    fn look(&mut self) -> Option<(Instant, Look)> {
        let before = Instant::now();
        let look = Look::now();
        self.cost = before.elapsed();
        self.spent += self.cost;
        Some((Instant::now(), look?))
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command};

    use super::*;

    /// A busy loop by a shell of this name, ended with the test however that ends.
    struct Hog {
        pid: String,
        child: Option<Child>,
    }

    impl Hog {
        /// A child of the test.
        fn own(directory: &Path, name: &str) -> Self {
            let child = Command::new(shell(directory, name)).args(BUSY).spawn();
            let child = child.unwrap();
            Self {
                pid: child.id().to_string(),
                child: Some(child),
            }
        }

        /// Nobody's child here: the shell in between ends at once.
        fn stranger(directory: &Path, name: &str) -> Self {
            let shell = shell(directory, name);
            let [option, busy] = BUSY;
            let script = format!(
                "{} {option} '{busy}' >/dev/null 2>&1 & echo $!",
                shell.display()
            );
            let told = Command::new("sh").args(["-c", &script]).output().unwrap();
            Self {
                pid: String::from_utf8(told.stdout).unwrap().trim().to_owned(),
                child: None,
            }
        }
    }

    impl Drop for Hog {
        fn drop(&mut self) {
            let _ = Command::new("kill").arg(&self.pid).status();
            let _ = self.child.as_mut().map(Child::wait);
        }
    }

    const BUSY: [&str; 2] = ["-c", "while :; do :; done"];

    fn shell(directory: &Path, name: &str) -> PathBuf {
        let shell = directory.join(name);
        std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
        shell
    }

    #[test]
    fn own_children_are_left_out_and_strangers_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let _own = Hog::own(directory.path(), "hogofours");
        let _other = Hog::stranger(directory.path(), "hogofothers");
        // On a busy machine others take more.
        let look = || {
            let mut look = Look::now().unwrap();
            let own = look.own;
            let is_of_test = |id: &i32, p: &mut look::Process| *id == own || is_hog(p);
            look.processes.retain(is_of_test);
            look
        };
        let before = look();
        let began = Instant::now();
        let of = |all: &CpuUse, name: &str| {
            let named = all.most.iter().find(|p| p.name == name);
            named.map_or(0, |p| p.cpu_time_ns)
        };
        let mut found = CpuUse::default();
        while of(&found, "hogofothers") < 100_000_000 {
            assert!(began.elapsed() < Duration::from_secs(60), "{found:?}");
            std::thread::sleep(Duration::from_millis(200));
            found = used::used(&before, &look());
        }
        assert_eq!(found.most.len(), 1, "{found:?}");
        assert_eq!(found.programs_ns, of(&found, "hogofothers"));
        assert!(found.watched_ns >= 200_000_000 && found.cpus > 0);
    }

    fn is_hog(process: &look::Process) -> bool {
        process.name.starts_with("hogof")
    }

    #[test]
    fn a_look_after_the_first_tells_of_the_time_between() {
        let mut programs = Programs::new();
        programs.begin();
        std::thread::sleep(Duration::from_millis(30));
        let found = programs.end().unwrap();
        assert!(found.watched_ns >= 30_000_000 && found.cpus > 0);
        assert!(found.most.len() <= CpuUse::MOST);
    }

    #[test]
    fn a_look_that_is_too_dear_is_left_out() {
        let mut programs = Programs::new();
        programs.begin();
        assert!(programs.end().is_some());
        // As on a machine of very many processes.
        programs.last = None;
        programs.cost = Duration::from_secs(3600);
        programs.begin();
        assert!(programs.last.is_none());
        assert_eq!(programs.end(), None);
    }
}
