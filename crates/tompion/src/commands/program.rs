//! `tompion measure stalls --pid`: a running program, watched.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tompion_run::watch_program;

use super::progress::WatchLine;
use crate::cli::RunOptions;
use crate::exit;
use crate::output::{print, print_json, terminal_width};

/// Watched this long unless told otherwise.
const DURATION: Duration = Duration::from_secs(10);

/// Watches process `pid` and tells what held it up.
pub fn watch(pid: i32, options: &RunOptions) -> exit::Result {
    let stop = crate::stop::on_signals()?;
    let duration = options.duration.unwrap_or(DURATION);
    let progress = WatchLine::new(pid, duration, options.output.quiet);
    let found = watch_program(pid, duration, &stop, |elapsed| progress.show(elapsed));
    progress.clear();
    let found = found?;
    if options.output.json {
        print_json(&found)?;
    } else if !options.output.quiet {
        print(&tompion_report::program_text(&found, terminal_width()))?;
    }
    Ok(if stop.load(Ordering::Relaxed) {
        exit::INTERRUPTED
    } else {
        0
    })
}
