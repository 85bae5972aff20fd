//! Packets that pass at once until a bucket is empty, and then at its rate (a shaper, as cloud instances have).

use super::super::super::response::{Arrival, arrivals};
use super::super::super::train::TrainSeen;

/// Packets before and behind the moment at which the bucket is empty.
const BEFORE: usize = 12;
const BEHIND: usize = 16;
/// Two straight parts explain at least so much of what one leaves unexplained.
const EXPLAINED: f64 = 0.95;
/// How well trains have to agree.
const AGREE_RATE: f64 = 0.03;
const AGREE_DEPTH: f64 = 0.12;

/// A train of which the first part passed at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    rate_bps: f64,
    depth_bytes: f64,
}

impl Seen {
    pub(super) fn of(train: &TrainSeen) -> Option<Self> {
        let all = arrivals(train);
        if all.len() < BEFORE + BEHIND {
            return None;
        }
        // Delay against time: none at first, and then a slope.
        let delay = |a: &Arrival| a.received - a.sent;
        let knee = |at: usize| -> Option<(f64, f64)> {
            let (before, behind) = all.split_at(at);
            let level = before.iter().map(delay).sum::<f64>() / before.len() as f64;
            let flat: f64 = before.iter().map(|a| (delay(a) - level).powi(2)).sum();
            let (slope, from, rest) = line(behind, &delay)?;
            // The two meet.
            let meets = from + slope * before.last()?.sent;
            let step = all.last()?.received / all.len() as f64;
            ((meets - level).abs() < 2.0 * step && slope > 0.02).then_some((flat + rest, slope))
        };
        let (_, _, single) = line(&all, &delay)?;
        let places = BEFORE..=all.len() - BEHIND;
        let best = places.filter_map(|at| knee(at).map(|(rest, slope)| (at, rest, slope)));
        let (at, rest, _) = best.min_by(|a, b| a.1.total_cmp(&b.1))?;
        if rest > (1.0 - EXPLAINED) * single || single <= 0.0 {
            return None;
        }
        let (first, last) = (all[at], *all.last()?);
        let bits = f64::from(train.plan.bytes) * 8.0;
        let rate_bps = bits * (last.number - first.number) * 1e9 / (last.received - first.received);
        // What had passed by then less what came in meanwhile.
        let passed = bits * (first.number + 1.0) - rate_bps * first.received / 1e9;
        Some(Self {
            rate_bps,
            depth_bytes: passed / 8.0,
        })
    }
}

impl Seen {
    /// How long the bucket takes to be full again, in nanoseconds, generously.
    pub(super) fn fills_ns(&self) -> f64 {
        2.0 * self.depth_bytes.max(0.0) * 8e9 / self.rate_bps
    }
}

/// Slope and beginning of a line through some, and the sum of squares around it.
fn line(of: &[Arrival], value: &dyn Fn(&Arrival) -> f64) -> Option<(f64, f64, f64)> {
    let n = of.len() as f64;
    let (x, y) = of
        .iter()
        .fold((0.0, 0.0), |(x, y), a| (x + a.sent / n, y + value(a) / n));
    let (xx, xy) = of.iter().fold((0.0, 0.0), |(xx, xy), a| {
        (
            xx + (a.sent - x).powi(2),
            xy + (a.sent - x) * (value(a) - y),
        )
    });
    if xx <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    let rest = of
        .iter()
        .map(|a| (value(a) - y - slope * (a.sent - x)).powi(2))
        .sum();
    Some((slope, y - slope * x, rest))
}

/// What three trains agree on: the last one and two before it.
pub(super) fn agreed(all: &[Seen]) -> Option<(f64, f64)> {
    let (last, before) = all.split_last()?;
    let same = |a: f64, b: f64, by: f64| (a / b - 1.0).abs() < by;
    let alike: Vec<&Seen> = before
        .iter()
        .filter(|one| {
            same(one.rate_bps, last.rate_bps, AGREE_RATE)
                && same(one.depth_bytes, last.depth_bytes, AGREE_DEPTH)
        })
        .collect();
    (alike.len() >= 2).then(|| {
        let n = alike.len() as f64 + 1.0;
        let sum =
            |of: fn(&Seen) -> f64| (alike.iter().map(|one| of(one)).sum::<f64>() + of(last)) / n;
        (sum(|one| one.rate_bps), sum(|one| one.depth_bytes))
    })
}
