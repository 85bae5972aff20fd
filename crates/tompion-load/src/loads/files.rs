//! What loads that write files share.
//!
//! Files go straight into the working directory and lose their name before the
//! first byte is written, so that not even SIGKILL leaves data or a directory
//! behind: at worst one empty file, if it strikes between open and unlink.

use std::fs::File;
use std::io;
use std::path::Path;

use nix::sys::statfs::{TMPFS_MAGIC, statfs};

use crate::job::Budget;
use crate::peer::files;

/// What `io` writes at a time, and the unit of what `hd` writes.
pub const BLOCK_BYTES: u64 = 4096;
/// Largest file of `hd`.
pub const MOST_FILE_BYTES: u64 = 1 << 20;

/// The one name that a worker process gives its files, one after the other; its
/// parent removes what is left under it.
pub(crate) fn file_name(worker: u32) -> String {
    format!(".tompion-load-{worker}")
}

pub fn used_up(budget: Budget) -> String {
    format!(
        "its write budget of {} bytes is used up; it was planned to run for {:.1} s",
        budget.bytes,
        budget.time.as_secs_f64()
    )
}

/// A new file in the working directory that has lost its name already.
pub fn nameless_file() -> io::Result<File> {
    files::nameless_file(Path::new(&file_name(std::process::id())))
}

/// Says so where syncing writes to no disk.
pub fn in_memory_note() -> &'static str {
    match statfs(".") {
        Ok(stat) if stat.filesystem_type() == TMPFS_MAGIC => " on tmpfs, which is no disk",
        _ => "",
    }
}
