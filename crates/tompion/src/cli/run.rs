//! Options of every command that measures: where, beside what, how long.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tompion_load::LoadList;
use tompion_probe::Policy;
use tompion_run::Observe;

use super::values::{blocks, cpu, duration, seed};
use crate::output::OutputOptions;

/// Where, beside what, how long.
#[derive(Args, Debug)]
pub struct RunOptions {
    /// Directory for the run and its report; must be absent or empty
    /// [default: tompion-run-DATE-TIME, with -2, -3, ... where that exists]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Loads to run during the measurement, comma-separated; see `tompion list`
    /// [default: idle,cpu,network in `check`; idle in `measure`]
    #[arg(long, visible_alias = "load", value_name = "LOAD")]
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

    /// What is watched meanwhile, to mark the samples that something disturbed: off;
    /// counters of the machine; turns: what keeps the measuring thread from running,
    /// too (root); threads: all its switches instead; cpus: all that happens on its
    /// CPUs (root); auto: turns where permitted, else counters for sleeps and
    /// threads for other probes. Several, comma-separated, are compared
    #[arg(
        long,
        value_name = "WHAT",
        value_delimiter = ',',
        default_value = "auto"
    )]
    pub observe: Vec<Observe>,

    /// Pin the measuring thread to this CPU
    #[arg(long, value_name = "CPU", value_parser = cpu)]
    pub cpu: Option<u32>,

    /// Time for all measurements together [default: 80s in `check`, 18s with --quick; in `measure` what it takes, 10s for stalls]
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,

    /// Passes over all cells in random order; a verdict needs 6
    /// [default: 8 in `check`, 6 with --quick; 6 in `measure`, 1 for stalls]
    #[arg(long, value_name = "N", value_parser = blocks)]
    pub blocks: Option<u32>,

    /// Seed of the random order [default: from the clock]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,

    /// Where loads put their files [default: the run's directory]
    #[arg(long, value_name = "DIR")]
    pub load_dir: Option<PathBuf>,

    /// What to print.
    #[command(flatten)]
    pub output: OutputOptions,
}
