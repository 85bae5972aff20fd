//! Options of `tompion tap`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values;
use crate::output::OutputOptions;

/// Capture test packets as they pass a network device, until interrupted.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion tap --device eth1 --write tap.pcapng
  tompion tap --device eth1 --write tap.pcapng --host 192.0.2.7 --duration 1m
  tompion tap --device vif1.0 --write - --count 100 | tshark -r -

A further vantage point for round trips, here or on any machine on their path.
Captures STAMP test packets and ICMP echo both ways, with the kernel's stamps in
nanoseconds: of each frame the first 256 bytes, which are its headers and what
packets are known again by. It takes root, or CAP_NET_RAW.

Exit status:
  0    captured: until interrupted, or as many or as long as was asked for
  1    error, for example that the device was removed; what came before is kept
  130  interrupted before --count or --duration was reached; likewise")]
pub struct TapOptions {
    /// Network device
    #[arg(short = 'i', long, value_name = "NAME")]
    pub device: String,

    /// File to write, as pcapng; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    pub write: PathBuf,

    /// End after so many packets
    #[arg(short, long, value_name = "N", value_parser = values::packets)]
    pub count: Option<u64>,

    /// End after this time
    #[arg(short, long, value_name = "TIME", value_parser = values::duration)]
    pub duration: Option<Duration>,

    /// Capture only packets to or from this host; may be given more than once
    #[arg(long, value_name = "HOST")]
    pub host: Vec<String>,

    /// UDP port of the reflector, either way
    #[arg(short, long, value_name = "PORT", default_value_t = 862, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,

    /// Capture ICMP echo alone
    #[arg(long, conflicts_with = "port")]
    pub icmp: bool,

    #[command(flatten)]
    pub output: OutputOptions,
}
