//! The line closest to the bounds of both sides.

use std::ops::RangeInclusive;

use super::bounds::{Bound, Side};
use super::feasible::{Hull, Point};

/// By how much the far end's clock is ahead as time goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// A time by the own clock, in nanoseconds since its zero.
    pub at_ns: i64,
    /// By how much the far end's clock is ahead then: whole nanoseconds, and the rest.
    pub ahead_ns: (i64, f64),
    /// How much more each nanosecond; 1e-6 is 1 ppm.
    pub rate: f64,
}

impl Line {
    /// By how much the far end's clock is ahead at a time of the own one, in whole nanoseconds.
    pub fn ahead_at(&self, at_ns: i64) -> i64 {
        self.ahead_ns
            .0
            .saturating_add(self.beyond(at_ns).round() as i64)
    }

    /// By how much the far end's clock is ahead at a time of the own one, in nanoseconds beyond
    /// [`Line::ahead_ns`]'s whole ones.
    pub fn beyond(&self, at_ns: i64) -> f64 {
        self.ahead_ns.1 + self.rate * at_ns.wrapping_sub(self.at_ns) as f64
    }
}

/// Points of one side, and what of them counts.
struct Cloud {
    side: Side,
    hull: Vec<(f64, f64)>,
    count: f64,
    mean: (f64, f64),
}

impl Cloud {
    fn of<'b>(bounds: impl Iterator<Item = &'b Bound>, side: Side) -> Option<Self> {
        let (mut hull, mut count, mut sum) = (Hull::default(), 0.0, (0.0, 0.0));
        for bound in bounds.filter(|bound| bound.side == side) {
            hull.push(Point::new(side, bound.at_ns, bound.ahead_ns));
            count += 1.0;
            sum.0 += bound.at_ns as f64;
            sum.1 += bound.ahead_ns as f64;
        }
        let hull = hull.0.into_iter().map(|point| point.told(side));
        (count > 0.0).then(|| Self {
            side,
            hull: hull.collect(),
            count,
            mean: (sum.0 / count, sum.1 / count),
        })
    }

    /// Where the line of that rate that touches all of them meets time zero, and how far they are
    /// from it together.
    fn touched(&self, rate: f64) -> (f64, f64) {
        let rests = self.hull.iter().map(|(at, value)| value - rate * at);
        let at_zero = match self.side {
            Side::Upper => rests.fold(f64::INFINITY, f64::min),
            Side::Lower => rests.fold(f64::NEG_INFINITY, f64::max),
        };
        let middle = self.mean.1 - rate * self.mean.0;
        (at_zero, self.count * (middle - at_zero).abs())
    }

    /// The rates at which it touches another point.
    fn rates(&self) -> impl Iterator<Item = f64> {
        let pairs = self.hull.windows(2);
        pairs.map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0))
    }
}

/// Rate, and value at time zero, of the line in the middle of two of one rate: one touches the
/// upper bounds from below, one the lower ones from above, and together they are as close to all
/// as they get. `None` where a side has no bound, or both have one alone.
pub(super) fn closest<'b>(
    bounds: impl Iterator<Item = &'b Bound> + Clone,
    within: &RangeInclusive<f64>,
) -> Option<(f64, f64)> {
    let upper = Cloud::of(bounds.clone(), Side::Upper)?;
    let lower = Cloud::of(bounds, Side::Lower)?;
    let distance = |rate| upper.touched(rate).1 + lower.touched(rate).1;
    let mut rates: Vec<f64> = upper.rates().chain(lower.rates()).collect();
    rates.sort_by(f64::total_cmp);
    // The distance falls and then rises along them.
    let (mut first, mut last) = (0, rates.len().checked_sub(1)?);
    while first < last {
        let middle = first.midpoint(last);
        match distance(rates[middle]) <= distance(rates[middle + 1]) {
            true => last = middle,
            false => first = middle + 1,
        }
    }
    let rate = rates[first].clamp(*within.start(), *within.end());
    let at_zero = f64::midpoint(upper.touched(rate).0, lower.touched(rate).0);
    Some((rate, at_zero))
}
