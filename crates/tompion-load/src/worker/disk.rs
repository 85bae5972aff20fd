//! `io`, `hd` and `nfs`: writes that reach the disk, within a budget.
//!
//! Whiteaker 2011 used the tool stress, whose I/O load calls sync() and so also
//! flushes everybody else's files, and whose HD load writes and unlinks without
//! a limit. These two sync only what they wrote, and keep a budget.
//!
//! Files go straight into the working directory and lose their name before the
//! first byte is written, so that not even SIGKILL leaves data or a directory
//! behind: at worst one empty file, if it strikes between open and unlink.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::sys::statfs::{NFS_SUPER_MAGIC, TMPFS_MAGIC, statfs};

use super::Plan;
use super::pace::Budget;
use crate::headroom::check_disk;
use crate::peer::files;
use crate::spec::Size;

/// What `io` writes at a time, and the unit of what `hd` writes.
pub const BLOCK_BYTES: u64 = 4096;
/// Largest file of `hd`.
pub const MOST_FILE_BYTES: u64 = 1 << 20;

/// The one name that a worker process gives its files, one after the other; its
/// parent removes what is left under it.
pub(crate) fn file_name(worker: u32) -> String {
    format!(".tompion-load-{worker}")
}

/// One block of one file, rewritten and synced.
pub fn plan_io(budget: Budget) -> Result<Plan, String> {
    let bytes = budget.operation_bytes(BLOCK_BYTES, BLOCK_BYTES)?;
    check_disk(Path::new("."), bytes)?;
    let mut pace = budget.pace(bytes);
    let file = nameless_file().map_err(|e| format!("could not make its file: {e}"))?;
    let operation = format!("{} written and synced{}", Size(bytes), in_memory_note());
    let job: super::Job = Box::new(move |counter, gate| {
        let mut block = vec![0_u8; bytes as usize];
        gate.pass();
        while pace.wait() {
            // New content each time, or a clever store could skip it.
            block[0] = block[0].wrapping_add(1);
            let written = file.write_all_at(&block, 0).and_then(|()| file.sync_data());
            if let Err(e) = written {
                return format!("could not write and sync: {e}");
            }
            counter.add(1);
            counter.add_bytes(bytes);
        }
        used_up(budget)
    });
    Ok(Plan::new(operation, vec![job]))
}

/// Files written, synced and unlinked.
pub fn plan_hd(budget: Budget) -> Result<Plan, String> {
    let bytes = budget.operation_bytes(BLOCK_BYTES, MOST_FILE_BYTES)?;
    check_disk(Path::new("."), bytes)?;
    // The first file shows whether the directory can be written to.
    nameless_file().map_err(|e| format!("could not make a file: {e}"))?;
    let mut pace = budget.pace(bytes);
    let note = in_memory_note();
    let operation = format!("file of {} written, synced and unlinked{note}", Size(bytes));
    let job: super::Job = Box::new(move |counter, gate| {
        let content = vec![0xa5; bytes as usize];
        gate.pass();
        while pace.wait() {
            let written = nameless_file().and_then(|mut file| {
                file.write_all(&content)?;
                file.sync_data()
            });
            if let Err(e) = written {
                return format!("could not write a file: {e}");
            }
            counter.add(1);
            counter.add_bytes(bytes);
        }
        used_up(budget)
    });
    Ok(Plan::new(operation, vec![job]))
}

/// Files written, synced and read back on an NFS mount of the user's.
pub fn plan_nfs(dir: &str, budget: Budget) -> Result<Plan, String> {
    let directory = Path::new(dir);
    let kind = statfs(directory).map_err(|e| format!("could not look at {dir}: {e}"))?;
    if kind.filesystem_type() != NFS_SUPER_MAGIC {
        return Err(format!(
            "{dir} is not on an NFS mount; mount one there, or use the load file-server"
        ));
    }
    let bytes = budget.operation_bytes(BLOCK_BYTES, MOST_FILE_BYTES)?;
    check_disk(directory, bytes)?;
    let path = directory.join(file_name(std::process::id()));
    let made = move || files::nameless_file(&path);
    made().map_err(|e| format!("could not make a file in {dir}: {e}"))?;
    let mut pace = budget.pace(bytes);
    let job: super::Job = Box::new(move |counter, gate| {
        let content = vec![0xa5; bytes as usize];
        let mut back = vec![0; bytes as usize];
        gate.pass();
        while pace.wait() {
            let moved = made().and_then(|file| {
                file.write_all_at(&content, 0)?;
                file.sync_all()?;
                file.read_exact_at(&mut back, 0)
            });
            if let Err(e) = moved {
                return format!("could not write, sync and read a file: {e}");
            }
            counter.add(1);
            counter.add_bytes(2 * bytes);
        }
        used_up(budget)
    });
    let operation = format!("file of {} written, synced and read over NFS", Size(bytes));
    Ok(Plan::new(operation, vec![job]))
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
