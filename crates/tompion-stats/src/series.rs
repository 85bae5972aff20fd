//! Comparing two series of single trials by their stretches.

use crate::dependence::{above_quantile, sample_quantile};
use crate::persistence::{memory, widening};
use crate::replicates::compare_widened;
use crate::{Dependence, Design, Outcome, Stretches, replicates_needed};

/// Stretches that a series is cut into where it is long enough for more. Ten
/// against ten lose little power and reach p = 1.1e-5.
const STRETCHES: usize = 10;

/// Samples that each stretch should hold beyond the quantile, on the rarer side.
const BEYOND: f64 = 5.0;

/// What one series of each of two trials says about `b` against `a`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesComparison {
    /// The longer of the two autocorrelation times at the quantile, in samples.
    pub autocorrelation_time: f64,
    /// Samples in each stretch; 0 where not decidable.
    pub stretch_length: usize,
    /// Stretches of `a` and of `b`; 0 where not decidable.
    pub stretches: (usize, usize),
    /// Memory parameter d of the two series: 0 where they drift no slower than
    /// their stretches are long, towards 0.5 the more they do.
    pub memory: f64,
    /// Factor by which such drift widened the interval (and raised p); 1 is none.
    pub widening: f64,
    /// The comparison of the stretches' quantiles, in the unit of the values; where
    /// not decidable, `have` and `need` count samples of the shorter series.
    pub outcome: Outcome,
}

/// Compares the `q`-quantile of two series, each one contiguous stretch of samples
/// in time order, at `level` in a family of `family` tests.
///
/// Both are cut into stretches of one length, each at least [`STRETCH_FACTOR`]
/// autocorrelation times long and with at least five samples beyond the quantile;
/// the stretches' quantiles are compared as replicates
/// ([`crate::compare_replicates`]). Few long stretches stay valid under more
/// dependence than was measured (Ibragimov and Müller 2010; Canay, Romano and
/// Shaikh 2017).
///
/// Drift that outlives a stretch makes two series differ by more than their
/// stretches show. It is measured (the memory parameter d of "above the quantile",
/// from the lowest 12 frequencies of both series) and paid for: the interval is
/// widened by what long-range dependence with that d makes of the scatter between
/// two times far apart, and p raised accordingly. Drift in excess of that, such as
/// a machine that became another one between the two series, no method can tell
/// from a difference of what is compared: interleave the trials and use
/// [`crate::compare_replicates`] with [`Design::Paired`] where you can.
///
/// `None` below 16 samples or with `q` or `level` not between 0 and 1.
///
/// [`STRETCH_FACTOR`]: crate::STRETCH_FACTOR
pub fn compare_series(
    a: &[i64],
    b: &[i64],
    q: f64,
    level: f64,
    family: usize,
) -> Option<SeriesComparison> {
    if !(q > 0.0 && q < 1.0) {
        return None;
    }
    let least = replicates_needed(Design::Independent, level, family)?;
    let of_a = Dependence::at_quantile(a, q)?.autocorrelation_time;
    let time = of_a.max(Dependence::at_quantile(b, q)?.autocorrelation_time);
    let memory = memory(&[&above_quantile(a, q)?, &above_quantile(b, q)?]);
    let beyond = (BEYOND / q.min(1.0 - q)).ceil().min(1e15) as usize;
    let samples = a.len().min(b.len());
    Some(
        match Stretches::cut(samples, time, beyond, least, STRETCHES.max(least)) {
            Stretches::TooShort { have, need } => SeriesComparison {
                autocorrelation_time: time,
                stretch_length: 0,
                stretches: (0, 0),
                memory,
                widening: 1.0,
                outcome: Outcome::NotDecidable { have, need },
            },
            Stretches::Cut { length, count } => {
                let widening = widening(memory, count);
                let (a, b) = (figures(a, length, q)?, figures(b, length, q)?);
                SeriesComparison {
                    autocorrelation_time: time,
                    stretch_length: length,
                    stretches: (a.len(), b.len()),
                    memory,
                    widening,
                    outcome: compare_widened(&a, &b, Design::Independent, level, family, widening)
                        .ok()?,
                }
            }
        },
    )
}

/// The quantile of each whole stretch.
fn figures(series: &[i64], length: usize, q: f64) -> Option<Vec<f64>> {
    let stretches = series.chunks_exact(length);
    stretches.map(|s| sample_quantile(s, q)).collect()
}
