//! How far `b` is shifted against `a`, by inverting the permutation test.

use super::differences::Differences;
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
    let all = Differences::of(a, b, design);
    let middle = all.len().saturating_sub(1) / 2;
    let (Some(lower), Some(upper)) = (all.ranked(middle), all.ranked(all.len() / 2)) else {
        return Ok(None);
    };
    let interval = match confidence > 0.0 && confidence < 1.0 {
        true => Inversion::new(a, b, design, &all, confidence).interval(middle),
        false => None,
    };
    Ok(Some(ReplicateShift {
        estimate: 0.5 * (lower + upper),
        interval,
    }))
}

/// Differences that are one but for rounding, at which the test's p changes.
#[derive(Clone, Copy)]
struct Step {
    /// The smallest of them.
    value: f64,
    /// Its rank, from 0.
    from: usize,
    /// The rank of the next step.
    to: usize,
}

/// Where p is asked for: it changes only at the steps, which alternate with the gaps between them.
#[derive(Clone, Copy)]
enum Place {
    Step(Step),
    /// Between the differences below this rank and the others: 0 is below all.
    Gap(usize),
}

struct Inversion<'a> {
    a: &'a [f64],
    b: &'a [f64],
    design: Design,
    all: &'a Differences,
    tolerance: f64,
    confidence: f64,
    untied: null::Untied,
}

/// The way from the middle to an end.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Down,
    Up,
}

/// Differences that may follow one another within rounding: where one value is many times all others, all of them do, and
/// nothing is said.
const LONGEST_STEP: u32 = 1 << 10;

impl<'a> Inversion<'a> {
    fn new(
        a: &'a [f64],
        b: &'a [f64],
        design: Design,
        all: &'a Differences,
        confidence: f64,
    ) -> Self {
        Self {
            a,
            b,
            design,
            all,
            tolerance: null::tolerance(a, b, 0.0),
            confidence,
            untied: null::Untied::new(),
        }
    }

    fn interval(&self, middle: usize) -> Option<Interval> {
        let middle = self.step_of(middle)?;
        Some(Interval {
            low: self.end(middle, Way::Down)?,
            high: self.end(middle, Way::Up)?,
            level: self.confidence,
        })
    }

    /// The step that holds the difference of this rank.
    ///
    /// A step begins at the first difference that is further than rounding from where the one before
    /// began: certainly where it is further from the difference before. From there steps follow.
    fn step_of(&self, rank: usize) -> Option<Step> {
        let mut value = self.all.ranked(rank)?;
        let mut left = LONGEST_STEP;
        let mut from = loop {
            let parted = self.all.part(|d| d < value);
            match parted.last {
                Some(last) if value - last <= self.tolerance => value = last,
                _ => break parted.below,
            }
            left = left.checked_sub(1)?;
        };
        loop {
            left = left.checked_sub(1)?;
            let parted = self.all.part(|d| d - value <= self.tolerance);
            let to = parted.below;
            match parted.first {
                Some(next) if to <= rank => (value, from) = (next, to),
                _ => return Some(Step { value, from, to }),
            }
        }
    }

    /// The outermost accepted step on the way from the middle, or the one beyond the outermost
    /// accepted gap; `None` if all that lies beyond the differences is accepted, or nothing is.
    fn end(&self, middle: Step, way: Way) -> Option<f64> {
        let (mut out, mut gap) = match way {
            Way::Down => (0, middle.from),
            Way::Up => (self.all.len(), middle.to),
        };
        if self.accepted(Place::Gap(out)) || !self.accepted(Place::Step(middle)) {
            return None;
        }
        // Among the gaps first, which mostly share one null distribution.
        let mut inside = Place::Step(middle);
        if self.accepted(Place::Gap(gap)) {
            while let Some(between) = self.gap_between(out.min(gap), out.max(gap)) {
                match self.accepted(Place::Gap(between)) {
                    true => gap = between,
                    false => out = between,
                }
            }
            inside = Place::Gap(gap);
        }
        // The differences beside them; with ties p is not quite monotone, and an
        // accepted difference may stand just outside a rejected gap.
        for _ in 0..OUTWARDS {
            let next = self.outwards(inside, way);
            let second = next.and_then(|next| self.outwards(next, way));
            match [next, second]
                .into_iter()
                .flatten()
                .find(|p| self.accepted(*p))
            {
                Some(next) => inside = next,
                None => break,
            }
        }
        match inside {
            Place::Step(step) => Some(step.value),
            Place::Gap(_) => match self.outwards(inside, way)? {
                Place::Step(beyond) => Some(beyond.value),
                Place::Gap(_) => None,
            },
        }
    }

    /// A gap near the middle of two others; `None` where there is none between them.
    fn gap_between(&self, low: usize, high: usize) -> Option<usize> {
        let step = self.step_of(low + (high - low) / 2)?;
        [step.from, step.to]
            .into_iter()
            .find(|gap| low < *gap && *gap < high)
    }

    /// The next place; `None` beyond all differences.
    fn outwards(&self, place: Place, way: Way) -> Option<Place> {
        match (place, way) {
            (Place::Step(step), Way::Down) => Some(Place::Gap(step.from)),
            (Place::Step(step), Way::Up) => Some(Place::Gap(step.to)),
            (Place::Gap(gap), Way::Down) => self.step_of(gap.checked_sub(1)?).map(Place::Step),
            (Place::Gap(gap), Way::Up) => self.step_of(gap).map(Place::Step),
        }
    }

    fn accepted(&self, place: Place) -> bool {
        let p = null::p_at(self.a, self.b, self.design, self.shift(place), &self.untied).0;
        // Rounding must not make a level unreachable that is reached exactly.
        p > (1.0 - self.confidence) * (1.0 + 1e-9)
    }

    /// A shift that stands for `place`.
    fn shift(&self, place: Place) -> f64 {
        let gap = match place {
            Place::Step(step) => return step.value,
            Place::Gap(gap) => gap,
        };
        let step = |rank: Option<usize>| self.step_of(rank?).map(|s| s.value);
        match (step(gap.checked_sub(1)), step(Some(gap))) {
            (Some(below), Some(above)) => 0.5 * (below + above),
            (None, Some(above)) => above - self.beyond(),
            (Some(below), None) => below + self.beyond(),
            (None, None) => 0.0,
        }
    }

    /// A step that leaves all differences behind, whatever their size.
    fn beyond(&self) -> f64 {
        let ends = [self.all.part(|_| true).last, self.all.part(|_| false).first];
        1.0 + ends
            .into_iter()
            .flatten()
            .fold(0.0, |m: f64, d| m.max(d.abs()))
    }
}

#[cfg(test)]
mod tests;
