//! A rough period made sharp by looking at ever longer multiples of it.

use super::candidates::{Candidate, median, sampler};

/// Bins across the window in which a multiple of the period is sought.
const BINS: usize = 64;

/// Events from which pairs are formed at each step, and pairs, at most about.
const REFERENCES: u64 = 20_000;
const PAIRS: f64 = 500_000.0;
/// Beyond so many times as many nothing is added: events that come in clusters have any number.
const MANY_TIMES: usize = 16;

/// The period of a candidate, as sharp as the events allow.
///
/// The lag near m P is measured for m = 1, 2, 4, ..; each step halves the
/// period's relative error until the span is used up or the lag no longer
/// stands out. It follows a comb whose phase drifts, as long as that is slow.
pub(super) fn refine(times: &[u64], span_ns: u64, candidate: Candidate) -> f64 {
    let mut period = candidate.period_ns;
    let mut window = candidate.tolerance_ns;
    let mut multiple = 1.0;
    let Some(mut lag) = measure(times, period, window.min(period / 4.0)) else {
        return period;
    };
    loop {
        period = lag.at_ns / multiple;
        let next = [2.0, 1.5].map(|f: f64| (multiple * f).ceil());
        let mut measured = None;
        for m in next {
            if m > multiple && m * period < 0.75 * span_ns as f64 {
                let growth = m / multiple;
                window = (2.0 * growth * lag.error_ns + 2.0 * lag.extent_ns).min(period / 4.0);
                measured = measure(times, m * period, window).map(|lag| (m, lag));
                if measured.is_some() {
                    break;
                }
            }
        }
        match measured {
            Some((m, found)) => (multiple, lag) = (m, found),
            None => return period,
        }
    }
}

/// A frequent lag.
struct Lag {
    at_ns: f64,
    /// How far it may be from the truth.
    error_ns: f64,
    /// Half the width of its peak.
    extent_ns: f64,
}

/// The most frequent lag within `window` of `near`, where one stands out.
fn measure(times: &[u64], near: f64, window: f64) -> Option<Lag> {
    let window = window.max(BINS as f64);
    let (from, until) = ((near - window).max(1.0), near + window);
    let scale = BINS as f64 / (until - from);
    let spread = times.last()?.saturating_sub(times[0]).max(1) as f64;
    let partners = 1.0 + times.len() as f64 * (until - from) / spread;
    let references = REFERENCES.min((PAIRS / partners) as u64 + 1);
    let kept = sampler(references, times.len() as u64);
    let mut bins = [0.0f64; BINS];
    let (mut low, mut high) = (0, 0);
    let mut left = MANY_TIMES * PAIRS as usize;
    for (i, &t) in times.iter().enumerate().filter(|(i, _)| kept(*i)) {
        let t = t as f64;
        while low < times.len() && (times[low] as f64) < t + from {
            low += 1;
        }
        high = high.max(low);
        while high < times.len() && (times[high] as f64) < t + until {
            high += 1;
        }
        let others = &times[low.max(i + 1)..high.max(i + 1)];
        let Some(less) = left.checked_sub(others.len()) else {
            break;
        };
        left = less;
        for &other in others {
            let bin = ((other as f64 - t - from) * scale) as usize;
            bins[bin.min(BINS - 1)] += 1.0;
        }
    }
    let background = median(bins.to_vec());
    let three = |i: usize| bins[i - 1] + bins[i] + bins[i + 1];
    let peak = (1..BINS - 1).max_by(|&a, &b| three(a).total_cmp(&three(b)))?;
    let excess = three(peak) - 3.0 * background;
    if excess < 3.0f64.max(3.0 * (3.0 * background).sqrt()) {
        return None;
    }
    let clear = background + 2.0 * background.sqrt();
    let mut first = peak - 1;
    while first > 0 && bins[first - 1] > clear {
        first -= 1;
    }
    let mut last = peak + 1;
    while last + 1 < BINS && bins[last + 1] > clear {
        last += 1;
    }
    let (mut weight, mut moment) = (0.0, 0.0);
    for (i, &bin) in bins.iter().enumerate().take(last + 1).skip(first) {
        let above = (bin - background).max(0.0);
        weight += above;
        moment += above * (i as f64 + 0.5);
    }
    let extent_ns = (last - first + 1) as f64 / 2.0 / scale;
    Some(Lag {
        at_ns: from + moment / weight / scale,
        // Generous: a peak that is lost is dearer than a wide window.
        error_ns: (3.0 * extent_ns / weight.sqrt()).max(1.0 / scale),
        extent_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::Noise;

    #[test]
    fn a_rough_period_becomes_sharp() {
        // 3000 teeth every 4.000 123 ms, 3 us of phase noise, a third missing.
        let mut noise = Noise::new(5);
        let times: Vec<u64> = (0..3000)
            .filter_map(|k| {
                let t = 1e6 + f64::from(k) * 4_000_123.0 + 3_000.0 * noise.normal();
                (noise.uniform() > 0.33).then_some(t as u64)
            })
            .collect();
        let rough = Candidate {
            period_ns: 4_010_000.0,
            tolerance_ns: 20_000.0,
            score: 10.0,
        };
        let period = refine(&times, 12_002_000_000, rough);
        // 3 us over at least half of 3000 teeth, many pairs.
        assert!((period - 4_000_123.0).abs() < 2.0, "{period}");
    }
}
