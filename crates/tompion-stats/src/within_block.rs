//! How the samples of one block follow one another: what an interval over blocks has to know of
//! it, in a few numbers.
//!
//! A sample counts as 1 where it lies above a quantile of its block, else as 0; samples that lie at
//! it, as many do where a clock is coarse, share what is missing to the quantile. Of that series the
//! slow movements are kept: its periodogram at the lowest frequencies, which is what the samples'
//! dependence makes of the variance of the block's share (Percival 1993, The American Statistician
//! 47), and at the next ones. Where the two differ, the block is too short for its memory.

use std::sync::LazyLock;

use crate::Distribution;

/// Quantiles that are looked at.
const LEVELS: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// Equal parts of a block whose counts are the series. Frequencies above a quarter of their
/// number are not looked at, so that aliasing stays small.
const PARTS: usize = 64;

/// The lowest frequencies, in cycles a block, and the next ones.
const LOW: std::ops::RangeInclusive<usize> = 1..=3;
const NEXT: std::ops::RangeInclusive<usize> = 4..=16;

/// Parts that are taken together to look for bursts.
const TOGETHER: usize = 4;

/// Blocks are too short where their slowest movements are so many times stronger than the next.
const SLOW: f64 = 2.0;

/// What the order of one block's samples says, at several quantiles.
#[derive(Clone, Debug, PartialEq)]
pub struct WithinBlock {
    levels: [Level; LEVELS.len()],
}

/// Samples of one part of a block above a threshold, and at it.
#[derive(Clone, Copy, Default)]
struct Part {
    above: u32,
    equal: u32,
}

/// What is kept at one quantile, or the sum over several blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Level {
    /// Mean of the periodogram at the lowest frequencies.
    low: f64,
    /// Mean of the periodogram at the next ones.
    next: f64,
    /// What both would be if samples were independent: their variance.
    independent: f64,
    /// Sums of squares and of cubes of the deviations of sixteenths of the block.
    squares: f64,
    cubes: f64,
}

impl WithinBlock {
    /// Fewest samples of a block whose order says something.
    pub const FEWEST: u64 = PARTS as u64;

    /// Looks at the values of a block in time order; `None` where there are too few.
    /// `distribution` is of the same values.
    pub fn of(values: &[i64], distribution: &Distribution) -> Option<Self> {
        if (values.len() as u64) < Self::FEWEST {
            return None;
        }
        let thresholds = LEVELS.map(|q| distribution.quantile(q).unwrap_or(f64::INFINITY));
        // Values are whole: above a threshold is above what it rounds down to.
        let thresholds = thresholds.map(|t| t.floor() as i64);
        let n = values.len();
        let mut parts = [[Part::default(); PARTS]; LEVELS.len()];
        let mut lengths = [0; PARTS];
        for part in 0..PARTS {
            let of_part = &values[part * n / PARTS..(part + 1) * n / PARTS];
            lengths[part] = of_part.len();
            // All levels side by side, which takes vector instructions.
            let (mut above, mut equal) = ([0u32; LEVELS.len()], [0u32; LEVELS.len()]);
            for value in of_part {
                for (level, threshold) in thresholds.iter().enumerate() {
                    above[level] += u32::from(value > threshold);
                    equal[level] += u32::from(value == threshold);
                }
            }
            for (parts, (above, equal)) in parts.iter_mut().zip(above.into_iter().zip(equal)) {
                parts[part] = Part { above, equal };
            }
        }
        let mut levels = [Level::default(); LEVELS.len()];
        for (level, (parts, q)) in levels.iter_mut().zip(parts.iter().zip(LEVELS)) {
            *level = Level::of(parts, &lengths, 1.0 - q);
        }
        Some(Self { levels })
    }

    /// Strengths of the slowest movements of "is above the `q`-quantile", and of the next ones.
    /// Their unit is that of a variance; sums over blocks tell whether [values
    /// drift](drifts_within).
    pub fn movements(&self, q: f64) -> (f64, f64) {
        let level = self.at(q);
        (level.low, level.next)
    }

    /// Whether values drift or wander within `blocks`, at their median or about their `q`-quantile:
    /// such blocks are too short to be replicates.
    pub(crate) fn drift<'a>(blocks: impl IntoIterator<Item = &'a Self> + Clone, q: f64) -> bool {
        let at = |q: f64| Level::sum(blocks.clone().into_iter().map(|w| w.at(q)));
        at(0.5).drifts() || at(q.max(1.0 - q)).drifts()
    }

    /// At the first quantile of the list that is not below `q`.
    pub(crate) fn at(&self, q: f64) -> Level {
        let place = LEVELS.iter().position(|level| *level >= q - 1e-9);
        self.levels[place.unwrap_or(LEVELS.len() - 1)]
    }
}

