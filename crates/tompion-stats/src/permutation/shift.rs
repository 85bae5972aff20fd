//! How far `b` is shifted against `a`, by inverting the permutation test.

use super::{Design, ReplicateError, check, null};
use crate::Interval;

/// Accepted differences outside of rejected gaps that are gone through. There is one as a rule; more
/// come of ties.
const OUTWARDS: usize = 64;

/// A shift of `b` against `a`, in the unit of the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplicateShift {
    /// The Hodges-Lehmann estimate: the median of all differences b - a, or of
    /// the Walsh averages of the paired differences.
    pub estimate: f64,
    /// Every shift that the test does not reject; `None` where so few replicates
    /// cannot give the confidence.
    pub interval: Option<Interval>,
}

/// The shift of `b` against `a` with its interval at `confidence` (0 to 1).
///
/// The interval is the hull of all shifts s for which the test of `a` against
/// `b - s` has p > 1 - confidence, ends included: where the test rejects "no
/// shift", the interval leaves zero out, but for ties at its very end (Hodges and
/// Lehmann 1963; Lehmann 1975, Nonparametrics, §2.3 and §4.4). `None` without
/// replicates.
///
/// # Errors
/// Groups that do not pair, figures that are not finite.
pub fn shift_interval(
    a: &[f64],
    b: &[f64],
    design: Design,
    confidence: f64,
) -> Result<Option<ReplicateShift>, ReplicateError> {
    check(a, b, design)?;
    let all = differences(a, b, design);
    if all.is_empty() {
        return Ok(None);
    }
    let estimate = 0.5 * (all[(all.len() - 1) / 2] + all[all.len() / 2]);
    let interval = match confidence > 0.0 && confidence < 1.0 {
        true => Inversion::new(a, b, design, &all, confidence).interval(),
        false => None,
    };
    Ok(Some(ReplicateShift { estimate, interval }))
}

/// All pairwise differences or Walsh averages, ascending.
fn differences(a: &[f64], b: &[f64], design: Design) -> Vec<f64> {
    let mut all: Vec<f64> = match design {
        Design::Independent => b
            .iter()
            .flat_map(|y| a.iter().map(move |x| y - x))
            .collect(),
        Design::Paired => {
            let d: Vec<f64> = a.iter().zip(b).map(|(x, y)| y - x).collect();
            (0..d.len())
                .flat_map(|i| d[i..].iter().map(|e| 0.5 * (d[i] + e)).collect::<Vec<_>>())
                .collect()
        }
    };
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// The test's p changes only at the differences. Places therefore alternate:
/// even ones are the gaps (0 the one below all), odd ones the differences.
struct Inversion<'a> {
    a: &'a [f64],
    b: &'a [f64],
    design: Design,
    steps: Vec<f64>,
    /// The place of the median difference.
    middle: usize,
    confidence: f64,
    untied: null::Untied,
}

impl<'a> Inversion<'a> {
    fn new(a: &'a [f64], b: &'a [f64], design: Design, all: &[f64], confidence: f64) -> Self {
        let tolerance = null::tolerance(a, b, 0.0);
        let mut steps: Vec<f64> = Vec::with_capacity(all.len());
        for &d in all {
            if steps.last().is_none_or(|last| d - last > tolerance) {
                steps.push(d);
            }
        }
        Self {
            a,
            b,
            design,
            middle: 2 * steps.partition_point(|s| *s < all[(all.len() - 1) / 2] - tolerance) + 1,
            steps,
            confidence,
            untied: null::Untied::new(),
        }
    }

    fn interval(&self) -> Option<Interval> {
        let low = self.end(0)?;
        let high = self.end(2 * self.steps.len())?;
        Some(Interval {
            low: self.steps[(low.max(1) - 1) / 2],
            high: self.steps[(high / 2).min(self.steps.len() - 1)],
            level: self.confidence,
        })
    }

    /// The outermost accepted place between a far end and the middle; `None` if
    /// the far end itself is accepted, or nothing is.
    fn end(&self, far: usize) -> Option<usize> {
        let middle = self.middle;
        if self.accepted(far) || !self.accepted(middle) {
            return None;
        }
        // Among the gaps first, which mostly share one null distribution.
        let mut out = far / 2;
        let mut gap = if far < middle {
            middle / 2
        } else {
            middle / 2 + 1
        };
        let mut inside = middle;
        if self.accepted(2 * gap) {
            while out.abs_diff(gap) > 1 {
                let between = (out + gap) / 2;
                match self.accepted(2 * between) {
                    true => gap = between,
                    false => out = between,
                }
            }
            inside = 2 * gap;
        }
        // The differences beside them; with ties p is not quite monotone, and an
        // accepted difference may stand just outside a rejected gap.
        let outwards = |place: usize, by: usize| match far < middle {
            true => place.checked_sub(by),
            false => Some(place + by).filter(|p| *p <= far),
        };
        for _ in 0..OUTWARDS {
            let next = outwards(inside, 1).filter(|p| self.accepted(*p));
            let next = next.or_else(|| outwards(inside, 2).filter(|p| self.accepted(*p)));
            match next {
                Some(next) => inside = next,
                None => break,
            }
        }
        Some(inside)
    }

    fn accepted(&self, place: usize) -> bool {
        let p = null::p_at(self.a, self.b, self.design, self.shift(place), &self.untied).0;
        // Rounding must not make a level unreachable that is reached exactly.
        p > (1.0 - self.confidence) * (1.0 + 1e-9)
    }

    /// A shift that stands for `place`.
    fn shift(&self, place: usize) -> f64 {
        let above = self.steps.get(place / 2).copied();
        if place % 2 == 1 {
            return above.unwrap_or(0.0);
        }
        let below = (place / 2).checked_sub(1).map(|i| self.steps[i]);
        match (below, above) {
            (Some(below), Some(above)) => 0.5 * (below + above),
            (None, Some(above)) => above - self.beyond(),
            (Some(below), None) => below + self.beyond(),
            (None, None) => 0.0,
        }
    }

    /// A step that leaves all differences behind, whatever their size.
    fn beyond(&self) -> f64 {
        1.0 + self.steps.iter().fold(0.0f64, |m, d| m.max(d.abs()))
    }
}
