//! How many clusters of late samples are due in a series: what decides whether its samples can say
//! anything of a limit.

use crate::truth::Truth;

/// Verdicts promise something where so many clusters beyond the limit are due, if it is just kept.
pub const DUE: f64 = 4.0;

/// Samples beyond the true quantile, draw by draw.
#[derive(Clone, Copy, Debug, Default)]
pub struct Late {
    draws: f64,
    beyond: f64,
    squares: f64,
}

impl Late {
    /// Of one more draw.
    pub fn add(&mut self, beyond: u64) {
        let beyond = beyond as f64;
        self.draws += 1.0;
        self.beyond += beyond;
        self.squares += beyond * beyond;
    }

    /// Clusters that are due in so many samples of `truth` beyond its `q`-quantile: as many as independent
    /// ones would have to be to scatter as much from draw to draw.
    pub fn clusters(&self, truth: Truth, q: f64, samples: f64) -> f64 {
        let mean = self.beyond / self.draws;
        let scatter = (self.squares / self.draws - mean * mean) / mean;
        ((1.0 - q) * samples / scatter.max(1.0)).min(truth.pauses_due(samples))
    }
}
