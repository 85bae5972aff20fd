//! Options of `tompion advise`.

use std::time::Duration;

use clap::Args;
use tompion_load::LoadSpec;

use super::values::{Nanoseconds, duration, nanoseconds, seed};
use crate::output::OutputOptions;

/// Try remedies one at a time on this machine, and measure what each does.
///
/// Each is switched on and off in randomised pairs of trials, and its effect on wake-up
/// latency or read cost is tested. Only runtime settings change; each is put back after
/// its trial, also after Ctrl-C, and after a kill by --restore.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion advise                     what this process alone can change
  sudo tompion advise --system       settings of the whole machine, too
  tompion advise --dry-run           what would be tried, and what that touches
  tompion advise --only timer-slack,sched-fifo --duration 10s
  tompion advise --load cpu --json   under CPU load, as JSON
  sudo tompion advise --restore      put back what a killed run has left

Exit status: 0 done, whatever was found; 1 error; 130 interrupted: everything is put back,
and what was measured is printed.")]
pub struct AdviseOptions {
    /// Change settings of the whole machine, too, each for fractions of a second at a
    /// time; without it a terminal is asked, and otherwise they are left out
    #[arg(long, conflicts_with = "restore")]
    pub system: bool,

    /// Print what would be tried, and change and measure nothing
    #[arg(long, conflicts_with = "restore")]
    pub dry_run: bool,

    /// Restore what a killed run has left changed, and do nothing else
    #[arg(long)]
    pub restore: bool,

    /// Remedies to try, comma-separated; `clocksource` stands for all of them
    /// [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Time for all trials together
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration, default_value = "90s")]
    pub duration: Duration,

    /// Distance of the wake-ups that are measured
    #[arg(short, long, value_name = "TIME", value_parser = nanoseconds, default_value = "500us")]
    pub target: Nanoseconds,

    /// Load during all trials; see `tompion list`
    #[arg(long, value_name = "LOAD", default_value = "idle")]
    pub load: LoadSpec,

    /// Seed of the random order [default: from the clock]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,

    /// What to print.
    #[command(flatten)]
    pub output: OutputOptions,
}
