//! Options of every command that measures: where, beside what, how long.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args};
use tompion_load::LoadList;
use tompion_probe::Policy;
use tompion_run::Observe;

use super::values::{blocks, cpu, duration, load_names, offering, seed};
use crate::output::OutputOptions;

/// The help of `--observe`: a line for each value.
const OBSERVE: &str = "\
How to record interference during each trial (one measurement of a cell), so that the samples \
that it affects can be marked:
  off: not at all
  counters: system-wide counters, ten times a second
  turns: `counters`, plus the times at which the measuring thread is preempted, waits for its \
CPU, is stopped or takes a page fault (needs root, or CAP_PERFMON with access to tracefs)
  threads: `counters`, plus every context switch and page fault of the measuring thread (needs \
no privileges, but adds a microsecond or two to each sleep)
  cpus: `threads`, plus context switches, interrupts and softirqs of the CPUs that the thread \
may run on (same privileges as `turns`)
  auto: `turns` if permitted; otherwise `counters` for probes that sleep (`threads` would \
delay each sleep), and `threads` for others
Give several, comma-separated, to measure with each of them and compare";

/// Where, beside what, how long. What loads, time and blocks are by default, each command
/// adds to the help.
#[derive(Args, Debug)]
pub struct RunOptions {
    /// Directory for the run and its report; must not exist or must be empty
    /// [default: a new one in ~/.local/state/tompion/runs; `tompion runs` lists them]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Loads to measure under, one after another, comma-separated; `+` joins loads that run
    /// together (cpu+network); see `tompion list`
    #[arg(
        long,
        visible_alias = "load",
        value_name = "LOAD",
        value_parser = offering::<LoadList>(load_names),
        hide_possible_values = true
    )]
    pub loads: Vec<LoadList>,

    /// Scheduling policies of the measuring thread, comma-separated: other,
    /// fifo:1..99, rr:1..99
    #[arg(
        short,
        long,
        value_name = "POLICY",
        value_delimiter = ',',
        default_value = "other"
    )]
    pub policy: Vec<Policy>,

    /// How interference is recorded.
    #[arg(
        long,
        value_name = "WHAT",
        value_delimiter = ',',
        default_value = "auto",
        help = OBSERVE
    )]
    pub observe: Vec<Observe>,

    /// Pin the measuring thread to this CPU
    #[arg(long, value_name = "CPU", value_parser = cpu)]
    pub cpu: Option<u32>,

    /// Total measuring time, not counting setup and the report
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,

    /// Number of blocks: passes over all cells (combinations of method, load and other
    /// factors), each in a new random order; verdicts need at least 6
    #[arg(long, value_name = "N", value_parser = blocks)]
    pub blocks: Option<u32>,

    /// Seed for the random measurement order [default: from the clock]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,

    /// Directory for the loads' files [default: the run's directory]
    #[arg(long, value_name = "DIR")]
    pub load_dir: Option<PathBuf>,

    /// What to print.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Adds to the help of an option what a command does where it is not given.
pub(super) fn with_default(arg: Arg, usual: &str) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("{help} [default: {usual}]"))
}
