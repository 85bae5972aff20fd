//! How an estimate ends.

use serde::Serialize;

/// What a method came to. Never a plain number from trains that a host spoiled.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ending {
    /// A number.
    Estimate(Estimate),
    /// The sender cannot send fast enough to fill the path.
    HostLimited {
        /// What it reached, in bits a second.
        reached_bps: f64,
    },
    /// The receiver cannot stamp arrivals when they come.
    ReceiverLimited {
        /// Trains that it spoiled.
        spoilt: u32,
        /// Of so many.
        trains: u32,
    },
    #[serde(rename = "path-too-variable")]
    /// Others take now more, now less, so that no number stands for the time that was watched.
    TooVariable {
        /// Between these the available bandwidth was, in bits a second.
        low_bps: f64,
        /// The larger of the two.
        high_bps: f64,
    },
    /// A token bucket: some packets pass at once, the rest at its rate.
    Shaped {
        /// Its rate in bits a second.
        rate_bps: f64,
        /// What passes at once after a long silence, in bytes.
        depth_bytes: f64,
    },
    /// What is above a rate is dropped and does not wait.
    Policed {
        /// That rate in bits a second.
        rate_bps: f64,
    },
    /// Flows take turns: one has its share whatever it asks for.
    FairQueue {
        /// That of one flow in bits a second.
        share_bps: f64,
    },
    /// The budget was too small for an answer.
    Unfinished {
        /// What one takes at least, in bytes.
        needs_bytes: u64,
    },
}

impl Ending {
    /// As machines read it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Estimate(_) => "estimate",
            Self::HostLimited { .. } => "host-limited",
            Self::ReceiverLimited { .. } => "receiver-limited",
            Self::TooVariable { .. } => "path-too-variable",
            Self::Shaped { .. } => "shaped",
            Self::Policed { .. } => "policed",
            Self::FairQueue { .. } => "fair-queue",
            Self::Unfinished { .. } => "unfinished",
        }
    }
}

/// An available bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// In bits a second, as IP has them.
    pub available_bps: f64,
    /// The capacity of the link that has least left, where the method tells it.
    pub capacity_bps: Option<f64>,
    /// Between these the available bandwidth was on average while it was watched, at a level of 95 %, where the method
    /// tells it.
    pub interval_bps: Option<(f64, f64)>,
    /// Trains that it is from.
    pub trains: u32,
    /// Trains that were left out, since sender or receiver was held up.
    pub left_out: u32,
}
