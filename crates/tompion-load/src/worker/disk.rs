//! `io` and `hd`: writes that reach the disk, within a budget.
//!
//! Whiteaker 2011 used the tool stress, whose I/O load calls sync() and so also
//! flushes everybody else's files, and whose HD load writes and unlinks without
//! a limit. These two sync only what they wrote, and keep a budget.
//!
//! Files go straight into the working directory and lose their name before the
//! first byte is written, so that not even SIGKILL leaves data or a directory
//! behind: at worst one empty file, if it strikes between open and unlink.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::Plan;
use super::pace::Budget;
use crate::headroom::check_disk;
use crate::spec::Size;

/// What `io` writes at a time, and the unit of what `hd` writes.
const BLOCK_BYTES: u64 = 4096;
/// Largest file of `hd`.
const MOST_FILE_BYTES: u64 = 1 << 20;

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
    Ok(Plan {
        operation: format!("{} written and synced{}", Size(bytes), in_memory_note()),
        jobs: vec![Box::new(move |counter, gate| {
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
            }
            used_up(budget)
        })],
    })
}

/// Files written, synced and unlinked.
pub fn plan_hd(budget: Budget) -> Result<Plan, String> {
    let bytes = budget.operation_bytes(BLOCK_BYTES, MOST_FILE_BYTES)?;
    check_disk(Path::new("."), bytes)?;
    // The first file shows whether the directory can be written to.
    nameless_file().map_err(|e| format!("could not make a file: {e}"))?;
    let mut pace = budget.pace(bytes);
    Ok(Plan {
        operation: format!(
            "file of {} written, synced and unlinked{}",
            Size(bytes),
            in_memory_note()
        ),
        jobs: vec![Box::new(move |counter, gate| {
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
            }
            used_up(budget)
        })],
    })
}

fn used_up(budget: Budget) -> String {
    format!(
        "its write budget of {} bytes is used up; it was planned to run for {:.1} s",
        budget.bytes,
        budget.time.as_secs_f64()
    )
}

/// A new file in the working directory that has lost its name already.
fn nameless_file() -> io::Result<File> {
    let name = file_name(std::process::id());
    // Never through an existing file or link that somebody put there.
    let open = || {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&name)
    };
    let file = match open() {
        // Left by a killed worker that had the same process id.
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(&name)?;
            open()?
        }
        other => other?,
    };
    fs::remove_file(&name)?;
    Ok(file)
}

/// Says so where syncing writes to no disk.
fn in_memory_note() -> &'static str {
    use nix::sys::statfs::{TMPFS_MAGIC, statfs};
    match statfs(".") {
        Ok(stat) if stat.filesystem_type() == TMPFS_MAGIC => " on tmpfs, which is no disk",
        _ => "",
    }
}
