//! `io`: one small block written and synced, within a budget.
//!
//! Whiteaker 2011 used the tool stress, whose I/O load calls sync() and so also
//! flushes everybody else's files. This one syncs only what it wrote, and keeps a budget.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use tompion_model::Unavailable;

use super::files::{BLOCK_BYTES, in_memory_note, nameless_file, used_up};
use crate::headroom::check_disk;
use crate::job::{Budget, Job, Plan};
use crate::load::{Load, Parse, Work, Writes};
use crate::spec::Size;

pub(super) static ENTRY: Load = Load {
    name: "io",
    about: "one small block written and synced, over and over; cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[], |_| Ok(Arc::new(Io))),
};

#[derive(Debug)]
struct Io;

impl Work for Io {
    fn writes(&self) -> Writes {
        Writes::Here
    }

    fn plan(&self, budget: Budget) -> Result<Plan, Unavailable> {
        plan(budget)
    }
}

/// One block of one file, rewritten and synced.
fn plan(budget: Budget) -> Result<Plan, Unavailable> {
    let bytes = budget.operation_bytes(BLOCK_BYTES, BLOCK_BYTES)?;
    check_disk(Path::new("."), bytes)?;
    let mut pace = budget.pace(bytes);
    let file = nameless_file().map_err(Unavailable::refused("could not make its file"))?;
    let operation = format!("{} written and synced{}", Size(bytes), in_memory_note());
    let job: Job = Box::new(move |counter, gate| {
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
