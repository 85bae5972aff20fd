//! Who else uses the CPUs: the CPU time of all programs that are seen, read before and after a
//! trial.
//!
//! A look reads `/proc/PID/stat` of every process and the first line of `/proc/stat`: some 15 us
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
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Ended with the test, however that ends.
    struct Hog(String);

    impl Drop for Hog {
        fn drop(&mut self) {
            let _ = Command::new("kill").arg(&self.0).status();
        }
    }

    /// A busy loop by a shell of this name; started so that it is nobody's child here, or as a
    /// child of the test.
    fn hog(directory: &Path, name: &str, is_own: bool) -> Hog {
        let shell = directory.join(name);
        std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
        let busy = ["-c", "while :; do :; done"];
        if is_own {
            let mut child = Command::new(shell).args(busy).spawn().unwrap();
            let id = child.id().to_string();
            // Waited for, so that nothing is left of it once it is killed.
            std::thread::spawn(move || child.wait());
            return Hog(id);
        }
        // The shell in between ends at once, and somebody else becomes the parent.
        let script = format!(
            "{} {} '{}' >&2 & echo $!",
            shell.display(),
            busy[0],
            busy[1]
        );
        let told = Command::new("sh").args(["-c", &script]).output().unwrap();
        Hog(String::from_utf8(told.stdout).unwrap().trim().to_owned())
    }

    #[test]
    fn own_children_are_left_out_and_strangers_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let _own = hog(directory.path(), "hogofours", true);
        let _other = hog(directory.path(), "hogofothers", false);
        let mut programs = Programs::new();
        programs.begin();
        let mut all = CpuUse::default();
        let began = Instant::now();
        let of = |all: &CpuUse, name: &str| {
            let named = all.most.iter().filter(|p| p.name == name);
            named.map(|p| p.cpu_time_ns).sum::<u64>()
        };
        // On a busy machine it gets its turn late.
        while of(&all, "hogofothers") < 100_000_000 {
            assert!(began.elapsed() < Duration::from_secs(60), "{all:?}");
            std::thread::sleep(Duration::from_millis(200));
            let found = programs.end();
            all.add(&found.expect("a look in 200 ms is not too much"));
        }
        assert!(all.programs_ns >= of(&all, "hogofothers"));
        assert_eq!(of(&all, "hogofours"), 0, "{all:?}");
        assert!(all.watched_ns >= 200_000_000 && all.cpus > 0);
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
