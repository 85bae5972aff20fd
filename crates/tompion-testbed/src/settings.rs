//! What a testbed is to be.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tompion_path::model::{Bottleneck, CrossTraffic, LossPlan, PathPlan, QueueLimit, WayPlan};

use crate::error::SettingsError;
use crate::netlink::TokenBucket;
use crate::truth_file::open_plainly;

/// Ethernet's header, in bytes: what a packet takes on the link beyond its MTU.
pub const LINK_HEADER: u32 = 14;
/// Headers of Ethernet, IPv4 and UDP.
pub(crate) const UDP_HEADERS: u32 = LINK_HEADER + 20 + 8;
/// Packets under way on each way: 25 MB at an MTU of 1500.
const MOST_IN_FLIGHT: u32 = 16_384;

/// Where packets wait for one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BottleneckKind {
    /// In the model that drives the relay; cross traffic is virtual. Holds beside other work.
    #[default]
    Relay,
    /// In a router of the kernel's, towards the far end, with a token bucket and real senders.
    Kernel,
}

/// What a testbed is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The path, both ways. Sizes count Ethernet's header.
    pub plan: PathPlan,
    /// Where packets wait for one another.
    pub bottleneck: BottleneckKind,
    /// What may leave the kernel's token bucket at once, in bytes; by the rate where nothing is said.
    pub burst_bytes: Option<u32>,
    /// Largest packet in bytes, without Ethernet's header.
    pub mtu: u32,
    /// The file that is to say what became of each packet.
    pub truth: Option<PathBuf>,
    /// How it is opened: made, or emptied; without waiting for who reads a pipe.
    pub open_truth: fn(&Path) -> io::Result<File>,
    /// How much later than due a packet may leave before its time is called false.
    pub tolerance: Duration,
}

impl Default for Settings {
    /// A path of which nothing is asked but that it is there.
    fn default() -> Self {
        Self::symmetric(Duration::ZERO, None)
    }
}

impl Settings {
    /// A path whose two ways share a round-trip time evenly, with a queue of this rate in bits a second on
    /// each.
    pub fn symmetric(round_trip: Duration, rate_bps: Option<u64>) -> Self {
        let half = round_trip / 2;
        let way = WayPlan {
            bottleneck: rate_bps.map(Bottleneck::of_rate),
            delay_ns: u64::try_from(half.as_nanos()).unwrap_or(u64::MAX),
            most_in_flight: MOST_IN_FLIGHT,
            ..WayPlan::default()
        };
        Self {
            plan: PathPlan {
                seed: 1,
                outward: way.clone(),
                homeward: way,
            },
            bottleneck: BottleneckKind::Relay,
            burst_bytes: None,
            mtu: 1_500,
            truth: None,
            open_truth: open_plainly,
            tolerance: Duration::from_micros(100),
        }
    }

    /// Loses this share of packets, each by itself, on either way.
    #[must_use]
    pub fn with_loss(mut self, share: f64) -> Self {
        // None at all is no plan: where the kernel is the whole path it stays that.
        if share != 0.0 {
            for way in [&mut self.plan.outward, &mut self.plan.homeward] {
                way.loss = LossPlan::Bernoulli { share };
            }
        }
        self
    }

    /// What is asked of the kernel and what of the relay.
    pub(crate) fn parts(&self) -> Result<Parts, SettingsError> {
        if !(1_280..=9_000).contains(&self.mtu) {
            return Err(SettingsError::Mtu(self.mtu));
        }
        self.plan.validate()?;
        let mut relayed = self.plan.clone();
        let kernel = match self.bottleneck {
            BottleneckKind::Relay => None,
            BottleneckKind::Kernel => {
                // The kernel's queue is on the way out; the way back has no other.
                relayed.homeward.bottleneck = None;
                let bottleneck = relayed.outward.bottleneck.take();
                Some(self.in_kernel(&bottleneck.ok_or(SettingsError::NoRate)?)?)
            }
        };
        if let Some(b) = &self.plan.outward.bottleneck
            && let Some(cross) = &b.cross_traffic
            && cross.rate_bps >= b.rate_bps
        {
            return Err(SettingsError::Cross {
                cross: cross.rate_bps,
                rate: b.rate_bps,
            });
        }
        let nothing = |way: &WayPlan| {
            *way == WayPlan {
                most_in_flight: way.most_in_flight,
                keep_order: way.keep_order,
                ..WayPlan::default()
            }
        };
        let idle = nothing(&relayed.outward) && nothing(&relayed.homeward);
        Ok(Parts {
            // Who wants to know what became of each packet needs one, too.
            relayed: (kernel.is_none() || !idle || self.truth.is_some()).then_some(relayed),
            kernel,
        })
    }

    fn in_kernel(&self, bottleneck: &Bottleneck) -> Result<InKernel, SettingsError> {
        let rate_bps = bottleneck.rate_bps;
        if !TokenBucket::RATES.contains(&rate_bps) {
            return Err(SettingsError::Rate(rate_bps));
        }
        let largest = self.mtu + LINK_HEADER;
        if let Some(cross) = &bottleneck.cross_traffic
            && !(UDP_HEADERS..=largest).contains(&cross.packet_bytes)
        {
            return Err(SettingsError::CrossPackets {
                bytes: cross.packet_bytes,
                least: UDP_HEADERS,
                most: largest,
            });
        }
        let limit = match bottleneck.limit {
            QueueLimit::Bytes(bytes) => bytes,
            QueueLimit::Packets(packets) => packets.saturating_mul(largest).into(),
        };
        let usual = TokenBucket::of_rate(rate_bps, largest, limit);
        Ok(InKernel {
            bucket: TokenBucket {
                burst_bytes: self.burst_bytes.unwrap_or(usual.burst_bytes),
                ..usual
            },
            cross: bottleneck.cross_traffic.clone(),
        })
    }
}

/// What is asked of the kernel and what of the relay.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub relayed: Option<PathPlan>,
    pub kernel: Option<InKernel>,
}

/// The kernel's part.
#[derive(Clone, Debug)]
pub(crate) struct InKernel {
    pub bucket: TokenBucket,
    pub cross: Option<CrossTraffic>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_queue_leaves_the_rest_to_the_relay() {
        let mut settings = Settings::symmetric(Duration::ZERO, Some(300_000_000));
        settings.bottleneck = BottleneckKind::Kernel;
        let parts = settings.parts().unwrap();
        assert!(parts.relayed.is_none());
        assert_eq!(parts.kernel.unwrap().bucket.burst_bytes, 3_028);
        settings.plan.outward.delay_ns = 10_000_000;
        let relayed = settings.parts().unwrap().relayed.unwrap();
        assert_eq!(
            (relayed.outward.delay_ns, relayed.outward.bottleneck),
            (10_000_000, None)
        );
    }

    #[test]
    fn a_path_that_cannot_be_is_refused() {
        let mut settings = Settings {
            bottleneck: BottleneckKind::Kernel,
            ..Settings::default()
        };
        assert_eq!(settings.parts().unwrap_err(), SettingsError::NoRate);
        settings = Settings {
            mtu: 1_000,
            ..Settings::default()
        };
        assert_eq!(settings.parts().unwrap_err(), SettingsError::Mtu(1_000));
        settings = Settings::symmetric(Duration::ZERO, None).with_loss(1.5);
        assert!(matches!(
            settings.parts().unwrap_err(),
            SettingsError::Path(_)
        ));
    }
}