impl Level {
    /// Where a share of `beyond` should lie above.
    fn of(parts: &[Part; PARTS], lengths: &[usize; PARTS], beyond: f64) -> Self {
        let n = lengths.iter().sum::<usize>() as f64;
        let above: f64 = parts.iter().map(|p| f64::from(p.above)).sum();
        let equal: f64 = parts.iter().map(|p| f64::from(p.equal)).sum();
        let counted = match equal > 0.0 {
            true => ((beyond * n - above) / equal).clamp(0.0, 1.0),
            false => 0.0,
        };
        let share = (above + counted * equal) / n;
        let mut deviations = [0.0; PARTS];
        for (deviation, (part, length)) in deviations.iter_mut().zip(parts.iter().zip(lengths)) {
            let count = f64::from(part.above) + counted * f64::from(part.equal);
            *deviation = count - share * *length as f64;
        }
        let mean = |frequencies: std::ops::RangeInclusive<usize>| {
            let many = frequencies.clone().count() as f64;
            let sum: f64 = frequencies.map(|f| power(&deviations, f)).sum();
            sum / many / n
        };
        let together = |power: i32| -> f64 {
            let sums = deviations.chunks(TOGETHER).map(|c| c.iter().sum::<f64>());
            sums.map(|sum| sum.powi(power)).sum()
        };
        Self {
            low: mean(LOW),
            next: mean(NEXT),
            independent: (above + counted * counted * equal) / n - share * share,
            squares: together(2),
            cubes: together(3),
        }
    }

    /// Of several blocks.
    pub(crate) fn sum(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::default(), |a, b| Self {
            low: a.low + b.low,
            next: a.next + b.next,
            independent: a.independent + b.independent,
            squares: a.squares + b.squares,
            cubes: a.cubes + b.cubes,
        })
    }

    /// How many times larger dependence makes the variance of a share, at least 1.
    pub(crate) fn inflation(&self) -> f64 {
        match self.independent > 0.0 {
            true => (self.low / self.independent).max(1.0),
            false => 1.0,
        }
    }

    /// How much stronger the slowest movements are than the next ones: about 1 where the block
    /// is long enough for its memory.
    fn slowness(&self) -> f64 {
        match (self.low > 0.0, self.next > 0.0) {
            (false, _) => 1.0,
            (true, true) => self.low / self.next,
            (true, false) => f64::INFINITY,
        }
    }

    /// Whether blocks are too short to be replicates.
    pub(crate) fn drifts(&self) -> bool {
        self.slowness() > SLOW
    }

    /// Skewness of the number of samples above the quantile: large where a few bursts bring them.
    pub(crate) fn skewness(&self) -> f64 {
        match self.squares > 0.0 {
            true => self.cubes / self.squares.powf(1.5),
            false => 0.0,
        }
    }
}

/// Whether values drift or wander within blocks, which are then too short to be replicates: their
/// slowest movements are more than twice as strong as the next. Both are those of
/// [`WithinBlock::movements`], summed over the blocks.
pub fn drifts_within((low, next): (f64, f64)) -> bool {
    let level = Level {
        low,
        next,
        ..Level::default()
    };
    level.drifts()
}

/// Sine and cosine of whole parts of a turn.
static WAVE: LazyLock<[(f64, f64); PARTS]> = LazyLock::new(|| {
    std::array::from_fn(|part| (std::f64::consts::TAU * part as f64 / PARTS as f64).sin_cos())
});

