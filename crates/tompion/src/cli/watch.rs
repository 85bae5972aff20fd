//! Options of `tompion watch`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tompion_load::LoadList;
use tompion_probe::{Policy, wake_up};

use super::values::{Nanoseconds, cpu, duration, load_names, nanoseconds, offering, wake_up_names};

/// Show wake-up latency, stalls, steal time and clock state live, and keep the results.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion watch
  tompion watch --loads idle,io --methods usleep,tompion-hybrid --targets 1ms
  tompion watch --cpu 1 --policy fifo:50 --out /tmp/watched --for 10m
  tompion watch --plain --for 10s

Keys:
  l, m, t, c   next load, method, target, CPU (with Shift: previous)
  p            pause, resume
  r            clear the display (recorded data is kept)
  ?            help
  q            quit

It starts with the first entry of each list. Without --plain it needs a
terminal of at least 80x24. Honours NO_COLOR. Everything measured is kept in a
run directory for `tompion report` and `tompion compare`.

Exit status:
  0    ended by q or --for
  1    error
  130  interrupted; results so far are kept")]
pub struct WatchOptions {
    /// Directory for the run; must not exist or must be empty
    /// [default: a new one in ~/.local/state/tompion/runs; `tompion runs` lists them]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Loads to cycle through with the l key, comma-separated; see `tompion list`
    #[arg(
        long,
        visible_alias = "load",
        value_name = "LOAD",
        default_value = "idle,cpu,network",
        value_parser = offering::<LoadList>(load_names),
        hide_possible_values = true
    )]
    pub loads: LoadList,

    /// Wake-up methods to cycle through with the m key, comma-separated; see
    /// `tompion list` [default: all, beginning with clock-nanosleep-abs]
    #[arg(
        long,
        value_name = "METHOD",
        value_delimiter = ',',
        value_parser = offering::<wake_up::Method>(wake_up_names),
        hide_possible_values = true
    )]
    pub methods: Vec<wake_up::Method>,

    /// Sleep targets to cycle through with the t key, comma-separated, each at most 250ms
    #[arg(long, value_name = "TIME", value_delimiter = ',', default_value = "100us,1ms,10ms", value_parser = nanoseconds)]
    pub targets: Vec<Nanoseconds>,

    /// Pin the measuring thread to this CPU at the start [default: not pinned]
    #[arg(long, value_name = "CPU", value_parser = cpu)]
    pub cpu: Option<u32>,

    /// Scheduling policy of the measuring thread: other, fifo:1..99, rr:1..99
    #[arg(short, long, value_name = "POLICY", default_value = "other")]
    pub policy: Policy,

    /// Stop after this time
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub time: Duration,

    /// Print one line per measurement (every quarter or half second) instead of the
    /// full-screen view; needs no terminal
    #[arg(long)]
    pub plain: bool,

    /// Directory for the loads' files [default: the run's directory]
    #[arg(long, value_name = "DIR")]
    pub load_dir: Option<PathBuf>,
}
