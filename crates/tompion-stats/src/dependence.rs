//! How much samples of one series depend on one another.
//!
//! Timing samples come in runs: a stall, a busy neighbour, a lower clock speed
//! touch many in a row. The integrated autocorrelation time tau says how many
//! such samples tell as much about a mean or a quantile as one independent one;
//! n samples are worth n / tau.

/// Lags that are looked at on each scale; longer ones are seen on a coarser one.
const LAGS: usize = 64;

/// A coarser scale is looked at only while it has so many points.
const LEAST_POINTS: usize = 256;

/// Below so many samples an autocorrelation time means nothing.
const LEAST_SAMPLES: usize = 16;

/// What dependence leaves of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependence {
    /// Samples in the series.
    pub samples: usize,
    /// Integrated autocorrelation time in samples, at least 1.
    pub autocorrelation_time: f64,
    /// Independent samples that would tell as much: samples / autocorrelation time.
    pub effective_samples: f64,
}

impl Dependence {
    /// Dependence of the values of a series in time order, for its mean and body.
    ///
    /// The larger of the autocorrelation times of the values and of their ranks:
    /// one huge value hides the correlation of all others, and ranks hide
    /// stretches of huge values. A series of one value repeated has time 1:
    /// nothing varies, nothing can be seen to depend. `None` below 16 samples.
    pub fn of(values: &[i64]) -> Option<Self> {
        let raw: Vec<f64> = values.iter().map(|&v| v as f64).collect();
        Self::larger(&[&raw, &ranks(values)])
    }

    /// Dependence as far as it touches the `q`-quantile: the larger of the
    /// autocorrelation times of the ranks and of "lies above the quantile", the
    /// indicator whose mean decides where the sample quantile falls (Bahadur
    /// 1966). `None` below 16 samples or with `q` outside 0..=1.
    pub fn at_quantile(values: &[i64], q: f64) -> Option<Self> {
        Self::larger(&[&ranks(values), &above_quantile(values, q)?])
    }

    fn larger(faces: &[&[f64]]) -> Option<Self> {
        let samples = faces[0].len();
        if samples < LEAST_SAMPLES {
            return None;
        }
        let autocorrelation_time = faces.iter().map(|f| integrated_time(f)).fold(1.0, f64::max);
        Some(Self {
            samples,
            autocorrelation_time,
            effective_samples: samples as f64 / autocorrelation_time,
        })
    }
}

/// The autocorrelation function at lags 0 to `max_lag` (fewer in a shorter
/// series), with divisor n at every lag (Box and Jenkins 1976, §2.1.5).
///
/// `None` for a constant series, which has none.
pub fn autocorrelation(values: &[f64], max_lag: usize) -> Option<Vec<f64>> {
    variance(values)?;
    let centred = centred(values);
    let whole = products(&centred, 0);
    let lags = max_lag.min(values.len() - 1);
    Some(
        (0..=lags)
            .map(|lag| products(&centred, lag) / whole)
            .collect(),
    )
}

/// The integrated autocorrelation time 1 + 2 (rho_1 + rho_2 + ...), at least 1.
///
/// Where to end the sum: Geyer's initial positive sequence (1992, §3.3), which
/// adds up pairs of lags until one is not positive; it follows a weak but long
/// correlation further than a window of a few times tau (Sokal 1997, §3) does.
/// A correlation too weak to be seen between single samples is seen between
/// means of many: the series is halved by averaging neighbours again and again
/// (Flyvbjerg and Petersen 1989), and the largest time of all scales counts,
/// each by tau = m Var(mean of m) tau_m / Var. So each pass costs 64 lags, and
/// correlation is followed up to a quarter of the series.
pub(crate) fn integrated_time(series: &[f64]) -> f64 {
    let Some(variance) = variance(series) else {
        return 1.0;
    };
    let mut largest = 1.0f64;
    let mut scale = series.to_vec();
    let mut of_samples = 1.0;
    while let Some(coarse) = self::variance(&scale) {
        let time = 2.0 * positive_sequence(&scale, coarse) - 1.0;
        largest = largest.max(of_samples * coarse / variance * time);
        if scale.len() / 2 < LEAST_POINTS {
            break;
        }
        scale = means(&scale, 2);
        of_samples *= 2.0;
    }
    largest
}

