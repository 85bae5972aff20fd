//! Options of `tompion load`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tompion_load::LoadSpec;

use super::values::{bytes, cpu, duration};
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

Loads that write files are paced to stay within --write-limit for the whole time; without
--for they end after an hour.

Exit status: 0 done; 1 error; 130 interrupted before its time was over.")]
pub struct LoadOptions {
    /// The load; several joined by + run together; see `tompion list`
    #[arg(value_name = "LOAD")]
    pub load: LoadSpec,

    /// How long it runs [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,

    /// Where the load puts its files
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,

    /// Most that the load may write to files, such as 500M
    /// [default: 2 MB a second; at least 64 MB with disk-read]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub write_limit: Option<u64>,

    /// The CPU that cpus=measured, cpus=others and irq=measured speak of
    #[arg(long, value_name = "CPU", value_parser = cpu)]
    pub cpu: Option<u32>,

    /// What to print.
    #[command(flatten)]
    pub output: OutputOptions,
}
