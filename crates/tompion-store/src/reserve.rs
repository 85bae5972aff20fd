//! Space kept free for the end of a run.

use std::fs::File;

use rustix::fs::{FallocateFlags, fallocate};

use super::directory::Directory;

/// What a full disk must still take: `run.json` and the report of a long run.
const BYTES: u64 = 8 << 20;

/// A nameless file that holds space on the run's disk. It vanishes with its
/// process, however that ends.
#[derive(Debug)]
pub(super) struct Reserve(Option<File>);

impl Reserve {
    /// Sets space aside where the file system can, without writing to it.
    pub(super) fn take(directory: &Directory) -> Self {
        let held = directory.nameless().ok();
        Self(held.filter(|f| fallocate(f, FallocateFlags::empty(), 0, BYTES).is_ok()))
    }

    /// Gives it back.
    pub(super) fn release(&mut self) {
        self.0 = None;
    }
}