/// The sum of autocorrelations from lag 0 on, in pairs, until one is not positive.
fn positive_sequence(series: &[f64], variance: f64) -> f64 {
    let centred = centred(series);
    let scale = variance * series.len() as f64;
    (0..LAGS.min(series.len() - 1))
        .step_by(2)
        .map(|lag| (products(&centred, lag) + products(&centred, lag + 1)) / scale)
        .take_while(|sum| *sum > 0.0)
        .sum()
}

fn centred(series: &[f64]) -> Vec<f64> {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    series.iter().map(|v| v - mean).collect()
}

/// The sum of products of values `lag` apart, in four sums at once: one alone
/// would wait for each addition.
fn products(centred: &[f64], lag: usize) -> f64 {
    let later = &centred[lag..];
    let (fours, rest) = (
        centred[..later.len()].chunks_exact(4),
        later.chunks_exact(4),
    );
    let tail: f64 = fours
        .remainder()
        .iter()
        .zip(rest.remainder())
        .map(|(a, b)| a * b)
        .sum();
    let sums = fours.zip(rest).fold([0.0; 4], |mut sums, (a, b)| {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
        sums
    });
    sums.iter().sum::<f64>() + tail
}

/// Means of whole groups of `size` neighbours; what is left over is dropped.
pub(crate) fn means(series: &[f64], size: usize) -> Vec<f64> {
    series
        .chunks_exact(size)
        .map(|c| c.iter().sum::<f64>() / size as f64)
        .collect()
}

/// The variance with divisor n; `None` where nothing varies.
fn variance(series: &[f64]) -> Option<f64> {
    series.iter().any(|v| *v != series[0]).then_some(())?;
    Some(products(&centred(series), 0) / series.len() as f64).filter(|v| *v > 0.0)
}

/// Mid-ranks in time order.
fn ranks(values: &[i64]) -> Vec<f64> {
    // The values beside their places: looking them up would take longer than sorting.
    let mut order: Vec<(i64, usize)> = values.iter().copied().zip(0..).collect();
    order.sort_unstable_by_key(|&(value, _)| value);
    let mut ranks = vec![0.0; values.len()];
    let mut seen = 0;
    for tied in order.chunk_by(|a, b| a.0 == b.0) {
        let rank = seen as f64 + (tied.len() + 1) as f64 / 2.0;
        tied.iter().for_each(|&(_, i)| ranks[i] = rank);
        seen += tied.len();
    }
    ranks
}

/// For each value 1 above the `q`-quantile, 0 below, 0.5 on it.
pub(crate) fn above_quantile(values: &[i64], q: f64) -> Option<Vec<f64>> {
    let quantile = sample_quantile(values, q)?;
    let side = |v: &i64| match (*v as f64).total_cmp(&quantile) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Greater => 1.0,
    };
    Some(values.iter().map(side).collect())
}

