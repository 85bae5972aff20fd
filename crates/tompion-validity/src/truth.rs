//! Series whose quantiles are known.

use statrs::distribution::{ContinuousCDF, Normal};
use tompion_model::Blocks;

use crate::noise::{Noise, autoregressive};

/// Standard deviation of the logarithms; the median is [`MEDIAN_PS`].
pub const SIGMA: f64 = 0.5;

/// What the median of the independent row is, in picoseconds.
pub const MEDIAN_PS: f64 = 1e8;

/// Share of the samples that lie in stalls, by how many medians these are later at least, and
/// the exponent of Pareto's distribution of how many times that.
const STALLED: f64 = 0.005;
const LATER: f64 = 5.0;
const PARETO: f64 = 1.5;

/// A kind of series, cut into blocks that follow one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Truth {
    /// Independent lognormal samples.
    Independent,
    /// The logarithms are an autoregression with this coefficient.
    Autoregression(f64),
    /// A share of the variance of the logarithms lies between blocks.
    BetweenBlocks(f64),
    /// Independent but for stalls that last for so many samples.
    Stalls(usize),
    /// The logarithms have long memory.
    LongMemory,
    /// Independent, and slower by this share at the end than at the beginning.
    Trend(f64),
    /// Independent, with Pareto's distribution of exponent 1.5.
    Heavy,
    /// Two regimes, of which one is twice as slow, that last for one to three blocks.
    Regimes,
}

/// How many blocks of how many samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Blocks.
    pub blocks: usize,
    /// Samples in each.
    pub samples: usize,
}

impl Truth {
    /// All rows of the tables.
    pub const ALL: [Self; 11] = [
        Self::Independent,
        Self::Autoregression(0.9),
        Self::Autoregression(0.99),
        Self::Autoregression(0.999),
        Self::BetweenBlocks(0.3),
        Self::BetweenBlocks(0.002),
        Self::Stalls(10),
        Self::Stalls(50),
        Self::LongMemory,
        Self::Trend(0.03),
        Self::Regimes,
    ];

    /// What a row is called.
    pub fn name(self) -> String {
        match self {
            Self::Independent => "independent".to_owned(),
            Self::Autoregression(phi) => format!("AR({phi})"),
            Self::BetweenBlocks(share) => format!("{} % between blocks", share * 100.0),
            Self::Stalls(length) => format!("stalls of {length}"),
            Self::LongMemory => "long memory".to_owned(),
            Self::Heavy => "heavy tail".to_owned(),
            Self::Trend(share) => format!("trend of {} %", share * 100.0),
            Self::Regimes => "regimes".to_owned(),
        }
    }

    /// Values in picoseconds, in time order.
    pub fn values_ps(self, shape: Shape, seed: u64) -> Vec<i64> {
        let values = self.series(shape, &mut Noise::new(seed));
        values.iter().map(|v| (MEDIAN_PS * v) as i64).collect()
    }

    /// Blocks of values in picoseconds, in time order.
    pub fn draw(self, shape: Shape, seed: u64) -> Blocks {
        self.draw_runs(shape, 1, seed).remove(0)
    }

    /// One series that goes on, cut into runs of that shape.
    pub fn draw_runs(self, shape: Shape, runs: usize, seed: u64) -> Vec<Blocks> {
        let whole = Shape {
            blocks: shape.blocks * runs,
            ..shape
        };
        let values = self.values_ps(whole, seed);
        let block = |block: &[i64]| block.to_vec();
        let run = |run: &[i64]| {
            run.chunks_exact(shape.samples)
                .map(block)
                .collect::<Blocks>()
        };
        values
            .chunks_exact(shape.blocks * shape.samples)
            .map(run)
            .collect()
    }

    /// In medians.
    fn series(self, shape: Shape, noise: &mut Noise) -> Vec<f64> {
        let length = shape.blocks * shape.samples;
        let exp = |logarithms: Vec<f64>| logarithms.iter().map(|v| (SIGMA * v).exp()).collect();
        match self {
            Self::Independent => exp((0..length).map(|_| noise.normal()).collect()),
            Self::Autoregression(phi) => exp(autoregressive(noise, length, phi)),
            Self::LongMemory => exp(long_memory(noise, length)),
            Self::Heavy => (0..length)
                .map(|_| (1.0 - noise.uniform()).powf(-1.0 / PARETO))
                .collect(),
            Self::BetweenBlocks(share) => {
                let mut of_block = 0.0;
                let mut sample = |at: usize| {
                    if at.is_multiple_of(shape.samples) {
                        of_block = share.sqrt() * noise.normal();
                    }
                    of_block + (1.0 - share).sqrt() * noise.normal()
                };
                exp((0..length).map(&mut sample).collect())
            }
            Self::Stalls(lasting) => {
                let rate = STALLED / lasting as f64 / (1.0 - STALLED);
                let mut left = match noise.uniform() < STALLED {
                    true => 1 + (noise.uniform() * lasting as f64) as usize,
                    false => 0,
                };
                let mut sample = |_| {
                    let base = (SIGMA * noise.normal()).exp();
                    if left == 0 && noise.uniform() < rate {
                        left = lasting;
                        // It begins with the next sample.
                        return base;
                    }
                    if left == 0 {
                        return base;
                    }
                    left -= 1;
                    base + LATER * (1.0 - noise.uniform()).powf(-1.0 / PARETO)
                };
                (0..length).map(&mut sample).collect()
            }
            Self::Trend(share) => {
                let slower = |at| 1.0 + share * at as f64 / length as f64;
                let mut sample = |at| (SIGMA * noise.normal()).exp() * slower(at);
                (0..length).map(&mut sample).collect()
            }
            Self::Regimes => {
                let lasting =
                    |noise: &mut Noise| (1.0 + 2.0 * noise.uniform()) * shape.samples as f64;
                let mut is_slow = noise.uniform() < 0.5;
                let mut left = lasting(noise) * noise.uniform();
                let mut sample = |_| {
                    if left <= 0.0 {
                        is_slow = !is_slow;
                        left = lasting(noise);
                    }
                    left -= 1.0;
                    (SIGMA * noise.normal()).exp() * if is_slow { 2.0 } else { 1.0 }
                };
                (0..length).map(&mut sample).collect()
            }
        }
    }

