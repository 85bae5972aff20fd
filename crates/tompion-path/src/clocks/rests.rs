//! A line through probes at rest, by least squares.

use super::exchange::Exchange;
use super::line::Line;

/// So many probes it takes at least.
const FEWEST: usize = 8;

/// By how much the far end's clock is ahead, by least squares of the middles between both ways of the probes that are at rest:
/// the method of Whiteaker, Schneider and Teixeira (ACM SIGCOMM CCR 41(1), 2011), who rest before and after a load. It takes
/// what waits at rest for noise, and a clock that keeps its rate all the time. Nothing of fewer than eight probes, or of
/// probes of one moment.
pub fn through_rests(exchanges: &[Exchange], is_at_rest: impl Fn(usize) -> bool) -> Option<Line> {
    let at_rest: Vec<&Exchange> = exchanges.iter().filter(|e| is_at_rest(e.row)).collect();
    let first = at_rest.first().filter(|_| at_rest.len() >= FEWEST)?;
    let middle = |e: &Exchange| {
        let (out, home) = (
            e.far_received_ns.wrapping_sub(e.sent_ns),
            e.far_sent_ns.wrapping_sub(e.received_ns),
        );
        // Of two that differ by a round trip.
        out.wrapping_sub(out.wrapping_sub(home) / 2)
    };
    let (origin_ns, whole_ns) = (first.sent_ns, middle(first));
    let points = at_rest.iter().map(|e| {
        let at = e.sent_ns.wrapping_sub(origin_ns) as f64;
        (at, middle(e).wrapping_sub(whole_ns) as f64)
    });
    let points: Vec<(f64, f64)> = points.collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    let together: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let rate = together / spread;
    rate.is_finite().then_some(Line {
        at_ns: origin_ns,
        ahead_ns: (whole_ns, y - rate * x),
        rate,
    })
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, Exp};

    use super::*;

    const EPOCH_NS: i64 = 1_700_000_000_000_000_000;
    const AHEAD_NS: i64 = 3_000_000_000;

    /// 200 probes at rest, 600 of which what goes out waits for up to 40 ms, and 200 at rest, one each 50 ms.
    fn exchanges(seed: u64, ppm: f64) -> Vec<Exchange> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let wait = Exp::new(1.0 / 20_000.0).unwrap();
        let ahead = |at: i64| AHEAD_NS + (ppm * 1e-6 * (at - EPOCH_NS) as f64).round() as i64;
        let of_row = |row: usize| {
            let sent_ns = EPOCH_NS + row as i64 * 50_000_000;
            let loaded = if is_at_rest(row) {
                0
            } else {
                random.random_range(0..40_000_000)
            };
            let came = sent_ns + 10_000_000 + wait.sample(&mut random) as i64 + loaded;
            let left = came + 45_000;
            Exchange {
                row,
                sent_ns,
                far_received_ns: came + ahead(came),
                far_sent_ns: left + ahead(left),
                received_ns: left + 10_000_000 + wait.sample(&mut random) as i64,
            }
        };
        (0..1_000).map(of_row).collect()
    }

    fn is_at_rest(row: usize) -> bool {
        !(200..800).contains(&row)
    }

    #[test]
    fn the_rate_is_that_of_the_clock_whatever_waits_under_load() {
        for (seed, ppm) in [(1, 80.0), (2, -20.0), (3, 0.0)] {
            let all = exchanges(seed, ppm);
            let line = through_rests(&all, is_at_rest).unwrap();
            assert!((1e6 * line.rate - ppm).abs() < 0.2, "{ppm}: {line:?}");
            let off = line.ahead_at(EPOCH_NS) - AHEAD_NS;
            assert!(off.abs() < 5_000, "{off}");
            // Of all probes the load would be taken for the clock.
            let wrong = through_rests(&all, |row| row < 800).unwrap();
            assert!((1e6 * wrong.rate - ppm).abs() > 20.0, "{wrong:?}");
        }
    }

    #[test]
    fn of_few_probes_or_one_moment_there_is_no_line() {
        let all = exchanges(4, 80.0);
        assert_eq!(through_rests(&all, |row| row < 7), None);
        assert_eq!(through_rests(&[all[0]; 20], |_| true), None);
        assert_eq!(through_rests(&[], |_| true), None);
    }
}
