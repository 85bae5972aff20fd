//! What a fit of a tail takes of a series, kept as the series comes in.

use super::refusal::NoTail;

/// Excesses below which no tail is fitted.
pub const LEAST_EXCESSES: usize = 50;

/// The share of samples above the threshold, ...
const SHARE: f64 = 0.1;

/// ... and their greatest number: more samples raise the threshold.
const MOST_EXCESSES: usize = 200;

/// Fewest samples of which a tenth are enough excesses.
const NEED: usize = (LEAST_EXCESSES as f64 / SHARE) as usize;

/// Values kept, one more than excesses: the threshold.
const KEPT: usize = MOST_EXCESSES + 1;

/// The largest values of a series with their places, in a few kilobytes however long it is.
#[derive(Clone, Debug, Default)]
pub struct TailSeries {
    len: usize,
    not_finite: usize,
    /// Value and place; more than [`KEPT`] now and then.
    largest: Vec<(f64, usize)>,
    /// Values up to this one are not among the largest.
    floor: Option<f64>,
}

/// What lies above the threshold.
pub(super) struct Excesses {
    /// Samples of the whole series.
    pub(super) samples: usize,
    pub(super) threshold: f64,
    /// Above the threshold, ascending.
    pub(super) sizes: Vec<f64>,
    /// Where in the series they lie, ascending.
    pub(super) places: Vec<usize>,
}

impl TailSeries {
    /// Of values in time order.
    pub fn of(values: &[f64]) -> Self {
        let mut series = Self::default();
        values.iter().for_each(|v| series.push(*v));
        series
    }

    /// Takes in the next value.
    pub fn push(&mut self, value: f64) {
        let place = self.len;
        self.len += 1;
        self.not_finite += usize::from(!value.is_finite());
        if self.floor.is_none_or(|floor| value > floor) {
            self.largest.push((value, place));
            if self.largest.len() >= 4 * KEPT {
                self.prune();
            }
        }
    }

    /// Values taken in.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none were.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn prune(&mut self) {
        let falling = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0);
        let (_, least, _) = self.largest.select_nth_unstable_by(KEPT - 1, falling);
        self.floor = Some(least.0);
        self.largest.truncate(KEPT);
    }

    /// What lies above the threshold of a tenth of the values, at most of [`MOST_EXCESSES`].
    pub(super) fn excesses(&self) -> Result<Excesses, NoTail> {
        if self.len < NEED || self.not_finite > 0 {
            let have = self.len - self.not_finite;
            return Err(NoTail::TooFew { have, need: NEED });
        }
        let most = ((self.len as f64 * SHARE) as usize).min(MOST_EXCESSES);
        let mut largest = self.largest.clone();
        largest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let threshold = largest[most].0;
        let above = largest.partition_point(|v| v.0 > threshold);
        largest.truncate(above);
        let sizes: Vec<f64> = largest.iter().rev().map(|v| v.0 - threshold).collect();
        let distinct = sizes.chunk_by(|a, b| a == b).count();
        if sizes.len() < LEAST_EXCESSES || 2 * distinct < sizes.len() {
            return Err(NoTail::Coarse);
        }
        let mut places: Vec<usize> = largest.iter().map(|v| v.1).collect();
        places.sort_unstable();
        Ok(Excesses {
            samples: self.len,
            threshold,
            sizes,
            places,
        })
    }
}

impl Excesses {
    /// Their share of all samples.
    pub(super) fn share(&self) -> f64 {
        self.sizes.len() as f64 / self.samples as f64
    }

    /// The intervals estimator of Ferro and Segers 2003, equation 5, at most 1.
    pub(super) fn extremal_index(&self) -> f64 {
        let gaps = self.places.windows(2).map(|w| (w[1] - w[0]) as f64);
        let close = gaps.clone().all(|g| g <= 2.0);
        let (mut sum, mut products) = (0.0, 0.0);
        for g in gaps {
            sum += if close { g } else { g - 1.0 };
            products += if close { g * g } else { (g - 1.0) * (g - 2.0) };
        }
        let count = self.places.len() - 1;
        (2.0 * sum * sum / (count as f64 * products)).min(1.0)
    }
}
