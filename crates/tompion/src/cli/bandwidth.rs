//! Options of `tompion bandwidth`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use tompion_bandwidth::Timers;
use tompion_model::parse_bits_per_second;
use tompion_path::bandwidth::MethodEntry;
use tompion_path::model::CrossPattern;

use super::family::FamilyOptions;
use super::values;
use crate::output::OutputOptions;

/// Estimate how much more a path could carry, without filling it.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  tompion bandwidth 192.0.2.7
  tompion bandwidth 192.0.2.7 --count 10 --json
  tompion bandwidth 192.0.2.7 --method yaz --timers system
  tompion bandwidth 192.0.2.7 --size 9000 --max-bytes 12M
  tompion bandwidth simulate --rate 100G --cross 40G

On the other machine, first:
  tompion reflect --listen 0.0.0.0:862

Sends short trains of STAMP test packets (RFC 8762) that want no reply, and asks the
far end when they arrived. Another reflector has to answer each packet, and to stamp
well. Rates are those of IP packets, headers of IP counted (RFC 5136).

An estimate ends by a number with its interval, or by what the path or a host is:
host-limited, receiver-limited, path too variable, shaped, policed, fair queue.

Exit status:
  0    every estimate has ended by one of these
  1    error, for example no reply, or a budget too small for an answer
  130  interrupted; what was estimated is shown"
)]
pub struct BandwidthOptions {
    /// Name or address of the other machine
    #[arg(value_name = "HOST", required = true)]
    pub host: Option<String>,

    #[command(subcommand)]
    pub command: Option<BandwidthCommand>,

    /// UDP port of the reflector
    #[arg(short, long, value_name = "PORT", default_value_t = 862, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,

    #[command(flatten)]
    pub family: FamilyOptions,

    /// How to estimate: tompion, yaz, yaz-small-gaps, kite2 or chirp
    #[arg(long, value_name = "METHOD", default_value = "tompion", value_parser = values::bandwidth_method)]
    pub method: &'static MethodEntry,

    /// How to wait for the moment of sending
    #[arg(long, value_enum, default_value_t = TimersName::Precise)]
    pub timers: TimersName,

    /// Number of estimates
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,

    /// Time between the end of an estimate and the next one
    #[arg(short, long, value_name = "TIME", default_value = "100ms", value_parser = values::duration)]
    pub interval: Duration,

    /// Bytes of a packet as an IP packet, headers included
    #[arg(short, long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(128..=65_535))]
    pub size: u32,

    /// What an estimate may send, in bytes
    #[arg(long, value_name = "BYTES", default_value = "2M", value_parser = values::bytes)]
    pub max_bytes: u64,

    /// How long an estimate may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    pub max_time: Duration,

    /// Never send faster, in bits per second, such as 300M
    #[arg(long, value_name = "RATE", value_parser = parse_bits_per_second)]
    pub max_rate: Option<u64>,

    /// Authenticate with the key in this file
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputOptions,
}

/// What is done in place of a measurement.
#[derive(Subcommand, Debug)]
pub enum BandwidthCommand {
    /// Estimate over links in virtual time, whose truth is known
    Simulate(SimulateOptions),
}

/// Estimate over links in virtual time, whose truth is known, by hosts that take no time.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion bandwidth simulate --rate 100G --cross 40G
  tompion bandwidth simulate --rate 1G --cross 500M --pattern bursts:10 --count 100 --json
  tompion bandwidth simulate --rate 1G --rate 300M --cross 0 --cross 100M

Several --rate make a path of several links, each with the --cross of its place.")]
pub struct SimulateOptions {
    /// Rate of a link in bits per second of IP packets, such as 300M; may be given several times
    #[arg(long, value_name = "RATE", required = true, value_parser = parse_bits_per_second)]
    pub rate: Vec<u64>,

    /// What others send over it, in bits per second
    #[arg(long, value_name = "RATE", value_parser = values::bits_per_second_or_none)]
    pub cross: Vec<u64>,

    /// How others send: even, poisson or bursts:N
    #[arg(long, value_name = "PATTERN", default_value = "even", value_parser = values::cross_pattern)]
    pub pattern: CrossPattern,

    /// Bytes that may wait before a link
    #[arg(long, value_name = "BYTES", default_value = "2M", value_parser = values::bytes)]
    pub queue: u64,

    /// Rate of the sender's own device in bits per second
    #[arg(long, value_name = "RATE", default_value = "400G", value_parser = parse_bits_per_second)]
    pub device: u64,

    /// How to estimate: tompion, yaz, yaz-small-gaps, kite2 or chirp
    #[arg(long, value_name = "METHOD", default_value = "tompion", value_parser = values::bandwidth_method)]
    pub method: &'static MethodEntry,

    /// Bytes of a packet as an IP packet, headers included
    #[arg(short, long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(128..=65_535))]
    pub size: u32,

    /// What an estimate may send, in bytes
    #[arg(long, value_name = "BYTES", default_value = "2M", value_parser = values::bytes)]
    pub max_bytes: u64,

    /// Number of estimates, each over a path of its own
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: u32,

    /// Seed of what is random
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::seed)]
    pub seed: u64,

    #[command(flatten)]
    pub output: OutputOptions,
}

/// How it is waited for the moment of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimersName {
    /// Sleep until shortly before, then read the clock
    Precise,
    /// Sleep as programs do, with the thread's default slack
    System,
}

impl From<TimersName> for Timers {
    fn from(name: TimersName) -> Self {
        match name {
            TimersName::Precise => Self::Precise,
            TimersName::System => Self::System,
        }
    }
}
