//! Series with known and with recorded dependence, and how often a test may err.
#[path = "../../src/test_noise.rs"]
#[allow(dead_code)]
mod test_noise;

use statrs::distribution::{Binomial, DiscreteCDF};
pub(crate) use test_noise::{Noise, autoregressive};
use tompion_stats::Series;

/// Level of every test here.
pub(crate) const LEVEL: f64 = 0.05;

/// Draws of a null test.
pub(crate) const DRAWS: u64 = 2000;

/// As many of a recorded machine where `TOMPION_LONG` is set (`make test-full`), else a
/// tenth: each reckons for a hundredth of a second, and all are seeded.
pub(crate) fn draws_of_machine(all: u64) -> u64 {
    match std::env::var_os("TOMPION_LONG") {
        Some(_) => all,
        None => all / 10,
    }
}

/// The most rejections of `n` true hypotheses that chance excuses, at 99 %.
pub(crate) fn most_rejections(n: u64) -> u64 {
    Binomial::new(LEVEL, n).unwrap().inverse_cdf(0.99)
}

/// The fewest findings of `n` chances of `power` that chance excuses, at 99 %.
pub(crate) fn least_findings(power: f64, n: u64) -> u64 {
    Binomial::new(power, n).unwrap().inverse_cdf(0.01)
}

/// An autoregression with coefficient 0.9 and variance 1, in millionths.
pub(crate) fn ar(noise: &mut Noise, n: usize) -> Vec<i64> {
    let series = autoregressive(noise, n, 0.9);
    series.iter().map(|v| (v * 1e6) as i64).collect()
}

/// The same with stalls in clusters: one begins at every 500th sample on average,
/// lasts 30 on average, and makes every third of them late by a heavy tail
/// (Pareto, exponent 1.5, from 5 standard deviations on).
pub(crate) fn ar_with_stalls(noise: &mut Noise, n: usize) -> Vec<i64> {
    let mut stalled = false;
    let mut series = ar(noise, n);
    for value in &mut series {
        stalled = match stalled {
            true => noise.uniform() > 1.0 / 30.0,
            false => noise.uniform() < 1.0 / 500.0,
        };
        if stalled && noise.uniform() < 1.0 / 3.0 {
            *value += (5e6 * (1.0 - noise.uniform()).powf(-1.0 / 1.5)) as i64;
        }
    }
    series
}

/// Two disjoint stretches of `length` samples at random places, in random order.
pub(crate) fn draw<'a>(
    noise: &mut Noise,
    series: &'a [i64],
    length: usize,
) -> (&'a [i64], &'a [i64]) {
    let free = (series.len() - 2 * length) as f64;
    let (x, y) = (noise.uniform() * free, noise.uniform() * free);
    let first = &series[x.min(y) as usize..][..length];
    let second = &series[x.max(y) as usize + length..][..length];
    match noise.uniform() < 0.5 {
        true => (first, second),
        false => (second, first),
    }
}

/// Samples of the recordings as a trial: one every 10 ms.
pub(crate) fn of_machine(values: &[i64]) -> Series<'_> {
    Series::lasting(values, values.len() as f64 / 100.0)
}

/// Wake-up latencies of a recorded machine in nanoseconds; see tests/data/README.md.
/// The method was tuned with this recording in view.
pub(crate) fn recorded() -> Vec<i64> {
    decoded(include_bytes!("../data/wake-up-latency.deltas"))
}

/// Another recording of it, made when the method had long been settled.
pub(crate) fn recorded_later() -> Vec<i64> {
    decoded(include_bytes!("../data/wake-up-latency-later.deltas"))
}

/// The one after, during which the machine's load ebbed and came back.
pub(crate) fn recorded_ebbing() -> Vec<i64> {
    decoded(include_bytes!("../data/wake-up-latency-ebbing.deltas"))
}

fn decoded(bytes: &[u8]) -> Vec<i64> {
    let mut value = 0;
    let mut values = Vec::new();
    let (mut code, mut bits) = (0u64, 0);
    for byte in bytes {
        code |= u64::from(byte & 0x7f) << bits;
        bits += 7;
        if byte & 0x80 == 0 {
            value += (code >> 1) as i64 ^ -((code & 1) as i64);
            values.push(10 * value);
            (code, bits) = (0, 0);
        }
    }
    values
}
