//! Options of `tompion ping`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tompion_load::LoadSpec;

use super::family::FamilyOptions;
use super::values;
use crate::output::OutputOptions;

/// Measure round trips to another machine, split by where the time goes.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion ping 192.0.2.7
  tompion ping 192.0.2.7 --interval 10ms --count 1000 --json
  tompion ping 192.0.2.7 --icmp
  tompion ping 192.0.2.7 --preset whiteaker
  tompion ping 192.0.2.7 --hardware-stamps eth0
  tompion ping 192.0.2.7 --tap
  tompion ping 192.0.2.7 --one-way --count 200
  tompion ping 192.0.2.7 --one-way --rest 10s --load cpu --count 200
  tompion ping 192.0.2.7 --clean 200
  tompion ping 192.0.2.7 192.0.2.8 192.0.2.9

Sends STAMP test packets (RFC 8762), which `tompion reflect`, routers and other
TWAMP-Light reflectors answer; with --icmp any host does. Each packet is stamped
by the program, as it enters its device's queue, and as the driver takes it; each
reply by the kernel and by the program.

Exit status:
  0    measured
  1    error, for example no reply
  130  interrupted; what was measured is shown")]
pub struct PingOptions {
    /// Names or addresses of other machines
    #[arg(required = true, value_name = "HOST")]
    pub hosts: Vec<String>,

    /// Send ICMP echo requests, which need no far end
    #[arg(long, conflicts_with_all = ["port", "key", "format"])]
    pub icmp: bool,

    /// UDP port of the reflector
    #[arg(short, long, value_name = "PORT", default_value_t = 862, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,

    #[command(flatten)]
    pub family: FamilyOptions,

    /// Number of probes [default: 20]
    #[arg(short, long, value_name = "N", value_parser = values::probes)]
    pub count: Option<u64>,

    /// Go on until so many probes were held up at neither end, or --count were sent
    /// [default: ten times as many]
    #[arg(long, value_name = "N", value_parser = values::probes, conflicts_with_all = ["user_stamps", "preset"])]
    pub clean: Option<u64>,

    /// Time between two probes
    #[arg(short, long, value_name = "TIME", default_value = "100ms", value_parser = values::duration)]
    pub interval: Duration,

    /// Send at random times, a Poisson process with the interval as its mean
    #[arg(long)]
    pub poisson: bool,

    /// Seed of those times [default: from the clock]
    #[arg(long, value_name = "N", requires = "poisson", value_parser = values::seed)]
    pub seed: Option<u64>,

    /// Bytes of a probe as an IP packet, headers included [default: as few as possible]
    #[arg(short, long, value_name = "BYTES")]
    pub size: Option<usize>,

    /// How long to wait for a reply
    #[arg(short = 'W', long, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    pub timeout: Duration,

    /// Authenticate with the key in this file
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,

    /// How stamps are written in packets
    #[arg(long, value_enum, default_value_t = StampFormat::Ntp)]
    pub format: StampFormat,

    /// How to wait for the moment of sending: kernel, hybrid, spin, highpertimer or system
    #[arg(long, value_name = "POLICY", default_value = "hybrid", value_parser = values::policy_of_sleeps)]
    pub policy: tompion_time::sleep::Policy,

    /// TTL or hop limit of probes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub ttl: Option<u8>,

    /// DSCP of probes, 0 to 63
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..64))]
    pub dscp: Option<u8>,

    /// Do without the kernel's stamps
    #[arg(long)]
    pub user_stamps: bool,

    /// Have this device stamp in hardware, too, until the end
    #[arg(long, value_name = "DEVICE", conflicts_with = "user_stamps")]
    pub hardware_stamps: Option<String>,

    /// Tap this machine's device, too, as packet sniffers do: the one that packets to HOST leave
    /// by, or another (`--tap=eth1`)
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub tap: Option<String>,

    /// Tell sending and receiving apart, whatever the far end's clock says
    #[arg(long, conflicts_with = "icmp")]
    pub one_way: bool,

    /// Rest before and after the probes for so long, for another line through the far end's clock
    #[arg(long, value_name = "TIME", requires = "one_way", conflicts_with = "clean", value_parser = values::duration)]
    pub rest: Option<Duration>,

    /// A load between both rests; see `tompion list`
    #[arg(long, value_name = "LOAD", requires = "rest", value_parser = values::offering::<LoadSpec>(values::load_names), hide_possible_values = true)]
    pub load: Option<LoadSpec>,

    /// Send past the queue of this machine's own device (CAP_NET_RAW)
    #[arg(long, conflicts_with_all = ["icmp", "tap"])]
    pub past_queue: bool,

    /// Have TCP's own estimate of the round trip, too, by a connection to `tompion reflect --tcp`
    #[arg(long, conflicts_with_all = ["icmp", "key"])]
    pub tcp: bool,

    /// Do not watch what keeps the sending and the receiving thread from running
    #[arg(long)]
    pub no_observe: bool,

    /// Do not look for moments at which CPUs stand still, by a thread on each of them
    #[arg(long)]
    pub no_heartbeat: bool,

    /// Use count, interval and size of a published measurement
    #[arg(long, value_enum, conflicts_with_all = ["count", "interval", "size", "poisson"])]
    pub preset: Option<PingPreset>,

    #[command(flatten)]
    pub output: OutputOptions,
}

/// How stamps are written in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StampFormat {
    /// As NTP has them: seconds since 1900, and a fraction
    Ntp,
    /// As PTP has them: seconds since 1970, and nanoseconds
    Ptp,
}

/// Published measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PingPreset {
    /// 200 probes of 100 bytes, one each 250 ms (Whiteaker 2011)
    Whiteaker,
}
