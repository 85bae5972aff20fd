//! Change points: where the level of a series jumps, and by how much.
//!
//! A series that wanders crosses any level, and every method that supposes independent
//! figures finds jumps in it. Here a jump has to beat wander: the likelihood of one or
//! two steps between steady levels against that of long memory, autoregressions and a
//! straight line (`change_points/evidence.rs`). What that ratio comes to where there is
//! no jump was simulated (`change_points/levels.rs`); both are the same for any unit
//! and origin.
//!
//! What can be reached with 60 figures has a bound: by Neyman and Pearson's lemma no
//! test whatever tells a step of 1.8 standard deviations from a random walk of 0.3 a
//! figure below such noise in more than 73 % of cases at a level of 5 %, from long
//! memory of 0.4 in more than 94 %, known size and all. So there are two p-values:
//! [`ChangePoint::p`] holds without walks hidden in noise, [`ChangePoint::p_wander`]
//! with them.

mod evidence;
mod levels;

use std::fmt;

use crate::student::student_half_width;
use crate::{Interval, Moments};
use evidence::{Evidence, evidence};

/// Figures below which no change is looked for.
pub const LEAST_FIGURES: usize = 16;

/// Longer series are looked at by means of neighbours.
const MOST_FIGURES: usize = 240;

/// So many figures are looked at by halves, too, where the whole shows nothing: more jumps
/// than two at once look like wander.
const HALVED: usize = 80;

/// The share of the level that is left to the whole then.
const WHOLE: f64 = 0.8;

/// Confidence of the places and sizes.
const CONFIDENCE: f64 = 0.95;

/// What the figures are, and so how their changes are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figures {
    /// Above 0, such as latencies: levels are geometric means and differ by a factor.
    Positive,
    /// Any numbers, such as offsets: levels are means.
    Signed,
    /// Events in stretches of equal length, such as stalls: levels are events a stretch.
    Counts,
}

/// One jump of the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first figure after the jump, from 0; to within the figures that were
    /// averaged where there are more than 240.
    pub index: usize,
    /// The range of `index` that holds it with 95 % of its likelihood.
    pub between: (usize, usize),
    /// The level from the jump before to this one, in the unit of the figures.
    pub before: f64,
    /// The level from this jump to the next.
    pub after: f64,
    /// `after` over `before`; `None` unless both are above 0.
    pub ratio: Option<f64>,
    /// Its interval at 95 %, of Student's t with the dependence within the levels
    /// taken into account as an autoregression of the first order. It takes the place
    /// as given.
    pub ratio_interval: Option<Interval>,
    /// p against independent figures, autoregressions, long memory, a walk and a line
    /// that is weak (0.3 of the spread) or clear (30 of it), adjusted for all that was
    /// looked at.
    pub p: f64,
    /// p against random walks of every size below noise, and every line, too.
    pub p_wander: f64,
}

/// Series that no change can be looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangePointError {
    /// Too few figures.
    TooFew {
        /// Figures there are.
        have: usize,
        /// Figures that it takes.
        need: usize,
    },
    /// A figure that is infinite or not a number.
    NotFinite,
    /// A figure that is not above 0, or a count below 0.
    NotPositive,
}

impl fmt::Display for ChangePointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { have, need } => {
                write!(f, "change points take {need} figures, not {have}")
            }
            Self::NotFinite => write!(f, "every figure must be a finite number"),
            Self::NotPositive => write!(f, "every figure must be above 0, every count at least 0"),
        }
    }
}

impl std::error::Error for ChangePointError {}

