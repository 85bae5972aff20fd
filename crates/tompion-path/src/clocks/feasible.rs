//! Which lines lie below one kind of points and above another.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::bounds::{Bound, Side};

/// Time and value; values of lower bounds are mirrored at zero, so that all are upper ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    at: i128,
    value: i128,
}

impl Point {
    pub fn new(side: Side, at_ns: i64, value_ns: i64) -> Self {
        let value = i128::from(value_ns);
        Self {
            at: at_ns.into(),
            value: match side {
                Side::Upper => value,
                Side::Lower => -value,
            },
        }
    }

    fn mirrored(self) -> Self {
        Self {
            value: -self.value,
            ..self
        }
    }

    /// Time and value as they were before any mirror.
    pub fn told(self, side: Side) -> (f64, f64) {
        let value = match side {
            Side::Upper => self.value,
            Side::Lower => -self.value,
        };
        (self.at as f64, value as f64)
    }
}

/// Whether the way from `a` to `to` climbs more than that from `b`; both are before it.
fn is_steeper(a: Point, b: Point, to: Point) -> bool {
    (to.value - a.value) * (to.at - b.at) > (to.value - b.value) * (to.at - a.at)
}

/// Points of which none lies above a line between two others: the lower side of their convex hull.
#[derive(Clone, Debug, Default)]
pub(super) struct Hull(pub VecDeque<Point>);

impl Hull {
    /// A point later than all others.
    pub fn push(&mut self, point: Point) {
        let hull = &mut self.0;
        while let [.., before, last] = *hull.make_contiguous()
            && !is_steeper(last, before, point)
        {
            hull.pop_back();
        }
        hull.push_back(point);
    }
}

/// Through two points, the first before the second.
#[derive(Clone, Copy, Debug)]
struct Through(Point, Point);

impl Through {
    /// How far it is above a point; only the sign counts.
    fn above(self, point: Point) -> i128 {
        let (run, rise) = (self.1.at - self.0.at, self.1.value - self.0.value);
        rise * (point.at - self.0.at) - (point.value - self.0.value) * run
    }

    fn rate(self) -> f64 {
        (self.1.value - self.0.value) as f64 / (self.1.at - self.0.at) as f64
    }
}

/// The lines that lie below all upper bounds and above all lower ones so far: O'Rourke, "An
/// on-line algorithm for fitting straight lines between data ranges", CACM 24(9), 1981.
#[derive(Clone, Debug, Default)]
pub(super) struct Feasible {
    /// Of the bounds of each side, from where the flattest line touches them.
    hulls: [Hull; 2],
    /// The flattest of those lines as each side sees it, in its mirror.
    flattest: [Option<Through>; 2],
}

impl Feasible {
    /// Takes a bound that is later than all others, widened by `tolerance_ns`; false, and nothing
    /// changed, where no line is left then.
    pub fn admit(&mut self, bound: &Bound, tolerance_ns: i64) -> bool {
        let (own, other) = match bound.side {
            Side::Upper => (0, 1),
            Side::Lower => (1, 0),
        };
        let point = Point::new(bound.side, bound.at_ns, bound.ahead_ns);
        let point = Point {
            value: point.value + i128::from(tolerance_ns),
            ..point
        };
        if self.flattest[own].is_some_and(|line| line.above(point) > 0) {
            return false;
        }
        // What bounds one side from above bounds the other from below.
        let below = point.mirrored();
        let hull = &mut self.hulls[other].0;
        if self.flattest[other].is_none_or(|line| line.above(below) < 0) {
            while hull.len() > 1 && !is_steeper(hull[0], hull[1], below) {
                hull.pop_front();
            }
            if let Some(&touched) = hull.front() {
                self.flattest[other] = Some(Through(touched, below));
            }
        }
        self.hulls[own].push(point);
        true
    }

    /// How steep such a line is at least and at most; `None` where one of the two is not bounded.
    pub fn rates(&self) -> Option<RangeInclusive<f64>> {
        let [least, most] = self.flattest.map(|line| line.map(Through::rate));
        Some(least?..=-most?)
    }
}