/// Squared modulus of the discrete Fourier transform at one frequency.
fn power(deviations: &[f64; PARTS], frequency: usize) -> f64 {
    let (mut real, mut imaginary) = (0.0, 0.0);
    for (part, deviation) in deviations.iter().enumerate() {
        let (sine, cosine) = WAVE[(part * frequency) % PARTS];
        real += deviation * cosine;
        imaginary += deviation * sine;
    }
    real * real + imaginary * imaginary
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::{Noise, autoregressive};

    fn of(values: &[f64]) -> WithinBlock {
        let values: Vec<i64> = values.iter().map(|v| (v * 1e6) as i64).collect();
        WithinBlock::of(&values, &Distribution::from_slice(&values)).unwrap()
    }

    fn summed(phi: f64, n: usize, q: f64) -> Level {
        let mut noise = Noise::new(3);
        Level::sum((0..200).map(|_| of(&autoregressive(&mut noise, n, phi)).at(q)))
    }

    #[test]
    fn independent_samples_inflate_nothing_and_are_not_slow() {
        for q in [0.5, 0.9, 0.99] {
            let level = summed(0.0, 1000, q);
            assert!(level.inflation() < 1.1, "{q}: {level:?}");
            assert!((level.slowness() - 1.0).abs() < 0.15, "{q}: {level:?}");
        }
    }

    #[test]
    fn dependence_inflates_by_its_autocorrelation_time() {
        // Of the indicator of the median of an autoregression, by the arcsine law.
        let time = |phi: f64| -> f64 {
            let rho = |k: i32| 2.0 / std::f64::consts::PI * phi.powi(k).asin();
            1.0 + 2.0 * (1..2000).map(rho).sum::<f64>()
        };
        for phi in [0.5, 0.9] {
            let (level, want) = (summed(phi, 4000, 0.5), time(phi));
            assert!(
                (level.inflation() / want - 1.0).abs() < 0.1,
                "{phi}: {} {want}",
                level.inflation()
            );
            assert!(level.slowness() < 1.2);
        }
    }

    #[test]
    fn what_moves_as_slowly_as_the_block_is_seen() {
        assert!(summed(0.999, 4000, 0.5).slowness() > 5.0);
        let steps: Vec<f64> = (0..1000).map(|i| f64::from(i32::from(i >= 400))).collect();
        assert!(of(&steps).at(0.5).slowness() > 5.0);
        let mut noise = Noise::new(8);
        let mut block = |phi| of(&autoregressive(&mut noise, 1000, phi));
        let (slow, quick) = ([block(0.999), block(0.999)], [block(0.0), block(0.5)]);
        assert!(WithinBlock::drift(&slow, 0.99) && !WithinBlock::drift(&quick, 0.99));
        assert!(!WithinBlock::drift(&[], 0.5));
    }

    #[test]
    fn blocks_drift_where_the_slowest_movements_are_twice_as_strong_as_the_next() {
        assert!(drifts_within((2.1, 1.0)) && !drifts_within((1.9, 1.0)));
        assert!(drifts_within((1.0, 0.0)) && !drifts_within((0.0, 0.0)));
        let quick = Level {
            low: 0.5,
            independent: 1.0,
            ..Level::default()
        };
        assert_eq!(quick.inflation(), 1.0);
    }

    #[test]
    fn a_tail_that_drifts_is_seen_though_the_median_does_not() {
        let mut noise = Noise::new(4);
        let mut block = || {
            let mut values: Vec<f64> = (0..4000).map(|_| noise.normal()).collect();
            (0..2000).step_by(40).for_each(|at| values[at] += 10.0);
            of(&values)
        };
        let blocks: Vec<WithinBlock> = (0..20).map(|_| block()).collect();
        assert!(WithinBlock::drift(&blocks, 0.99) && !WithinBlock::drift(&blocks, 0.5));
    }

    #[test]
    fn samples_at_the_quantile_share_what_is_missing_to_it() {
        // A third each of 0, 1 and 2: half of the ones count as above the median.
        let thirds: Vec<f64> = (0..3000).map(|i| f64::from(i * 7 % 3)).collect();
        let independent = of(&thirds).at(0.5).independent;
        assert!((independent - 1.0 / 6.0).abs() < 1e-9, "{independent}");
    }

    #[test]
    fn one_burst_makes_the_count_skewed() {
        let mut noise = Noise::new(5);
        let mut values: Vec<f64> = (0..4000).map(|_| noise.normal()).collect();
        let skewness = |values: &[f64]| of(values).at(0.99).skewness();
        assert!(skewness(&values) < 0.45, "{}", skewness(&values));
        values[1000..1050].iter_mut().for_each(|v| *v += 10.0);
        assert!(skewness(&values) > 0.7, "{}", skewness(&values));
    }

    #[test]
    fn values_that_never_differ_say_nothing_wrong() {
        let level = of(&[1.0; 100]).at(0.99);
        assert_eq!(
            (level.inflation(), level.slowness(), level.skewness()),
            (1.0, 1.0, 0.0)
        );
        assert!(WithinBlock::of(&[1; 63], &Distribution::from_slice(&[1; 63])).is_none());
    }
}
