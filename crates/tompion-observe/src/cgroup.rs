//! Where a thread's control group counts how long it was throttled.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tompion_model::Unavailable;

use tompion_cgroup::{Groups, Throttled};

use crate::kept::Kept;

/// The groups above a thread that have a CPU quota.
#[derive(Debug)]
pub(crate) struct Throttling {
    files: Vec<Kept>,
}

impl Throttling {
    /// Opens the counters of each group with a quota, at present and as far as can
    /// be seen from here; without any, those of the thread's own group.
    ///
    /// # Errors
    /// In a few words: why no group tells.
    pub(crate) fn of(tid: i32) -> Result<Self, Unavailable> {
        let text = |path: String| fs::read_to_string(path).unwrap_or_default();
        let mounts = text("/proc/self/mountinfo".to_owned());
        let member = text(format!("/proc/{tid}/cgroup"));
        let groups = Groups::of("cpu", &mounts, &member);
        let counts = |group: &PathBuf| {
            let mut kept = Kept::new(File::open(group.join("cpu.stat")).ok()?);
            Throttled::read(kept.read()?).throttled_ns?;
            Some(kept)
        };
        let mut files = Vec::new();
        if let Some(groups) = &groups {
            let read = |path: &Path| fs::read_to_string(path).ok();
            let limited = groups.directories.iter();
            let limited = limited.filter(|group| groups.quota(group, read).is_some());
            files.extend(limited.filter_map(counts));
            if files.is_empty() {
                files.extend(groups.directories.iter().find_map(counts));
            }
        }
        if files.is_empty() {
            return Err("no control group with CPU counters is seen from here".into());
        }
        Ok(Self { files })
    }

    /// How long those groups stood still so far, all their CPUs added.
    pub(crate) fn throttled_ns(&mut self) -> Option<u64> {
        self.files.iter_mut().try_fold(0, |sum, f| {
            Some(sum + Throttled::read(f.read()?).throttled_ns?)
        })
    }
}