/// The `q`-quantile of raw values by Hyndman and Fan's definition 7, without
/// sorting all of them.
pub(crate) fn sample_quantile(values: &[i64], q: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let position = q * (values.len() - 1) as f64;
    let rank = position.floor() as usize;
    let mut values = values.to_vec();
    let (_, below, above) = values.select_nth_unstable(rank);
    let next = above.iter().min().unwrap_or(below);
    // Unsigned: they may be further apart than an `i64` can tell.
    Some(*below as f64 + (position - rank as f64) * next.abs_diff(*below) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::{Noise, autoregressive};
    use proptest::prelude::*;

    fn mean_time(n: usize, phi: f64, rounds: u64) -> f64 {
        let times = (0..rounds).map(|seed| {
            let series = autoregressive(&mut Noise::new(seed), n, phi);
            integrated_time(&series)
        });
        times.sum::<f64>() / rounds as f64
    }

    #[test]
    fn autocorrelation_by_hand() {
        // Deviations -1.5 -0.5 0.5 1.5: products 5, 1.25, -1.5, -2.25.
        let rho = autocorrelation(&[1.0, 2.0, 3.0, 4.0], 9).unwrap();
        assert_eq!(rho, [1.0, 0.25, -0.3, -0.45]);
        assert_eq!(autocorrelation(&[7.0; 5], 2), None);
        assert_eq!(autocorrelation(&[], 2), None);
    }

    #[test]
    fn an_autoregression_has_the_time_of_the_textbook() {
        // (1 + phi) / (1 - phi) = 19.
        let time = mean_time(20_000, 0.9, 40);
        assert!((17.0..25.0).contains(&time), "{time}");
    }

    #[test]
    fn independent_values_have_time_one() {
        let time = mean_time(20_000, 0.0, 40);
        assert!((1.0..1.6).contains(&time), "{time}");
    }

    #[test]
    fn a_weak_slow_part_is_not_overlooked() {
        // Nine tenths of the variance are noise, one tenth lasts: the time is
        // 1 + 2 * 0.1 * 0.99 / 0.01 = 20.8, where a window of 5 tau ends at 7.
        let times = (0..20).map(|seed| {
            let mut noise = Noise::new(seed);
            let slow = autoregressive(&mut noise, 50_000, 0.99);
            let mixed: Vec<f64> = slow
                .iter()
                .map(|s| 0.1f64.sqrt() * s + 0.9f64.sqrt() * noise.normal())
                .collect();
            integrated_time(&mixed)
        });
        let mean = times.sum::<f64>() / 20.0;
        assert!((17.0..29.0).contains(&mean), "{mean}");
    }

    #[test]
    fn one_huge_value_does_not_hide_the_rest() {
        let series = autoregressive(&mut Noise::new(3), 5_000, 0.9);
        let mut values: Vec<i64> = series.iter().map(|v| (v * 1e3) as i64).collect();
        values[2_500] = i64::from(u32::MAX) * 1000;
        let d = Dependence::of(&values).unwrap();
        assert!(d.autocorrelation_time > 10.0, "{d:?}");
        assert!((d.effective_samples - 5_000.0 / d.autocorrelation_time).abs() < 1e-9);
    }

    #[test]
    fn clustered_stalls_are_seen_at_the_tail() {
        // Runs of 50 slow samples among independent ones: the body is nearly
        // free, the 95th percentile is not.
        let mut noise = Noise::new(5);
        let values: Vec<i64> = (0..20_000)
            .map(|i| {
                let slow = (i / 50) % 20 == 7;
                (1e3 * noise.uniform()) as i64 + if slow { 1_000_000 } else { 0 }
            })
            .collect();
        let d = Dependence::at_quantile(&values, 0.95).unwrap();
        assert!(d.autocorrelation_time > 25.0, "{d:?}");
    }

    #[test]
    fn constant_and_short_series() {
        assert_eq!(Dependence::of(&[3; 100]).unwrap().autocorrelation_time, 1.0);
        assert!(Dependence::of(&[1; 15]).is_none());
        assert!(Dependence::at_quantile(&[1; 100], 1.5).is_none());
    }

    proptest! {
        #[test]
        fn place_and_scale_do_not_matter(v in prop::collection::vec(-1000i64..1000, 16..300), by in -10_000i64..10_000, times in 1i64..50) {
            let moved: Vec<i64> = v.iter().map(|x| x * times + by).collect();
            for (a, b) in [(Dependence::of(&v), Dependence::of(&moved)),
                           (Dependence::at_quantile(&v, 0.9), Dependence::at_quantile(&moved, 0.9))] {
                let (a, b) = (a.unwrap().autocorrelation_time, b.unwrap().autocorrelation_time);
                prop_assert!(a >= 1.0 && (a - b).abs() < 1e-6 * a, "{a} {b}");
            }
        }

        #[test]
        fn quantiles_are_those_of_the_distribution(v in prop::collection::vec(-1000i64..1000, 1..100), q in 0.0f64..=1.0) {
            let want = crate::Distribution::from_values(v.iter().copied()).quantile(q).unwrap();
            prop_assert!((sample_quantile(&v, q).unwrap() - want).abs() < 1e-9);
        }
    }
}