    /// Pauses that are due in so many samples; infinite where lateness does not come by pauses.
    pub fn pauses_due(self, samples: f64) -> f64 {
        match self {
            Self::Stalls(lasting) => samples * STALLED / lasting as f64,
            _ => f64::INFINITY,
        }
    }

    /// The true `q`-quantile in picoseconds: of all that such a series may bring, and with a trend
    /// of what it was on average.
    pub fn quantile_ps(self, q: f64) -> f64 {
        let (mut low, mut high) = (1e-3f64, 1e6f64);
        for _ in 0..80 {
            let middle = (low * high).sqrt();
            match self.share_up_to(middle) < q {
                true => low = middle,
                false => high = middle,
            }
        }
        MEDIAN_PS * (low * high).sqrt()
    }

    fn share_up_to(self, x: f64) -> f64 {
        let normal = Normal::standard();
        let base = |x: f64| {
            if x > 0.0 {
                normal.cdf(x.ln() / SIGMA)
            } else {
                0.0
            }
        };
        // Means over a grid, fine enough for five digits.
        let over = |of: &dyn Fn(f64) -> f64| {
            const POINTS: u32 = 2000;
            let points = (0..POINTS).map(|i| (f64::from(i) + 0.5) / f64::from(POINTS));
            points.map(of).sum::<f64>() / f64::from(POINTS)
        };
        match self {
            Self::Stalls(_) => {
                let later = |by: f64| match by > LATER {
                    true => 1.0 - (by / LATER).powf(-PARETO),
                    false => 0.0,
                };
                let stalled = over(&|u| later(x - (SIGMA * normal.inverse_cdf(u)).exp()));
                (1.0 - STALLED) * base(x) + STALLED * stalled
            }
            Self::Heavy => 1.0 - x.max(1.0).powf(-PARETO),
            Self::Trend(share) => over(&|u| base(x / (1.0 + share * u))),
            Self::Regimes => 0.5 * (base(x) + base(x / 2.0)),
            _ => base(x),
        }
    }
}

/// Long memory with variance 1: autoregressions whose time constants double from 1 to half a
/// million samples, with variances that fall as their power of -0.2. The autocorrelation then
/// falls as the lag's power of -0.2, as with a memory parameter d of 0.4 (Granger 1980, Journal
/// of Econometrics 14: what many short memories add up to).
fn long_memory(noise: &mut Noise, length: usize) -> Vec<f64> {
    let times = (0..20).map(|i| 2f64.powi(i));
    let total: f64 = times.clone().map(|t| t.powf(-0.2)).sum();
    let mut sum = vec![0.0; length];
    for time in times {
        let scale = (time.powf(-0.2) / total).sqrt();
        let part = autoregressive(noise, length, (-1.0 / time).exp());
        sum.iter_mut().zip(part).for_each(|(s, p)| *s += scale * p);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_samples_lie_above_a_quantile_as_its_name_says() {
        let shape = Shape {
            blocks: 8,
            samples: 4000,
        };
        for truth in Truth::ALL {
            // What wanders has to be drawn often.
            let is_slow = matches!(truth, Truth::LongMemory | Truth::Autoregression(0.999));
            let draws = if is_slow { 80 } else { 40 };
            let series: Vec<_> = (0..draws).map(|seed| truth.draw(shape, seed)).collect();
            for q in [0.5, 0.99, 0.999] {
                let limit = truth.quantile_ps(q) as i64;
                let above = |blocks: &Blocks| {
                    let above: u64 = blocks.iter().map(|b| b.count_above(limit)).sum();
                    above as f64 / (shape.blocks * shape.samples) as f64
                };
                let shares: Vec<f64> = series.iter().map(above).collect();
                let mean = shares.iter().sum::<f64>() / draws as f64;
                let squares: f64 = shares.iter().map(|s| (s - mean).powi(2)).sum();
                let error = (squares / draws as f64 / (draws - 1) as f64).sqrt();
                let off = (mean - (1.0 - q)) / error.max(1e-9);
                assert!(
                    off.abs() < 4.5,
                    "{truth:?} {q}: {mean} is off by {off} errors"
                );
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_series() {
        let shape = Shape {
            blocks: 2,
            samples: 100,
        };
        for truth in Truth::ALL {
            let series = |seed| truth.series(shape, &mut Noise::new(seed));
            assert_eq!(series(4), series(4));
            assert_ne!(series(4), series(5));
        }
    }
}