/// The change points of `figures` in time order, at `level` (0.05, say) for all of them
/// together.
///
/// `figures` has one for each block, or for each stretch of equal length of a long
/// trial. A level lasts at least an eighth of the series it is looked for in. One or two
/// jumps at once are looked for, then those within the stretches between them, each
/// of which gets its part of `level`: so all of it is held, whatever was found before.
/// Of 80 figures and more, halves get a fifth of it where the whole shows nothing.
/// Jumps are taken to stand out of independent noise: where figures depend on one
/// another within a level, only a larger jump is told from wander.
///
/// By simulation of 60 figures with a spread of 10 % (`tompion-validity`, 1000 draws) a
/// step of 20 % in the middle is found within two figures in 87 % of cases, one of 30 % in
/// 99 %; with a `p_wander` of at most 5 %, too, in 55 % and 93 %. In 30 figures it is 28 %,
/// in 120 95 %. Independent figures, autoregressions, long memory up to 0.4 and walks
/// have a jump found in at most 5 %; walks of 0.1 to 0.5 a figure below noise of 1, and lines
/// that rise by once or twice the noise, in 12 to 25 %, with a `p_wander` of at most 5 % in
/// at most 5 %.
///
/// # Errors
/// Fewer than [`LEAST_FIGURES`] figures, or some that `kind` does not allow.
///
/// ```
/// use tompion_stats::{Figures, change_points};
///
/// // Twenty medians of 50 us, then twenty of 60 us, each off by up to 2 us.
/// let medians: Vec<f64> = (0..40)
///     .map(|i| if i < 20 { 50.0 } else { 60.0 } + (i * 7 % 5) as f64 - 2.0)
///     .collect();
/// let found = change_points(&medians, Figures::Positive, 0.05).unwrap();
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].index, 20);
/// assert!((found[0].ratio.unwrap() - 1.2).abs() < 0.01);
/// ```
pub fn change_points(
    figures: &[f64],
    kind: Figures,
    level: f64,
) -> Result<Vec<ChangePoint>, ChangePointError> {
    if figures.iter().any(|v| !v.is_finite()) {
        return Err(ChangePointError::NotFinite);
    }
    let wrong = |v: &f64| match kind {
        Figures::Positive => *v <= 0.0,
        Figures::Signed => false,
        Figures::Counts => *v < 0.0,
    };
    if figures.iter().any(wrong) {
        return Err(ChangePointError::NotPositive);
    }
    let (have, need) = (figures.len(), LEAST_FIGURES);
    if have < need {
        return Err(ChangePointError::TooFew { have, need });
    }
    let size = have.div_ceil(MOST_FIGURES);
    let means: Vec<f64> = figures
        .chunks_exact(size)
        .map(|c| c.iter().sum::<f64>() / size as f64)
        .collect();
    let steady: Vec<f64> = means.iter().map(|v| steady(*v, kind)).collect();
    let mut found = Vec::new();
    split(&steady, 0, level, 1.0, (0.0, 0.0), &mut found);
    found.sort_unstable_by_key(|f| f.index);
    let ends: Vec<usize> = [0]
        .into_iter()
        .chain(found.iter().map(|f| f.index))
        .chain([means.len()])
        .collect();
    let sized = found.iter().zip(ends.windows(3)).map(|(f, w)| {
        let (before, after) = (&means[w[0]..w[1]], &means[w[1]..w[2]]);
        f.sized(before, after, kind, size)
    });
    Ok(sized.collect())
}

/// The scale on which spread does not hang on the level.
fn steady(v: f64, kind: Figures) -> f64 {
    match kind {
        Figures::Positive => v.ln(),
        Figures::Signed => v,
        // Anscombe 1948.
        Figures::Counts => 2.0 * (v + 0.375).sqrt(),
    }
}

/// A jump without its size.
struct Found {
    index: usize,
    between: (usize, usize),
    p: (f64, f64),
}

