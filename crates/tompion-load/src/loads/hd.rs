//! `hd`: files written, synced and unlinked, within a budget.
//!
//! The tool stress, which Whiteaker 2011 used, writes and unlinks without a limit. This one
//! keeps a budget.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tompion_model::Unavailable;

use super::files::{BLOCK_BYTES, MOST_FILE_BYTES, in_memory_note, nameless_file, used_up};
use crate::headroom::check_disk;
use crate::job::{Budget, Job, Plan};
use crate::load::{Load, Parse, Work, Writes};
use crate::spec::Size;

pub(super) static ENTRY: Load = Load {
    name: "hd",
    about: "files written, synced and unlinked; cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[], |_| Ok(Arc::new(Hd))),
};

#[derive(Debug)]
struct Hd;

impl Work for Hd {
    fn writes(&self) -> Writes {
        Writes::Here
    }

    fn plan(&self, budget: Budget) -> Result<Plan, Unavailable> {
        plan(budget)
    }
}

/// Files written, synced and unlinked.
fn plan(budget: Budget) -> Result<Plan, Unavailable> {
    let bytes = budget.operation_bytes(BLOCK_BYTES, MOST_FILE_BYTES)?;
    check_disk(Path::new("."), bytes)?;
    // The first file shows whether the directory can be written to.
    nameless_file().map_err(Unavailable::refused("could not make a file"))?;
    let mut pace = budget.pace(bytes);
    let note = in_memory_note();
    let operation = format!("file of {} written, synced and unlinked{note}", Size(bytes));
    let job: Job = Box::new(move |counter, gate| {
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
