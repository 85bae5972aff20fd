//! Options of `tompion check`.

use std::path::PathBuf;

use clap::Args;
use tompion_model::InCheck;
use tompion_probe::wake_up;
use tompion_run::probes::Slack;

use super::RunOptions;
use super::run::with_default;
use super::values::{
    MethodName, Nanoseconds, method_names, nanoseconds, offering, profile_names, samples,
};

/// What to measure; defaults take a minute and a quarter.
#[derive(Args, Debug)]
#[command(
    after_help = "\
Examples:
  tompion check
  tompion check --quick --out /tmp/quick
  tompion check --loads idle,cpu,io --targets 100us,1ms,10ms --duration 4m
  tompion check --methods usleep,tompion-hybrid --loads idle,stress-ng:cpu=4
  tompion check --policy fifo:50 --cpu 1
  tompion check --require audio-48k-64:remedy --require voip && echo fit
  tompion check --profiles ours.toml --require drum-machine
  tompion check --json > check.json
  tompion check --quiet && tompion report --format verdict-json > verdict.json

A file for --profiles has a [[profile]] for each use:
  [[profile]]
  name = 'drum-machine'
  title = 'our drum machine'
  quantile = 0.999      # of wake-up latency
  period = '2ms'        # the sleep target nearest to it is judged
  limit = '250us'
  [[profile]]
  name = 'voip'         # a built-in one; what else stands here replaces its own

Exit status:
  0    done; all --require profiles passed
  1    error
  2    a --require profile failed
  3    none failed, but one is inconclusive, near its limit or not measured
  130  interrupted; results so far are kept and reported",
    mut_arg("targets", |arg| with_default(arg, &usual_targets())),
    mut_arg("loads", |arg| with_default(arg, &CheckOptions::usual_loads().join(","))),
    mut_arg("duration", |arg| with_default(arg, "70s; 17s with --quick; 80s with --all")),
    mut_arg("blocks", |arg| with_default(arg, "6; 8 with --all"))
)]
pub struct CheckOptions {
    /// A first look in at most 20 s: few samples, 4 s of stalls
    #[arg(long)]
    pub quick: bool,

    /// Measure every clock, sleep and timer mechanism at 100us and 1ms, not only what the verdicts take; takes
    /// longer [default with --methods, --targets, --slack, --samples and --wake-samples]
    #[arg(long)]
    pub all: bool,

    /// Read-cost and wake-up methods to measure, comma-separated; see `tompion list`. If
    /// given, only these are measured, and the timer-events and stalls probes are left out
    /// [default: those that the verdicts take; all with --all]
    #[arg(
        long,
        value_name = "METHOD",
        value_delimiter = ',',
        value_parser = offering::<MethodName>(method_names),
        hide_possible_values = true
    )]
    pub methods: Vec<MethodName>,

    /// Requested sleep times, comma-separated; those given are measured with every selected
    /// wake-up method
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = nanoseconds)]
    pub targets: Vec<Nanoseconds>,

    /// Timer slack values to measure with, comma-separated: a time, or `default` for the slack
    /// that Tompion was started with. Slack affects the kernel's sleeps, ppoll and epoll under
    /// SCHED_OTHER, but not timerfd or tompion-hybrid
    /// [default: default,1ns]
    #[arg(long, value_name = "SLACK", value_delimiter = ',')]
    pub slack: Vec<Slack>,

    /// Read-cost samples per method when idle, over all blocks; a tenth as many under each
    /// load [default: 1000000; 200000 with --quick]
    #[arg(long, value_name = "N", value_parser = samples)]
    pub samples: Option<String>,

    /// Maximum number of wake-up samples per cell (one combination of method, target, slack
    /// and load), over all blocks
    /// [default: 100000]
    #[arg(long, value_name = "N", value_parser = samples)]
    pub wake_samples: Option<String>,

    /// Require this application profile (see `tompion list`) as it is, or with a remedy as
    /// PROFILE:remedy: exit with 2 if it fails, 3 if it is inconclusive; may be repeated
    #[arg(
        long,
        value_name = "PROFILE",
        value_parser = offering::<String>(profile_names),
        hide_possible_values = true
    )]
    pub require: Vec<String>,

    /// Print the whole report, not only the answer on one screen
    #[arg(long)]
    pub verbose: bool,

    /// Judge by the profiles in this TOML file instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    pub profiles: Option<PathBuf>,

    /// Where, beside what, how long.
    #[command(flatten)]
    pub run: RunOptions,
}

impl CheckOptions {
    /// The loads under which a check measures unless told otherwise, by name.
    pub fn usual_loads() -> Vec<&'static str> {
        let checked = tompion_load::loads().filter(|load| load.in_check);
        checked.map(|load| load.name).collect()
    }
}

/// The targets with the methods measured at each, for the help.
fn usual_targets() -> String {
    let closely = |m: &wake_up::Method| m.row().in_check >= InCheck::EveryTarget;
    let closely = wake_up::Method::all().filter(closely);
    let closely: Vec<String> = closely.map(|m| m.to_string()).collect();
    format!(
        "the period of each use; with --all or named methods 100us, and 1ms with {}; only 100us with --quick too",
        closely.join(", ")
    )
}
