//! Stalls as an HdrHistogram interval log.

use std::path::Path;

use anyhow::Context;
use tompion_store::{Run, try_whole, write_whole};

/// Refuses a file that could not be written later.
pub fn try_place(file: &Path) -> anyhow::Result<()> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    anyhow::ensure!(
        directory.is_dir(),
        "{}: no such directory; --hlog takes a file in an existing one",
        directory.display()
    );
    anyhow::ensure!(
        !file.is_dir(),
        "{}: a directory; --hlog takes a file",
        file.display()
    );
    try_whole(file).context("--hlog")
}

/// Writes the log of a run.
pub fn write(run: &Run, file: &Path) -> anyhow::Result<()> {
    let log = tompion_report::interval_log(run).with_context(|| format!("{}", file.display()))?;
    Ok(write_whole(file, &log)?)
}
