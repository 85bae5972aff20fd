//! Options of `tompion check`.

use clap::Args;
use tompion_run::probes::Slack;

use super::RunOptions;
use super::values::{MethodName, Nanoseconds, ProfileName, nanoseconds, samples};

/// What to measure; defaults take a minute and a half.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion check
  tompion check --quick --out /tmp/quick
  tompion check --loads idle,cpu,io --targets 100us,1ms,10ms --duration 5m
  tompion check --methods usleep,tompion-hybrid --loads idle,stress-ng:cpu=4
  tompion check --policy fifo:50 --cpu 1
  tompion check --require audio-48k-64 --require voip && echo fit
  tompion check --json > check.json

Exit status: 0 done; 1 error; 2 a --require profile failed; 3 a --require profile is
inconclusive; 130 interrupted (what was measured is kept and reported).")]
pub struct CheckOptions {
    /// A first look in at most 30 s: loads idle and cpu, target 100us, 6 blocks
    #[arg(long)]
    pub quick: bool,

    /// Methods, comma-separated, of both probes; see `tompion list`
    /// [default: all]
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    pub methods: Vec<MethodName>,

    /// Sleep targets, comma-separated, each with every wake-up method
    /// [default: 100us with all, 1ms with four]
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = nanoseconds)]
    pub targets: Vec<Nanoseconds>,

    /// Timer slacks, comma-separated: `default` or a time; for sleeps and ppoll (it does
    /// not act on timerfd) under SCHED_OTHER
    #[arg(
        long,
        value_name = "SLACK",
        value_delimiter = ',',
        default_value = "default,1ns"
    )]
    pub slack: Vec<Slack>,

    /// Read-cost samples of each method at rest; a tenth under load
    /// [default: 1000000; 200000 with --quick]
    #[arg(long, value_name = "N", value_parser = samples)]
    pub samples: Option<String>,

    /// Most wake-up samples of each cell
    #[arg(long, value_name = "N", default_value = "100000", value_parser = samples)]
    pub wake_samples: String,

    /// Fail with status 2 unless this profile passes; may be given again
    #[arg(long, value_name = "PROFILE")]
    pub require: Vec<ProfileName>,

    /// Where, beside what, how long.
    #[command(flatten)]
    pub run: RunOptions,
}
