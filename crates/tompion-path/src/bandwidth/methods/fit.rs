//! A line through what trains said beyond the available bandwidth.

use tompion_stats::mean_interval;

use super::super::response::Response;

/// The level of intervals.
pub(super) const LEVEL: f64 = 0.95;

/// A link as trains see it: `stretch = (rate + others) / capacity`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    /// Bits a second.
    pub capacity_bps: f64,
    /// Bits a second that are left; below 0 where the points are no link's.
    pub available_bps: f64,
}

/// One point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub rate_bps: f64,
    pub stretch: f64,
    /// Its weight: others come more evenly in a longer time.
    pub lasts_ns: f64,
}

impl From<Response> for Point {
    fn from(seen: Response) -> Self {
        Self {
            rate_bps: seen.rate_bps,
            stretch: seen.stretch,
            lasts_ns: seen.lasts_ns,
        }
    }
}

/// Weighted means of the points.
struct Means {
    rate: f64,
    stretch: f64,
    /// Of squared rates and of products, around the means.
    square: f64,
    product: f64,
}

fn means(points: &[Point]) -> Option<Means> {
    let all: f64 = points.iter().map(|p| p.lasts_ns).sum();
    if all <= 0.0 {
        return None;
    }
    let mean =
        |of: &dyn Fn(&Point) -> f64| points.iter().map(|p| of(p) * p.lasts_ns).sum::<f64>() / all;
    let (rate, stretch) = (mean(&|p| p.rate_bps), mean(&|p| p.stretch));
    Some(Means {
        rate,
        stretch,
        square: mean(&|p| (p.rate_bps - rate).powi(2)),
        product: mean(&|p| (p.rate_bps - rate) * (p.stretch - stretch)),
    })
}

impl Link {
    /// The link by a line through the points, of which the slope is that of a link between these two.
    pub(super) fn fit(points: &[Point], slowest_bps: f64, fastest_bps: f64) -> Option<Self> {
        let means = means(points)?;
        let slope = match means.square > 0.0 {
            true => means.product / means.square,
            false => 0.0,
        };
        let slope = slope.clamp(1.0 / fastest_bps, 1.0 / slowest_bps);
        Some(Self::of_slope(&means, slope))
    }

    fn of_slope(means: &Means, slope: f64) -> Self {
        Self {
            capacity_bps: 1.0 / slope,
            available_bps: means.rate - (means.stretch - 1.0) / slope,
        }
    }
}

/// The mean of what an estimate says, and its interval, when each of the points in turn is left out (Tukey's jackknife):
/// `None` of fewer than three.
pub(super) fn jackknife(
    points: &[Point],
    estimate: impl Fn(&[Point]) -> Option<f64>,
) -> Option<(f64, (f64, f64))> {
    let n = points.len() as f64;
    let all = estimate(points)?;
    if points.len() < 3 {
        return None;
    }
    let without = |left_out: usize| {
        let rest: Vec<Point> = points
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != left_out)
            .map(|(_, point)| *point)
            .collect();
        estimate(&rest)
    };
    let pseudo: Option<Vec<f64>> = (0..points.len())
        .map(|at| Some(n * all - (n - 1.0) * without(at)?))
        .collect();
    let (_, interval) = mean_interval(&pseudo?, LEVEL)?;
    let half = (interval.high - interval.low) / 2.0;
    Some((all, (all - half, all + half)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(rate: f64, stretch: f64) -> Point {
        Point {
            rate_bps: rate,
            stretch,
            lasts_ns: 1e6,
        }
    }

    #[test]
    fn a_line_has_its_link() {
        let of = |rate: f64| point(rate, (rate + 100.0) / 300.0);
        let points = [of(210.0), of(250.0), of(280.0)];
        let link = Link::fit(&points, 1.0, 1e9).unwrap();
        assert!(
            (link.capacity_bps - 300.0).abs() < 1e-6 && (link.available_bps - 200.0).abs() < 1e-6
        );
        let (all, (low, high)) =
            jackknife(&points, |p| Some(Link::fit(p, 1.0, 1e9)?.available_bps)).unwrap();
        assert!((all - 200.0).abs() < 1e-6 && high - low < 1e-6);
        assert!(jackknife(&points[..2], |_| Some(1.0)).is_none());
    }

    #[test]
    fn a_slope_that_no_link_has_is_brought_back() {
        let points = [point(210.0, 1.2), point(280.0, 1.1)];
        let link = Link::fit(&points, 250.0, 400.0).unwrap();
        assert!((link.capacity_bps - 400.0).abs() < 1e-9, "{link:?}");
        assert_eq!(Link::fit(&[], 1.0, 2.0), None);
    }
}
