//! Comparing two series of single trials by their stretches.

use crate::dependence::{above_quantile, sample_quantile};
use crate::persistence::{memory, widening};
use crate::replicates::compare_widened;
use crate::{Comparison, Dependence, Design, Outcome, Stretches, replicates_needed};

/// Stretches that a series is cut into where it is long enough for more. Ten
/// against ten lose little power and reach p = 1.1e-5.
const STRETCHES: usize = 10;

/// Samples beyond the quantile that each stretch should hold.
const BEYOND: f64 = 5.0;

/// How many of the lowest frequencies of each series tell of drift: twice the
/// stretches' own, so slower than a stretch or hardly faster.
const FREQUENCIES: usize = 12;

/// What one series of each of two trials says about `b` against `a`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesComparison {
    /// The longer of the two autocorrelation times, in samples.
    pub autocorrelation_time: f64,
    /// Stretches of each series and samples in each; 0 where not decidable.
    pub stretches: (usize, usize),
    /// Samples in each stretch.
    pub stretch_length: usize,
    /// Memory parameter d of both series: 0 is none, 0.5 and more drift without
    /// a level.
    pub memory: f64,
    /// Factor by which drift widened the interval; 1 is no drift.
    pub widening: f64,
    /// The comparison.
    pub outcome: SeriesOutcome,
}

/// Outcome of a comparison of two series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SeriesOutcome {
    /// Enough independent stretches.
    Decided(Comparison),
    /// Too few; `have` and `need` count samples of the shorter series.
    TooShort {
        /// Samples there are.
        have: usize,
        /// Samples needed.
        need: usize,
    },
    /// The series wander so that no stretch is like the next.
    Drifts,
}

/// Compares the `q`-quantile of two series.
pub fn compare_series(
    a: &[i64],
    b: &[i64],
    q: f64,
    level: f64,
    family: usize,
) -> Option<SeriesComparison> {
    let time = Dependence::at_quantile(a, q)?
        .autocorrelation_time
        .max(Dependence::at_quantile(b, q)?.autocorrelation_time);
    let least = replicates_needed(Design::Independent, level, family)?;
    let beyond = (BEYOND / q.min(1.0 - q)).ceil().min(1e15) as usize;
    let samples = a.len().min(b.len());
    let faces = [above_quantile(a, q)?, above_quantile(b, q)?];
    let d = memory(&[&faces[0], &faces[1]], FREQUENCIES).unwrap_or(0.0);
    let mut found = SeriesComparison {
        autocorrelation_time: time,
        stretches: (0, 0),
        stretch_length: 0,
        memory: d,
        widening: 1.0,
        outcome: SeriesOutcome::Drifts,
    };
    match Stretches::cut(samples, time, beyond, least, STRETCHES.max(least)) {
        Stretches::TooShort { have, need } => {
            found.outcome = SeriesOutcome::TooShort { have, need };
        }
        Stretches::Cut { length, count } => {
            let figures = |s: &[i64]| -> Option<Vec<f64>> {
                s.chunks_exact(length)
                    .map(|c| sample_quantile(c, q))
                    .collect()
            };
            let (a, b) = (figures(a)?, figures(b)?);
            found.stretches = (a.len(), b.len());
            found.stretch_length = length;
            let Some(w) = widening(d, count as f64) else {
                return Some(found);
            };
            found.widening = w;
            if let Outcome::Decided(c) =
                compare_widened(&a, &b, Design::Independent, level, family, w).ok()?
            {
                found.outcome = SeriesOutcome::Decided(c);
            }
        }
    }
    Some(found)
}
