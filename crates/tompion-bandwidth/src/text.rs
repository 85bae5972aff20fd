//! An estimate in words.

use tompion_model::{format_bits_per_second as rate, format_bytes};
use tompion_path::bandwidth::Ending;

/// What Ethernet adds to an IP packet, in bytes: its header.
const ETHERNET: f64 = 14.0;

/// How an estimate ended, in a line, of packets of so many bytes that came to `sent` bytes together.
pub fn in_words(ending: &Ending, bytes: u32, sent: u64) -> String {
    match ending {
        Ending::Estimate(found) => {
            let mut line = format!("{} available", rate(found.available_bps));
            if let Some((low, high)) = found.interval_bps {
                line.push_str(&format!(", {} to {} (95 %)", rate(low), rate(high)));
            }
            if let Some(capacity) = found.capacity_bps {
                line.push_str(&format!(", of {}", rate(capacity)));
            }
            line
        }
        Ending::HostLimited { reached_bps } => {
            format!("host-limited: this sender reached {}", rate(*reached_bps))
        }
        Ending::ReceiverLimited { spoilt, trains } => {
            format!(
                "receiver-limited: the far end's stamps of {spoilt} of {trains} trains say nothing"
            )
        }
        Ending::TooVariable { low_bps, high_bps } => format!(
            "path too variable: between {} and {}",
            rate(*low_bps),
            rate(*high_bps)
        ),
        Ending::Shaped {
            rate_bps,
            depth_bytes,
        } => format!(
            "shaped: a token bucket of {} and {}",
            rate(*rate_bps),
            format_bytes(*depth_bytes)
        ),
        Ending::Policed { rate_bps } => format!(
            "policed: what is above {} is dropped without waiting",
            rate(*rate_bps)
        ),
        Ending::FairQueue { share_bps } => {
            format!("fair queue: one flow has {}", rate(*share_bps))
        }
        Ending::Unfinished { needs_bytes } => format!(
            "no answer within {}; packets of {bytes} bytes take some {}",
            format_bytes(sent as f64),
            format_bytes(*needs_bytes as f64)
        ),
        other => other.name().to_owned(),
    }
}

/// A rate of IP packets of so many bytes as Ethernet has it, with its header, in bits a second.
pub fn on_ethernet(bps: f64, bytes: u32) -> f64 {
    bps * (f64::from(bytes) + ETHERNET) / f64::from(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_path::bandwidth::Estimate;

    #[test]
    fn every_ending_is_a_line_with_its_figures() {
        let found = Estimate {
            available_bps: 198.15e6,
            capacity_bps: Some(297.2e6),
            interval_bps: Some((197e6, 199.3e6)),
            trains: 12,
            left_out: 1,
        };
        let line = |ending| in_words(&ending, 1_500, 1_944_000);
        let said = line(Ending::Estimate(found));
        assert_eq!(
            said,
            "198.2 Mbit/s available, 197.0 Mbit/s to 199.3 Mbit/s (95 %), of 297.2 Mbit/s"
        );
        let said = line(Ending::HostLimited {
            reached_bps: 9.87e9,
        });
        assert_eq!(said, "host-limited: this sender reached 9.870 Gbit/s");
        let said = line(Ending::Shaped {
            rate_bps: 50e6,
            depth_bytes: 64_000.0,
        });
        assert_eq!(said, "shaped: a token bucket of 50.00 Mbit/s and 64.00 kB");
        let said = line(Ending::Unfinished {
            needs_bytes: 3_888_000,
        });
        assert_eq!(
            said,
            "no answer within 1.944 MB; packets of 1500 bytes take some 3.888 MB"
        );
        let all = [
            Ending::ReceiverLimited {
                spoilt: 9,
                trains: 12,
            },
            Ending::TooVariable {
                low_bps: 1e6,
                high_bps: 2e6,
            },
            Ending::Policed { rate_bps: 1e6 },
            Ending::FairQueue { share_bps: 1e6 },
        ];
        for ending in all {
            let name = ending.name();
            assert!(line(ending).replace(' ', "-").starts_with(name), "{name}");
        }
    }

    #[test]
    fn ethernet_counts_its_header() {
        assert!((on_ethernet(150e6, 1_500) - 151.4e6).abs() < 1.0);
    }
}
