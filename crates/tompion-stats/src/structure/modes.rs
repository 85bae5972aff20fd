//! Lengths that occur far more often than their neighbours.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::{Distribution, Interval, order_statistic_interval};

/// Bins an octave of the finest histogram.
const BINS_AN_OCTAVE: usize = 64;

/// Widths of a mode, in those bins: from a 32nd of an octave (2 %) to half of
/// one (41 %).
const WIDTHS: [usize; 5] = [2, 4, 8, 16, 32];

/// Modes found by chance are expected to be fewer than this a call.
const FALSE_ALARMS: f64 = 1e-3;

/// A mode is at least as wide as this many steps of the clock: on a finer
/// scale the steps themselves would be modes.
const STEPS: u64 = 8;

/// A length around which values crowd, for example a scheduler's quantum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Median of the mode's values, in ns.
    pub at_ns: f64,
    /// 95 % interval for that median, in ns.
    pub interval: Interval,
    /// The shortest value counted to the mode, in ns.
    pub least_ns: u64,
    /// The longest, in ns.
    pub most_ns: u64,
    /// Values in the mode.
    pub count: u64,
    /// The same as a share of all values.
    pub share: f64,
    /// Decimal logarithm of the number of such modes to be expected by chance.
    pub log10_false_alarms: f64,
}

/// The modes of `values_ns`, ascending.
///
/// Looked at on a logarithmic scale, a window of 1/32 to 1/2 octave is a mode
/// if it holds at least twice as many values as either neighbouring window of
/// the same width, and if so many more than the fuller neighbour, times the
/// number of windows looked at, are to be expected less than 0.001 times (one-sided
/// binomial test) of a density that rises or falls no faster than in proportion
/// to length, as a uniform one and a Pareto one of index 1 do: a number of false alarms, after
/// Desolneux, Moisan and Morel, "A Grouping Principle and Four Applications",
/// IEEE PAMI 25 (2003). Of overlapping windows the most significant one counts.
/// An exponential distribution has no mode in this sense, nor has a uniform
/// one; humps broader than an octave have none either.
///
/// `least_ns` is the threshold below which no values were recorded: a mode
/// must stand clear of it. `resolution_ns` is the step of the clock; modes
/// narrower than eight steps are not looked for.
pub fn modes(values_ns: &[u64], least_ns: u64, resolution_ns: u64) -> Vec<Mode> {
    let mut sorted = values_ns.to_vec();
    sorted.sort_unstable();
    let Some(&most) = sorted.last() else {
        return Vec::new();
    };
    let least_wide_ns = STEPS.saturating_mul(resolution_ns.max(1));
    let lowest = least_ns.max(least_wide_ns);
    // Edges, not bins, are kept: counting a window is a subtraction.
    let first = sorted.partition_point(|&v| v < lowest);
    let origin = (lowest as f64).log2();
    let last = ((most.max(1) as f64).log2() - origin).max(0.0) * BINS_AN_OCTAVE as f64;
    let reach = last as usize + 2 + 2 * WIDTHS[WIDTHS.len() - 1];
    let edge_ns = |i: usize| (origin + i as f64 / BINS_AN_OCTAVE as f64).exp2();
    let mut at = first;
    let below: Vec<usize> = (0..=reach)
        .map(|i| {
            let edge = edge_ns(i);
            at += sorted[at..].partition_point(|&v| (v as f64) < edge);
            at
        })
        .collect();

    let windows = (last as usize + 1) * WIDTHS.len();
    let mut found: Vec<(f64, usize, usize)> = Vec::new();
    for width in WIDTHS {
        for from in width..=reach - 2 * width {
            let count = |a: usize| (below[a + width] - below[a]) as u64;
            let wide_ns = edge_ns(from + width) - edge_ns(from);
            if wide_ns < least_wide_ns as f64 {
                continue;
            }
            let (own, fuller) = (count(from), count(from - width).max(count(from + width)));
            // Cheap before dear; fewer than eight can never be significant.
            if own < 8 || own < 2 * fuller {
                continue;
            }
            let log10 = (windows as f64).log10() + log10_tail(own, fuller, width);
            if log10 < FALSE_ALARMS.log10() {
                found.push((log10, from, width));
            }
        }
    }
    // The widest of equals: it holds all of the mode.
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)));
    let mut chosen: Vec<(f64, usize, usize)> = Vec::new();
    for f in found {
        // A mode takes its neighbouring windows with it: its own flanks.
        if chosen
            .iter()
            .all(|c| f.1 + f.2 + c.2 <= c.1 || c.1 + 2 * c.2 <= f.1)
        {
            chosen.push(f);
        }
    }
    chosen.sort_by_key(|c| c.1);
    chosen
        .into_iter()
        .filter_map(|(log10, from, width)| {
            let inside = &sorted[below[from]..below[from + width]];
            let d = Distribution::from_values(inside.iter().map(|&v| v as i64));
            Some(Mode {
                at_ns: d.median()?,
                interval: order_statistic_interval(&d, 0.5, 0.95)?,
                least_ns: *inside.first()?,
                most_ns: *inside.last()?,
                count: d.len(),
                share: d.len() as f64 / sorted.len() as f64,
                log10_false_alarms: log10,
            })
        })
        .collect()
}

