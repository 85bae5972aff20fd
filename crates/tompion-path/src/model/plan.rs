//! What a path is to do to packets.

use serde::{Deserialize, Serialize};

/// The longest delay, in nanoseconds: that of the emulator in Kirova et al. 2019.
pub const MOST_DELAY_NS: u64 = 100_000_000_000;
/// The highest rate, in bits a second.
pub const MOST_RATE_BPS: u64 = 10_000_000_000_000;
/// Most packets that one way of a path may hold.
pub const MOST_IN_FLIGHT: u32 = 1 << 23;

/// A path: both ways, and the seed of what is random on them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathPlan {
    /// The seed; each way draws from streams of its own.
    pub seed: u64,
    /// From the sender to the far end.
    pub outward: WayPlan,
    /// From the far end to the sender.
    pub homeward: WayPlan,
}

/// One way of a path. The default passes every packet on at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WayPlan {
    /// A queue of a rate; without one packets do not wait for one another.
    pub bottleneck: Option<Bottleneck>,
    /// Delay of every packet in nanoseconds, at most [`MOST_DELAY_NS`].
    pub delay_ns: u64,
    /// Random delay besides.
    pub jitter: Option<Jitter>,
    /// Whether a packet with a short random delay waits for those before it.
    pub keep_order: bool,
    /// Packets lost at random.
    pub loss: LossPlan,
    /// Packets of which a copy follows.
    pub duplication: Option<Duplicating>,
    /// Packets that are held back while others pass, whatever `keep_order` says.
    pub reordering: Option<Reorder>,
    /// Packets of which a bit is flipped.
    pub corruption: Option<Corrupting>,
    /// How many packets may be under way at once, copies and those in the queue among them; further
    /// ones are dropped and counted. At most [`MOST_IN_FLIGHT`]; each takes some 60 bytes.
    pub most_in_flight: u32,
}

impl Default for WayPlan {
    fn default() -> Self {
        Self {
            bottleneck: None,
            delay_ns: 0,
            jitter: None,
            keep_order: true,
            loss: LossPlan::None,
            duplication: None,
            reordering: None,
            corruption: None,
            most_in_flight: 65_536,
        }
    }
}

/// A queue that is served at a rate, first come, first served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// The rate in bits a second, at most [`MOST_RATE_BPS`].
    pub rate_bps: u64,
    /// Bytes that each packet takes beyond its own: headers, preamble, gap.
    #[serde(default)]
    pub overhead_bytes: u32,
    /// How much may wait.
    #[serde(default)]
    pub limit: QueueLimit,
    /// Traffic of others in the same queue.
    #[serde(default)]
    pub cross_traffic: Option<CrossTraffic>,
}

impl Bottleneck {
    /// A queue of this rate in bits a second, with the usual limit and nothing else.
    pub fn of_rate(rate_bps: u64) -> Self {
        Self {
            rate_bps,
            overhead_bytes: 0,
            limit: QueueLimit::default(),
            cross_traffic: None,
        }
    }
}

/// How much may wait in a queue: a packet beyond it is dropped (tail drop). A packet counts until
/// its last bit has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueLimit {
    /// Bytes, with the overhead of each packet.
    Bytes(u64),
    /// Packets; what cross traffic has there counts by its packets' size.
    Packets(u32),
}

impl Default for QueueLimit {
    /// Two mebibytes.
    fn default() -> Self {
        Self::Bytes(2 << 20)
    }
}

/// Traffic of others that takes its place in the queue without ever being sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossTraffic {
    /// Its mean rate in bits a second, overhead not counted.
    pub rate_bps: u64,
    /// Size of its packets in bytes; each takes the queue's overhead besides.
    pub packet_bytes: u32,
    /// When they come.
    pub pattern: CrossPattern,
}

/// When packets of cross traffic come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrossPattern {
    /// At equal intervals.
    Constant,
    /// At random, independently of one another.
    Poisson,
    /// So many at once, such bursts at random.
    Bursts(u32),
}

/// Random delay, added to the fixed one. Their sum is never below 0 nor above [`MOST_DELAY_NS`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Jitter {
    /// Normal around 0.
    Normal {
        /// Its standard deviation in nanoseconds.
        deviation_ns: u64,
    },
    /// Exponential.
    Exponential {
        /// Its mean in nanoseconds.
        mean_ns: u64,
    },
    /// Pareto: above `x` with probability `(least_ns / x)^shape`.
    Pareto {
        /// Its least value in nanoseconds.
        least_ns: u64,
        /// How fast its tail falls: above 0; the mean is finite above 1, the variance above 2.
        shape: f64,
    },
    /// Uniform from 0 to this.
    Uniform {
        /// Its largest value in nanoseconds.
        most_ns: u64,
    },
}

/// Packets lost at random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossPlan {
    /// None.
    #[default]
    None,
    /// Each by itself.
    Bernoulli {
        /// Share that is lost, from 0 to 1.
        share: f64,
    },
    /// In bursts: two states, good and bad, one step a packet (Gilbert 1960, Elliott 1963; the four
    /// parameters as in Hasslinger and Hohlfeld 2008).
    GilbertElliott {
        /// Probability that a bad state follows a good one (p).
        to_bad: f64,
        /// Probability that a good state follows a bad one (r); 1/r is the mean length of a bad
        /// stretch.
        to_good: f64,
        /// Share that is lost in the good state (1 - k).
        loss_good: f64,
        /// Share that is lost in the bad state (1 - h).
        loss_bad: f64,
    },
}

/// Packets of which a copy follows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duplicating {
    /// Share of packets, from 0 to 1.
    pub share: f64,
    /// How much later the copy leaves, in nanoseconds.
    #[serde(default)]
    pub after_ns: u64,
}

/// Packets that are held back while others pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Share of packets, from 0 to 1.
    pub share: f64,
    /// For how long, in nanoseconds.
    pub by_ns: u64,
}

/// Packets of which a bit is flipped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corrupting {
    /// Share of packets, from 0 to 1.
    pub share: f64,
    /// The first byte that may be hit, so that headers can be spared. A packet that ends before
    /// it is left whole.
    #[serde(default)]
    pub from_byte: u32,
}
