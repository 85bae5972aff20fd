//! Options of `tompion testbed`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tompion_model::{InvalidValue, parse_bits_per_second};

use super::values::{duration, seed};

/// Run a command over a network path on this machine whose truth is known.
#[derive(Args, Debug)]
#[command(
    override_usage = "tompion testbed [OPTIONS] [-- COMMAND [ARGUMENTS]...]",
    after_help = "\
Examples:
  tompion testbed --rtt 20ms --rate 300M --far-end 'iperf3 -s' -- sh -c 'iperf3 -c $FAR_END'
  tompion testbed --rtt 100ms --loss 1% --truth packets.csv -- sh -c 'ping -c 9 $FAR_END'
  tompion testbed --rate 1G --cross 300M --bottleneck kernel -- COMMAND
  tompion testbed --rtt 20ms         (tells how to enter both ends, until Ctrl-C)

The command runs at the sender, in network, PID and mount namespaces of its own, and
finds the far end's addresses in $FAR_END and $FAR_END_6, its own in $SENDER and
$SENDER_6. It, all that it starts and the path end with this program, however that
ends. The path is measured before and after, by taps at both ends.

It takes root, or CAP_SYS_ADMIN and CAP_NET_ADMIN.

Exit status:
  1      the path was not what it was to be, or the command was not started
  other  that of the command itself; 128 and the signal's number where one ended it"
)]
pub struct TestbedOptions {
    /// Round-trip time, shared evenly by both ways [default: no more than it takes]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub rtt: Option<Duration>,

    /// Rate of the link each way in bits per second, Ethernet's headers counted, such as 300M
    /// [default: as fast as this machine]
    #[arg(long, value_name = "RATE", value_parser = parse_bits_per_second)]
    pub rate: Option<u64>,

    /// Share of packets lost at random, each way, such as 0.01 or 1%
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    pub loss: f64,

    /// Cross traffic on the way out in bits per second, packets of full size at equal intervals
    #[arg(long, value_name = "RATE", value_parser = parse_bits_per_second, requires = "rate")]
    pub cross: Option<u64>,

    /// Where packets wait: in a relay that drives a model of the path, or in the kernel, by a
    /// token bucket, beside real senders
    #[arg(long, value_name = "KIND", default_value = "relay")]
    pub bottleneck: Bottleneck,

    /// Largest packet in bytes, without Ethernet's header
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    pub mtu: u32,

    /// The whole path as TOML, in place of the options above but --bottleneck and --mtu
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rtt", "rate", "loss", "cross", "seed"])]
    pub plan: Option<PathBuf>,

    /// Seed of what is random
    #[arg(long, value_name = "SEED", value_parser = seed, default_value = "1")]
    pub seed: u64,

    /// Write what became of each packet to this file, as CSV: the truth
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,

    /// A command to run by `sh -c` at the far end, from before the command until after it; may
    /// be given several times
    #[arg(long, value_name = "COMMAND")]
    pub far_end: Vec<OsString>,

    /// Print nothing unless something is wrong
    #[arg(short, long)]
    pub quiet: bool,

    /// The command to run at the sender, and its arguments
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,
}

/// Where packets wait for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Bottleneck {
    /// In the relay's model
    Relay,
    /// In the kernel's token bucket
    Kernel,
}

/// A share: `0.01` or `1%`.
fn share(text: &str) -> Result<f64, InvalidValue> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().ok().map(|n| n / whole);
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "write a share from 0 to 1, such as 0.01 or 1%".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_with_a_sign_and_without() {
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("1"), Ok(1.0));
        for wrong in ["", "%", "101%", "-0.1", "nan"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
