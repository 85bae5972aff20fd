//! `nfs`: files on an NFS mount of the user's, within a budget.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use tompion_model::{InvalidValue, Unavailable};

use nix::sys::statfs::{NFS_SUPER_MAGIC, statfs};

use super::files::{BLOCK_BYTES, MOST_FILE_BYTES, file_name, used_up};
use crate::headroom::check_disk;
use crate::job::{Budget, Job, Plan};
use crate::load::{Load, Parse, Work, Writes};
use crate::peer::files;
use crate::spec::{Opt, Size, Text};

pub(super) static ENTRY: Load = Load {
    name: "nfs",
    about: "files written, synced and read back on an NFS mount of yours; dir=MOUNTPOINT, cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[DIR], |options| {
        let dir = options
            .value(DIR.0, parse_dir)?
            .ok_or("nfs needs the directory of an NFS mount: nfs:dir=MOUNTPOINT")?;
        Ok(Arc::new(Nfs { dir }))
    }),
};

const DIR: Opt = ("dir", "dir=MOUNTPOINT");

#[derive(Debug)]
struct Nfs {
    dir: String,
}

impl Work for Nfs {
    fn describe(&self, text: &mut Text) {
        text.option(DIR.0, Some(&self.dir));
    }

    fn writes(&self) -> Writes {
        Writes::Elsewhere
    }

    fn plan(&self, budget: Budget) -> Result<Plan, Unavailable> {
        plan(&self.dir, budget)
    }
}

/// A path without the characters that part loads and their options.
fn parse_dir(text: &str) -> Result<String, InvalidValue> {
    match text.starts_with('/') && !text.contains([':', '+', ',', '=']) {
        true => Ok(text.to_owned()),
        false => Err(format!("dir={text} should be an absolute path without : + , and =").into()),
    }
}

/// Files written, synced and read back on an NFS mount of the user's.
fn plan(dir: &str, budget: Budget) -> Result<Plan, Unavailable> {
    let directory = Path::new(dir);
    let kind = statfs(directory)
        .map_err(|e| Unavailable::refused(format!("could not look at {dir}"))(e))?;
    if kind.filesystem_type() != NFS_SUPER_MAGIC {
        return Err(format!(
            "{dir} is not on an NFS mount; mount one there, or use the load file-server"
        )
        .into());
    }
    let bytes = budget.operation_bytes(BLOCK_BYTES, MOST_FILE_BYTES)?;
    check_disk(directory, bytes)?;
    let path = directory.join(file_name(std::process::id()));
    let made = move || files::nameless_file(&path);
    made().map_err(|e| Unavailable::refused(format!("could not make a file in {dir}"))(e))?;
    let mut pace = budget.pace(bytes);
    let job: Job = Box::new(move |counter, gate| {
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
