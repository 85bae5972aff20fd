//! Options of `tompion watch`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tompion_load::LoadList;
use tompion_probe::{Policy, wake_up};

use super::values::{Nanoseconds, cpu, duration, nanoseconds};

/// Watch wake-up latency, stalls, steal and the clock live, and keep what was measured.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion watch
  tompion watch --loads idle,cpu,io --methods usleep,tompion-hybrid --targets 1ms
  tompion watch --cpu 1 --policy fifo:50 --out /tmp/watched --for 10m
  tompion watch --plain --for 10s

Keys: l load, m method, t target, c CPU (with Shift backwards), p pause, r reset, ? help,
q quit. It needs a terminal of 80x24; NO_COLOR is heeded. The first load, method and
target named are those that it begins with.

Exit status: 0 ended by q or --for; 1 error; 130 interrupted (what was measured is kept).")]
pub struct WatchOptions {
    /// Directory for the run; must be absent or empty
    /// [default: tompion-run-DATE-TIME, with -2, -3, ... where that exists]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Loads to switch among, comma-separated; see `tompion list`
    #[arg(
        long,
        visible_alias = "load",
        value_name = "LOAD",
        default_value = "idle,cpu,network"
    )]
    pub loads: LoadList,

    /// Wake-up methods to switch among, comma-separated; see `tompion list`
    /// [default: all, beginning with clock-nanosleep-abs]
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    pub methods: Vec<wake_up::Method>,

    /// Sleep targets to switch among, comma-separated, of 250ms at most
    #[arg(long, value_name = "TIME", value_delimiter = ',', default_value = "100us,1ms,10ms", value_parser = nanoseconds)]
    pub targets: Vec<Nanoseconds>,

    /// Begin with the measuring thread pinned to this CPU [default: free]
    #[arg(long, value_name = "CPU", value_parser = cpu)]
    pub cpu: Option<u32>,

    /// Scheduling policy of the measuring thread: other, fifo:1..99, rr:1..99
    #[arg(short, long, value_name = "POLICY", default_value = "other")]
    pub policy: Policy,

    /// End after this long
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub time: Duration,

    /// Print a line for each slice instead of drawing; needs no terminal
    #[arg(long)]
    pub plain: bool,

    /// Where loads put their files [default: the run's directory]
    #[arg(long, value_name = "DIR")]
    pub load_dir: Option<PathBuf>,
}