/// Looks for jumps in `series`, which begins at `from`, and within what they leave.
/// `parts` is what p is multiplied by, `least` what it is not below: a part of a series
/// is looked at only because of the p of the whole.
fn split(
    series: &[f64],
    from: usize,
    level: f64,
    parts: f64,
    least: (f64, f64),
    found: &mut Vec<Found>,
) {
    let n = series.len();
    let weigh = |start: usize, end: usize, times: f64| {
        let Evidence { ln_ratio, places } = evidence(&series[start..end])?;
        let p = levels::p(ln_ratio, end - start);
        let adjusted = |p: f64, least: f64| (p * parts * times).clamp(least, 1.0);
        let p = (adjusted(p.0, least.0), adjusted(p.1, least.1));
        let places = places.into_iter().map(|(index, (low, high))| Found {
            index: start + index,
            between: (from + start + low, from + start + high),
            p,
        });
        (p.0 <= level).then(|| places.collect::<Vec<_>>())
    };
    let jumps = match n {
        0..LEAST_FIGURES => None,
        LEAST_FIGURES..HALVED => weigh(0, n, 1.0),
        _ => weigh(0, n, 1.0 / WHOLE).or_else(|| {
            [(0, n / 2), (n / 4, n / 4 + n / 2), (n - n / 2, n)]
                .into_iter()
                .filter_map(|(start, end)| weigh(start, end, 3.0 / (1.0 - WHOLE)))
                .min_by(|a, b| a[0].p.0.total_cmp(&b[0].p.0))
        }),
    };
    let Some(jumps) = jumps else { return };
    let parts = parts * (jumps.len() + 1) as f64;
    let mut start = 0;
    for end in jumps.iter().map(|f| f.index).chain([n]) {
        split(
            &series[start..end],
            from + start,
            level,
            parts,
            jumps[0].p,
            found,
        );
        start = end;
    }
    found.extend(jumps.into_iter().map(|f| Found {
        index: from + f.index,
        ..f
    }));
}

impl Found {
    fn sized(&self, before: &[f64], after: &[f64], kind: Figures, size: usize) -> ChangePoint {
        let level = |values: &[f64]| match kind {
            Figures::Positive => {
                (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
            }
            Figures::Signed | Figures::Counts => values.iter().sum::<f64>() / values.len() as f64,
        };
        let (low, high) = (level(before), level(after));
        let ratio = (low > 0.0 && high > 0.0).then(|| high / low);
        ChangePoint {
            index: self.index * size,
            between: (self.between.0 * size, self.between.1 * size),
            before: low,
            after: high,
            ratio,
            ratio_interval: ratio.and_then(|ratio| {
                // What a figure adds to the logarithm of its level.
                let scale = |values: &[f64], level: f64| -> Vec<f64> {
                    let of = |v: &f64| match kind {
                        Figures::Positive => (v / level).ln(),
                        Figures::Signed | Figures::Counts => v / level - 1.0,
                    };
                    values.iter().map(of).collect()
                };
                let half = half_width(&scale(before, low), &scale(after, high))?;
                Some(Interval {
                    low: ratio * (-half).exp(),
                    high: ratio * half.exp(),
                    level: CONFIDENCE,
                })
            }),
            p: self.p.0,
            p_wander: self.p.1,
        }
    }
}

/// Half the width of the interval of the difference of two means, whose variance is
/// larger by (1 + r) / (1 - r) where r is the correlation of neighbours within both,
/// freed of its bias in short series (Marriott and Pope 1954) and never below 0.
fn half_width(a: &[f64], b: &[f64]) -> Option<f64> {
    let moments = [a, b].map(|v| Moments::of(v.iter().copied()));
    let (mut products, mut squares, mut variance) = (0.0, 0.0, 0.0);
    for (values, moments) in [a, b].into_iter().zip(&moments) {
        let (mean, s) = (moments.mean()?, moments.standard_deviation()?);
        products += values
            .windows(2)
            .map(|w| (w[0] - mean) * (w[1] - mean))
            .sum::<f64>();
        squares += values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        variance += s * s / values.len() as f64;
    }
    if squares == 0.0 {
        return Some(0.0);
    }
    let n = (a.len() + b.len()) as f64;
    let r = products / squares;
    let r = (r + (2.0 + 4.0 * r.max(0.0)) / n).clamp(0.0, 0.95);
    let inflated = variance * (1.0 + r) / (1.0 - r);
    let effective = (n * (1.0 - r) / (1.0 + r) - 2.0).max(1.0);
    Some(student_half_width(CONFIDENCE, effective) * inflated.sqrt())
}

#[cfg(test)]
mod tests;
