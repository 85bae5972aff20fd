//! What drift of the machine leaves of a difference between two runs, one measured after the other.
//!
//! Two signs are looked at. Where values drift or wander within blocks, blocks are too short to be
//! replicates, and the interval is widened. And a trend may go on through both runs: a difference
//! is one only if it is one beside such a trend, too.

use tompion_stats::{BesideTrend, Design, Interval, Outcome, compare_widened};

/// How many times as wide an interval has to be where values drift within blocks, so that what it
/// leaves out is left out in series with long memory, too (`tompion-validity`).
const WIDENING: f64 = 4.0;

/// How drift would explain a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drift {
    /// Values drift or wander within blocks: these are too short to be replicates.
    Within,
    /// A steady drift through all replicates of both sides, by so much from one to the next.
    Across {
        /// In the figure's unit.
        step: f64,
        /// As a ratio; `None` where a figure is not above 0.
        ratio: Option<f64>,
    },
}

/// What is left of a difference with drift allowed for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowing {
    /// The drift that is the likeliest.
    pub drift: Drift,
    /// p of "there is such a drift, and no difference".
    pub p: f64,
    /// The interval of the shift that covers with drift and without.
    pub interval: Interval,
    /// That of the ratio; `None` where a figure is not above 0.
    pub ratio: Option<Interval>,
    /// The smallest shift that would have been found in 80 % of cases.
    pub detectable: f64,
    /// The same as a ratio.
    pub detectable_ratio: Option<f64>,
}

/// Figures of one side with their places in time.
pub(crate) type Placed = Vec<(f64, f64)>;

pub(crate) fn figures(side: &Placed) -> Vec<f64> {
    side.iter().map(|f| f.1).collect()
}

/// Logarithms of the figures of both sides, where all are above 0.
pub(crate) fn logarithms((x, y): (&Placed, &Placed)) -> Option<(Placed, Placed)> {
    let positive = x.iter().chain(y).all(|f| f.1 > 0.0);
    let ln = |side: &Placed| side.iter().map(|f| (f.0, f.1.ln())).collect();
    positive.then(|| (ln(x), ln(y)))
}

/// What drift leaves of the difference at `level`; `within` says whether values drift within blocks.
/// `None` where replicates are too few to tell.
pub(crate) fn allowing(
    (x, y): (&Placed, &Placed),
    within: bool,
    level: f64,
    family: usize,
) -> Option<Allowing> {
    let plain = One::of((x, y), within, level, family)?;
    let logs = match logarithms((x, y)) {
        Some((x, y)) => Some(One::of((&x, &y), within, level, family)?),
        None => None,
    };
    Some(Allowing {
        drift: match within {
            true => Drift::Within,
            false => Drift::Across {
                step: plain.step,
                ratio: logs.map(|l| l.step.exp()),
            },
        },
        p: logs.unwrap_or(plain).p,
        interval: plain.interval,
        ratio: logs.map(|l| exponential(l.interval)),
        detectable: plain.detectable,
        detectable_ratio: logs.map(|l| l.detectable.exp()),
    })
}

/// An interval of logarithms as one of ratios.
pub(crate) fn exponential(interval: Interval) -> Interval {
    Interval {
        low: interval.low.exp(),
        high: interval.high.exp(),
        ..interval
    }
}

/// From the lowest end of all to the highest.
pub(crate) fn hull(a: Interval, b: Interval) -> Interval {
    Interval {
        low: a.low.min(b.low),
        high: a.high.max(b.high),
        ..a
    }
}

/// Intervals of the mean difference at `confidence` that drift allows for, beside the plain one.
pub(crate) fn mean_interval(
    (x, y): (&Placed, &Placed),
    plain: Interval,
    within: bool,
    confidence: f64,
) -> Option<Interval> {
    let beside = BesideTrend::of(x, y)?.interval(confidence);
    let middle = 0.5 * (plain.low + plain.high);
    let half = 0.5 * (plain.high - plain.low) * if within { WIDENING } else { 1.0 };
    let wide = Interval {
        low: middle - half,
        high: middle + half,
        ..plain
    };
    Some(hull(wide, beside))
}

