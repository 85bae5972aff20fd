//! Against the plain form, which forms all differences and goes through them.

use super::*;
use crate::test_noise::Noise;
use proptest::prelude::*;

fn plain_shift(a: &[f64], b: &[f64], design: Design, confidence: f64) -> ReplicateShift {
    let all = differences(a, b, design);
    ReplicateShift {
        estimate: 0.5 * (all[(all.len() - 1) / 2] + all[all.len() / 2]),
        interval: Plain::new(a, b, design, &all, confidence).interval(),
    }
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
struct Plain<'a> {
    a: &'a [f64],
    b: &'a [f64],
    design: Design,
    steps: Vec<f64>,
    /// The place of the median difference.
    middle: usize,
    confidence: f64,
    untied: null::Untied,
}

impl<'a> Plain<'a> {
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

/// Figures that lie close, far apart, on a grid, a rounding error from one another, or are huge.
fn figures() -> impl Strategy<Value = Vec<f64>> {
    let of = |one: BoxedStrategy<f64>| prop::collection::vec(one, 1..14);
    prop_oneof![
        of((-100.0f64..100.0).boxed()),
        of((-6i32..6).prop_map(f64::from).boxed()),
        of((-6i32..6).prop_map(|v| 0.1 * f64::from(v)).boxed()),
        of((-6i32..6, 0i32..9)
            .prop_map(|(v, e)| f64::from(v) * (1.0 + f64::EPSILON * f64::from(e)))
            .boxed()),
        of((-300.0f64..300.0)
            .prop_map(|e| e.signum() * 10f64.powf(e.abs()))
            .boxed()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn shifts_are_those_of_the_plain_form(
        a in figures(), b in figures(), paired: bool, level in prop::sample::select(vec![0.5, 0.8, 0.95]),
    ) {
        let n = if paired { a.len().min(b.len()) } else { usize::MAX };
        let (a, b) = (&a[..n.min(a.len())], &b[..n.min(b.len())]);
        let design = if paired { Design::Paired } else { Design::Independent };
        let shift = shift_interval(a, b, design, level).unwrap().unwrap();
        prop_assert_eq!(shift, plain_shift(a, b, design, level));
    }

    #[test]
    fn ranked_differences_are_those_of_all(a in figures(), b in figures(), paired: bool) {
        let n = if paired { a.len().min(b.len()) } else { usize::MAX };
        let (a, b) = (&a[..n.min(a.len())], &b[..n.min(b.len())]);
        let design = if paired { Design::Paired } else { Design::Independent };
        let all = differences(a, b, design);
        let never_formed = Differences::of(a, b, design);
        prop_assert_eq!(never_formed.len(), all.len());
        for (rank, value) in all.iter().enumerate() {
            prop_assert_eq!(never_formed.ranked(rank), Some(*value));
            let parted = never_formed.part(|d| d < *value);
            prop_assert_eq!(parted.below, all.partition_point(|d| d < value));
            prop_assert_eq!(parted.first, Some(*value));
            prop_assert_eq!(parted.last, all[..parted.below].last().copied());
        }
        prop_assert_eq!(never_formed.ranked(all.len()), None);
    }
}

#[test]
fn many_replicates_have_the_shift_of_the_plain_form() {
    let mut noise = Noise::new(11);
    let mut of = |n: usize, by: f64| -> Vec<f64> { (0..n).map(|_| by + noise.normal()).collect() };
    for (n, m) in [(60, 90), (200, 150)] {
        let (a, b) = (of(n, 0.0), of(m, 0.3));
        let shift = shift_interval(&a, &b, Design::Independent, 0.95).unwrap();
        assert_eq!(shift, Some(plain_shift(&a, &b, Design::Independent, 0.95)));
    }
    let (a, b) = (of(150, 0.0), of(150, 0.3));
    let shift = shift_interval(&a, &b, Design::Paired, 0.95).unwrap();
    assert_eq!(shift, Some(plain_shift(&a, &b, Design::Paired, 0.95)));
}

#[test]
fn no_figures_have_no_shift() {
    assert_eq!(
        shift_interval(&[], &[1.0], Design::Independent, 0.9),
        Ok(None)
    );
    assert_eq!(shift_interval(&[], &[], Design::Paired, 0.9), Ok(None));
}

#[test]
fn differences_that_no_memory_holds_have_ranks() {
    let ascending: Vec<f64> = (0..200_000).map(f64::from).collect();
    let n = ascending.len();
    let all = Differences::of(&ascending, &ascending, Design::Independent);
    assert_eq!(all.len(), n * n);
    assert_eq!(all.ranked(n * n / 2), Some(0.0));
    assert_eq!(all.part(|d| d < 0.0).below, n * (n - 1) / 2);
    assert_eq!(all.ranked(n * n - 1), Some(199_999.0));
}
