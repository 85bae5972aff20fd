//! Options of `tompion advise`.

use std::time::Duration;
use tompion_model::AT_REST;

use clap::Args;
use tompion_load::LoadSpec;

use super::values::{
    Nanoseconds, duration, load_names, nanoseconds, offering, profile_names, seed,
};
use crate::output::OutputOptions;

/// Try remedies one at a time on this machine, and measure what each does.
///
/// Each is switched on and off in randomised pairs of trials, and its effect on wake-up
/// latency or read cost is tested. Only runtime settings change; each is restored after
/// its trial and after Ctrl-C, and what a kill left behind by --restore.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion advise                    try remedies within Tompion's own processes,
                                    and ask before trying system settings
  sudo tompion advise --system      also system-wide settings
  tompion advise --dry-run          what each remedy would change
  tompion advise --only timer-slack,sched-fifo --duration 10s
  tompion advise --load cpu --json  under CPU load, as JSON
  tompion advise --use game-128hz   at the period and the quantile of a use
  sudo tompion advise --restore     undo what a killed run left changed

Each remedy is switched on and off in randomised pairs of trials, and its
effect on wake-up latency or read cost is tested. Only runtime settings are
changed. Each is restored after its trial, and also after Ctrl-C; after a
SIGKILL, run `tompion advise --restore`.

Exit status:
  0    done, whatever the results
  1    error
  130  interrupted; all settings are restored, and results so far are printed")]
pub struct AdviseOptions {
    /// Also try system-wide settings, each changed for a fraction of a second at a time
    /// and then restored. Without --system, Tompion asks before trying them (and skips them if
    /// there is no terminal); the other remedies change only Tompion's own processes
    #[arg(long, conflicts_with = "restore")]
    pub system: bool,

    /// Print what would be tried, without changing or measuring anything
    #[arg(long, conflicts_with = "restore")]
    pub dry_run: bool,

    /// Undo settings that a killed run left changed, then exit
    #[arg(long)]
    pub restore: bool,

    /// Remedies to try, comma-separated; `clocksource` selects every available
    /// clocksource. --dry-run lists the names [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Total time for all trials
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration, default_value = "90s")]
    pub duration: Duration,

    /// Interval between the measured wake-ups (the sleep target), at most 100ms
    #[arg(short, long, value_name = "TIME", value_parser = nanoseconds, default_value = "500us")]
    pub target: Nanoseconds,

    /// The use to try remedies for: its period is the interval, and remedies are judged by its
    /// quantile; see `tompion list` [default: p99, that of most uses]
    #[arg(
        long = "use",
        value_name = "PROFILE",
        conflicts_with = "target",
        value_parser = offering::<String>(profile_names),
        hide_possible_values = true
    )]
    pub for_use: Option<String>,

    /// Load during all trials; see `tompion list`
    #[arg(
        long,
        value_name = "LOAD",
        default_value = AT_REST,
        value_parser = offering::<LoadSpec>(load_names),
        hide_possible_values = true
    )]
    pub load: LoadSpec,

    /// Seed for the random order of trials [default: from the clock]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,

    /// What to print.
    #[command(flatten)]
    pub output: OutputOptions,
}
