//! Options of `tompion testbed`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tompion_model::InvalidValue;

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
    /// Round-trip time, shared evenly by both ways
    /// [default: none]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub rtt: Option<Duration>,

    /// Rate of the link each way in bits per second, Ethernet's headers counted, such as 300M
    /// [default: as fast as this machine]
    #[arg(long, value_name = "RATE", value_parser = bits)]
    pub rate: Option<u64>,

    /// Share of packets lost at random, each way, such as 0.01 or 1%
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    pub loss: f64,

    /// Cross traffic on the way out in bits per second, packets of full size at equal intervals
    #[arg(long, value_name = "RATE", value_parser = bits, requires = "rate")]
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

/// Bits a second, with K, M or G for 1000 and its powers.
fn bits(text: &str) -> Result<u64, InvalidValue> {
    let wrong = || format!("`{text}` is no rate; write bits per second, such as 300M (K, M, G)");
    let (digits, power) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 2),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 3),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let bits = number.checked_mul(1_000_u64.pow(power));
    bits.filter(|bits| *bits > 0).ok_or_else(|| wrong().into())
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
    fn rates_and_shares_are_read_as_networks_write_them() {
        assert_eq!(bits("300M"), Ok(300_000_000));
        assert_eq!(bits("10g"), Ok(10_000_000_000));
        for wrong in [
            "",
            "M",
            "0",
            "-1M",
            "1.5G",
            "99999999999999999999",
            "18446744073709551615G",
        ] {
            assert!(bits(wrong).is_err(), "{wrong}");
        }
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("1"), Ok(1.0));
        for wrong in ["", "%", "101%", "-0.1", "nan"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
