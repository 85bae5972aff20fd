//! Standard output: all of it or an error.

use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Context;
use clap::Args;
use tompion_model::printable;

/// What goes to standard output.
#[derive(Args, Clone, Copy, Debug)]
pub struct OutputOptions {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Show no progress and no summary, only errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Prints `text`. That the reader has closed the pipe is its choice, and no
/// error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("standard output"),
    }
}

/// A path as it is shown: who sends a directory gives it its name.
pub fn place(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// Prints `value` as JSON.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}
