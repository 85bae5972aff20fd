//! Options of `tompion measure`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tompion_probe::{read_cost, timer_events, wake_up};
use tompion_run::Slack;

use super::RunOptions;
use super::values::{CpuList, Nanoseconds, cpu_list, nanoseconds, pid, samples, slack};

/// Measure one thing closely, beside any loads, into a run directory with a report.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion measure read-cost
  tompion measure wake-up --loads idle,cpu --targets 100us,1ms
  tompion measure timer-events --periods 50us,100us --loads idle,cpu+network
  tompion measure stalls --cpus all --duration 1m --policy fifo:50
  tompion measure stalls --pid 1234 --duration 10s")]
pub struct MeasureOptions {
    /// What to measure.
    #[command(subcommand)]
    pub what: Measurement,
}

/// What can be measured.
#[derive(Subcommand, Debug)]
pub enum Measurement {
    /// What it costs to read a clock
    ReadCost(Box<ReadCostOptions>),
    /// How late a sleeping thread wakes up
    WakeUp(Box<WakeUpOptions>),
    /// How well periodic events keep their period (Adamczyk 2015)
    TimerEvents(Box<TimerEventsOptions>),
    /// How long a busy loop is stalled, and why (Perneel 2015)
    Stalls(Box<StallsOptions>),
}

/// What it costs to read a clock.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion measure read-cost
  tompion measure read-cost --methods rdtsc,clock-monotonic --loads idle,cpu --json")]
pub struct ReadCostOptions {
    /// Methods, comma-separated; see `tompion list` [default: all]
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    pub methods: Vec<read_cost::Method>,

    /// Samples of each method at rest; a tenth under load
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = samples)]
    pub samples: u64,

    /// Where, beside what, how long.
    #[command(flatten)]
    pub run: RunOptions,
}

/// How late a sleeping thread wakes up.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion measure wake-up
  tompion measure wake-up --methods usleep,tompion-hybrid --targets 1ms --loads idle,cpu
  tompion measure wake-up --policy other,fifo:50 --slack default --duration 2m")]
pub struct WakeUpOptions {
    /// Methods, comma-separated; see `tompion list` [default: all]
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    pub methods: Vec<wake_up::Method>,

    /// Sleep targets, comma-separated
    #[arg(long, value_name = "TIME", value_delimiter = ',', default_value = "100us,1ms,10ms", value_parser = nanoseconds)]
    pub targets: Vec<Nanoseconds>,

    /// Timer slacks, comma-separated: `default` or a time; for sleeps and ppoll (it does
    /// not act on timerfd) under SCHED_OTHER
    #[arg(long, value_name = "SLACK", value_delimiter = ',', default_value = "default,1ns", value_parser = slack)]
    pub slack: Vec<Slack>,

    /// Most samples of each cell
    // Reports name the option as `check` has it.
    #[arg(long, visible_alias = "wake-samples", value_name = "N", default_value_t = 100_000, value_parser = samples)]
    pub samples: u64,

    /// Where, beside what, how long.
    #[command(flatten)]
    pub run: RunOptions,
}

/// How well periodic events keep their period.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion measure timer-events
  tompion measure timer-events --methods timerfd,ticker --periods 100us --forms grid
  tompion measure timer-events --policy fifo:80 --loads idle,cpu,disk-read

For each mechanism and period: the mean interval with its 99 % interval, standard
deviation, missed periods, TIE, MTIE and TDEV against the ideal grid; and the smallest
period that each mechanism holds, by search.")]
pub struct TimerEventsOptions {
    /// Mechanisms, comma-separated; see `tompion list` [default: all there are]
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    pub methods: Vec<timer_events::Method>,

    /// `grid`: events at fixed times; `rearmed`: each a period after the last
    #[arg(
        long,
        value_name = "FORM",
        value_delimiter = ',',
        default_value = "grid,rearmed"
    )]
    pub forms: Vec<timer_events::Form>,

    /// Periods, comma-separated
    #[arg(
        short = 'i',
        long,
        visible_alias = "interval",
        value_name = "TIME",
        value_delimiter = ',',
        default_value = "10us,50us,100us,150us",
        value_parser = nanoseconds
    )]
    pub periods: Vec<Nanoseconds>,

    /// Events of each trial
    #[arg(long, value_name = "N", default_value_t = 4_500, value_parser = samples)]
    pub events: u64,

    /// Timer slacks, comma-separated: `default` or a time; for nanosleeps and epoll (it
    /// does not act on timers) under SCHED_OTHER
    #[arg(long, value_name = "SLACK", value_delimiter = ',', default_value = "1ns", value_parser = slack)]
    pub slack: Vec<Slack>,

    /// Do not search for the smallest period that each mechanism holds
    #[arg(long)]
    pub no_search: bool,

    /// Where, beside what, how long.
    #[command(flatten)]
    pub run: RunOptions,
}

/// How long a busy loop, or a program, is stalled, and why.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion measure stalls
  tompion measure stalls --cpus all --loads idle,cpu+network --duration 2m
  tompion measure stalls --policy fifo:50 --threshold 5us --hlog stalls.hlog
  tompion measure stalls --pid 1234 --duration 10s

Each stall gets its causes with the evidence for them. As root, with perf events, the
preempting thread and the interrupt are named; the report says what evidence it had.")]
pub struct StallsOptions {
    /// Measure on each of these CPUs: a list such as 0,2-3, or `all`
    /// [default: one loop, wherever the thread may run]
    #[arg(long, value_name = "CPUS", value_parser = cpu_list, conflicts_with = "cpu")]
    pub cpus: Option<CpuList>,

    /// Iterations longer than this are stalls
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = nanoseconds)]
    pub threshold: Nanoseconds,

    /// Write all intervals as an HdrHistogram interval log, too
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,

    /// Watch this running program instead: when it did not run though it wanted to,
    /// and why
    #[arg(long, value_name = "PID", value_parser = pid, conflicts_with_all = ["cpus", "hlog", "threshold", "out", "loads", "policy", "cpu", "blocks", "seed", "load_dir", "observe"])]
    pub pid: Option<i32>,

    /// Where, beside what, how long.
    #[command(flatten)]
    pub run: RunOptions,
}