/// log10 of P(X >= own) for X binomial with own + other trials, in two windows
/// of `width` bins each whose densities differ as their lengths do.
fn log10_tail(own: u64, other: u64, width: usize) -> f64 {
    let ratio = (width as f64 / BINS_AN_OCTAVE as f64).exp2();
    let (own_chance, other_chance) = (ratio / (1.0 + ratio), 1.0 / (1.0 + ratio));
    let n = own + other;
    let exact = Binomial::new(other_chance, n).map_or(1.0, |b| b.cdf(other));
    if exact > 1e-300 {
        return exact.log10();
    }
    // Beyond the range of f64: Chernoff's bound.
    let term = |count: u64, chance: f64| {
        let share = count as f64 / n as f64;
        if count > 0 {
            share * (share / chance).ln()
        } else {
            0.0
        }
    };
    -(n as f64) * (term(own, own_chance) + term(other, other_chance)) / std::f64::consts::LN_10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::Noise;

    /// Values around `at_ns` with a relative spread, beside exponential ones.
    fn mixed(seed: u64, n: usize, share: f64, at_ns: f64, spread: f64) -> Vec<u64> {
        let mut noise = Noise::new(seed);
        (0..n)
            .map(|_| {
                if noise.uniform() < share {
                    (at_ns * (1.0 + spread * noise.normal())) as u64
                } else {
                    (1e6 * noise.exponential()) as u64
                }
            })
            .collect()
    }

    #[test]
    fn quanta_are_found_with_their_share() {
        for (at, spread) in [(4e6, 0.001), (4e6, 0.02), (30e6, 0.05), (2e6, 0.01)] {
            let values = mixed(9, 4000, 0.2, at, spread);
            let found = modes(&values, 1_000, 1);
            assert_eq!(found.len(), 1, "{at} {spread}: {found:?}");
            let mode = found[0];
            assert!(
                (mode.at_ns / at - 1.0).abs() < 0.01 + spread / 5.0,
                "{mode:?}"
            );
            assert!(mode.interval.contains(mode.at_ns));
            assert!((mode.share - 0.2).abs() < 0.07, "{mode:?}");
        }
    }

    #[test]
    fn steps_as_long_as_all_time_leave_no_mode() {
        let values = mixed(9, 4000, 0.2, 4e6, 0.01);
        assert!(modes(&values, 1_000, u64::MAX).is_empty());
        assert!(modes(&values, u64::MAX, 1).is_empty());
    }

    #[test]
    fn two_quanta_are_two_modes() {
        let mut values = mixed(1, 3000, 0.3, 4e6, 0.01);
        values.extend(mixed(2, 3000, 0.3, 30e6, 0.01));
        let found: Vec<f64> = modes(&values, 1_000, 1).iter().map(|m| m.at_ns).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!((found[0] / 4e6 - 1.0).abs() < 0.01 && (found[1] / 30e6 - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_single_value_is_a_mode_but_few_are_not() {
        let one = modes(&[4_000_000; 100], 1_000, 1);
        assert_eq!((one.len(), one[0].count, one[0].at_ns), (1, 100, 4e6));
        assert!(modes(&[4_000_000; 7], 1_000, 1).is_empty());
        assert!(modes(&[], 0, 0).is_empty() && modes(&[0; 50], 0, 1).is_empty());
    }

    #[test]
    fn smooth_distributions_have_none() {
        for seed in 0..200 {
            let mut noise = Noise::new(seed);
            let n = [50, 500, 5000][seed as usize % 3];
            let mut draw = |f: &dyn Fn(&mut Noise) -> f64| -> Vec<u64> {
                (0..n).map(|_| f(&mut noise) as u64).collect()
            };
            let smooth = [
                draw(&|r| 1e6 * r.exponential()),
                draw(&|r| 1e6 * r.uniform()),
                draw(&|r| 1e5 * (1.5 * r.normal()).exp()),
                draw(&|r| 1e4 * r.uniform().max(1e-9).powf(-1.0)),
            ];
            for (which, values) in smooth.iter().enumerate() {
                let found = modes(values, 1_000, 1);
                assert!(found.is_empty(), "{seed} {which}: {found:?}");
            }
        }
    }

    #[test]
    fn the_steps_of_a_coarse_clock_are_no_modes() {
        let mut noise = Noise::new(8);
        let values: Vec<u64> = (0..50_000)
            .map(|_| (5e4 * noise.exponential()) as u64 / 1000 * 1000)
            .collect();
        assert!(modes(&values, 1_000, 1_000).is_empty());
    }

    #[test]
    fn tails_are_those_of_the_binomial() {
        // Windows an octave wide: chances 2/3 and 1/3.
        let third = BINS_AN_OCTAVE;
        assert!((log10_tail(10, 0, third) - 10.0 * (2.0f64 / 3.0).log10()).abs() < 1e-9);
        assert!((log10_tail(5000, 0, third) - 5000.0 * (2.0f64 / 3.0).log10()).abs() < 1e-6);
        // P(X >= 2 of 3) = 20/27.
        assert!((log10_tail(2, 1, third) - (20.0f64 / 27.0).log10()).abs() < 1e-9);
    }
}