/// The same of figures or of their logarithms.
#[derive(Clone, Copy)]
struct One {
    p: f64,
    interval: Interval,
    step: f64,
    detectable: f64,
}

impl One {
    fn of((x, y): (&Placed, &Placed), within: bool, level: f64, family: usize) -> Option<Self> {
        let beside = BesideTrend::of(x, y)?;
        let widening = if within { WIDENING } else { 1.0 };
        let (a, b) = (figures(x), figures(y));
        let widened = compare_widened(&a, &b, Design::Independent, level, family, widening);
        let Outcome::Decided(widened) = widened.ok()? else {
            return None;
        };
        Some(Self {
            p: beside.p.max(widened.p),
            interval: hull(widened.interval, beside.interval(1.0 - level)),
            step: beside.slope,
            detectable: beside.detectable(level / family.max(1) as f64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures at places that follow one another, from `from` on.
    fn placed(from: usize, figures: &[f64]) -> Placed {
        let places = (from..).map(|place| place as f64);
        places.zip(figures.iter().copied()).collect()
    }

    /// Eight figures about `level`, off by up to 3.
    fn about(from: usize, level: f64) -> Placed {
        let off = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5];
        placed(from, &off.map(|off| level + off))
    }

    #[test]
    fn what_would_have_been_found_grows_with_the_family() {
        let (x, y) = (about(0, 100.0), about(8, 101.0));
        let of = |family| allowing((&x, &y), false, 0.05, family).unwrap().detectable;
        let beside = BesideTrend::of(&x, &y).unwrap();
        assert_eq!(of(1), beside.detectable(0.05));
        assert_eq!(of(10), beside.detectable(0.005));
        assert!(of(10) > 1.2 * of(1));
    }

    #[test]
    fn figures_above_zero_are_judged_by_their_logarithms() {
        // A growth by a half from one to the next, through both, which is no line.
        let grown = |(place, off): (f64, f64)| (place, 1.5f64.powf(place) * (1.0 + off / 100.0));
        let of = |from| about(from, 0.0).into_iter().map(grown).collect::<Placed>();
        let (x, y) = (of(0), of(8));
        let found = allowing((&x, &y), false, 0.05, 1).unwrap();
        assert!(found.p > 0.2, "{found:?}");
        assert!(
            matches!(found.drift, Drift::Across { ratio: Some(r), .. } if (r - 1.5).abs() < 0.02)
        );
        assert!(found.ratio.unwrap().contains(1.0));
        // Below zero there are none.
        let turned = |side: &Placed| side.iter().map(|f| (f.0, -f.1)).collect::<Placed>();
        let below = allowing((&turned(&x), &turned(&y)), false, 0.05, 1).unwrap();
        assert_eq!((below.ratio, below.detectable_ratio), (None, None));
        let p = |x: &Placed, y: &Placed| One::of((x, y), false, 0.05, 1).unwrap().p;
        let (of_x, of_y) = logarithms((&x, &y)).unwrap();
        assert_eq!(found.p, p(&of_x, &of_y));
        assert_ne!(found.p, p(&x, &y));
    }

    #[test]
    fn values_that_drift_within_blocks_make_intervals_four_times_as_wide() {
        let (x, y) = (about(0, 100.0), about(8, 100.0));
        let plain = Interval {
            low: -18.0,
            high: 22.0,
            level: 0.9,
        };
        let of = |within| mean_interval((&x, &y), plain, within, 0.9).unwrap();
        let ends = |i: Interval| (i.low, i.high);
        // Wider by far than what a trend leaves.
        assert_eq!(ends(of(false)), (-18.0, 22.0));
        assert_eq!(ends(of(true)), (-78.0, 82.0));
        let [narrow, wide] =
            [false, true].map(|within| allowing((&x, &y), within, 0.05, 1).unwrap());
        assert_eq!(wide.drift, Drift::Within);
        assert!(
            wide.interval.high - wide.interval.low >= narrow.interval.high - narrow.interval.low
        );
    }
}
