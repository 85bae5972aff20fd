//! Options of `tompion load`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tompion_load::LoadSpec;

use super::values::{bytes, cpu, duration, load_names, offering};
use crate::output::OutputOptions;

/// Run a load by itself, and report what it did.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion load cpu --for 30s
  tompion load cpu:level=25:cpus=0,2-3       (until Ctrl-C)
  tompion load cpu:threads=4+network --for 1m --json
  tompion load disk-read:irq=1 --dir /var/tmp --for 10s
  tompion load udp:rate=10M:peer=192.0.2.7:5210 --for 10s

Loads that keep writing files are paced so that --write-limit lasts for the
whole time; without --for they end after an hour.

Exit status:
  0    done
  1    error
  130  interrupted before the time given with --for was over")]
pub struct LoadOptions {
    /// The load; several joined by + run together; see `tompion list`
    #[arg(
        value_name = "LOAD",
        value_parser = offering::<LoadSpec>(load_names),
        hide_possible_values = true
    )]
    pub load: LoadSpec,

    /// How long to run [default: until Ctrl-C; an hour for loads that keep writing files]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,

    /// Directory for the load's files
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,

    /// Maximum that the load may write to files, such as 500M
    /// [default: 2 MB for each second; at least 64 MB with disk-read]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub write_limit: Option<u64>,

    /// The CPU that cpus=measured, cpus=others and irq=measured refer to
    #[arg(long, value_name = "CPU", value_parser = cpu)]
    pub cpu: Option<u32>,

    /// What to print.
    #[command(flatten)]
    pub output: OutputOptions,
}
