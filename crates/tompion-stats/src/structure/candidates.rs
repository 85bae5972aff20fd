//! Periods worth a test: lags that are too frequent among pairs of events.
//!
//! Finding them needs no statistics of its own: [`super::comb`] judges.

/// Shortest period looked for, in ns.
pub(super) const SHORTEST_NS: u64 = 20_000;

/// Periods that the span holds fewer times than this are not looked for.
pub(super) const FEWEST_PERIODS: u64 = 4;

/// Bins of the histogram of lags in each octave, from fine to coarse: a comb
/// stands out most where a bin is about as wide as its phase noise.
const LEVELS: [usize; 3] = [256, 64, 16];

/// Pairs looked at in each octave, at most about.
const PAIRS: u64 = 300_000;

/// A candidate stands out by this many standard deviations at least.
const LEAST_SCORE: f64 = 4.0;

/// A lag that is frequent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub period_ns: f64,
    /// The lag lies within this of the period.
    pub tolerance_ns: f64,
    /// Standard deviations above what its octave has elsewhere.
    pub score: f64,
}

/// Octaves of period that are looked through in a span.
pub(super) fn octaves(span_ns: u64) -> u32 {
    (span_ns / FEWEST_PERIODS / SHORTEST_NS)
        .checked_ilog2()
        .map_or(0, |n| n + 1)
}

/// Candidates from ascending `times`, the most promising first, at most `most`.
pub(super) fn candidates(times: &[u64], span_ns: u64, most: usize) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = (0..octaves(span_ns))
        .flat_map(|octave| {
            let from = SHORTEST_NS << octave;
            peaks(&lags(times, from), from)
        })
        .filter(|c| c.period_ns * FEWEST_PERIODS as f64 <= span_ns as f64)
        .collect();
    // Multiples of a period are as frequent as itself, give or take chance: of
    // near equals the shortest comes first.
    let rank = |c: &Candidate| c.score / c.period_ns.sqrt().sqrt();
    all.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    let mut chosen: Vec<Candidate> = Vec::new();
    for c in all {
        let near =
            |o: &Candidate| (o.period_ns - c.period_ns).abs() < o.tolerance_ns.max(c.tolerance_ns);
        if chosen.len() < most && !chosen.iter().any(near) {
            chosen.push(c);
        }
    }
    chosen
}

/// Counts of the lags from `from` to twice that, in equal bins.
fn lags(times: &[u64], from: u64) -> Vec<u32> {
    let partners = || {
        let (mut low, mut high) = (0, 0);
        times.iter().enumerate().map(move |(i, &t)| {
            while low < times.len() && times[low] < t + from {
                low += 1;
            }
            while high < times.len() && times[high] < t + 2 * from {
                high += 1;
            }
            (i, low, high)
        })
    };
    let pairs: u64 = partners().map(|(_, low, high)| (high - low) as u64).sum();
    let kept = sampler(PAIRS, pairs);
    let mut bins = vec![0u32; LEVELS[0]];
    let scale = LEVELS[0] as f64 / from as f64;
    for (i, low, high) in partners().filter(|p| kept(p.0)) {
        for &other in &times[low..high] {
            let lag = other - times[i] - from;
            bins[((lag as f64 * scale) as usize).min(LEVELS[0] - 1)] += 1;
        }
    }
    bins
}

/// Whether an index belongs to the `part` in `whole` that is looked at. By a
/// hash (SplitMix64, Steele et al. 2014): a fixed stride could fall in step
/// with a comb.
pub(super) fn sampler(part: u64, whole: u64) -> impl Fn(usize) -> bool {
    let share = part as f64 / whole.max(1) as f64;
    move |i| {
        let mut z = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        share >= 1.0 || ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 <= share
    }
}

/// Windows of one octave, at each level, that hold more than their neighbours
/// and far more than the median window.
fn peaks(fine: &[u32], from: u64) -> Vec<Candidate> {
    let mut found = Vec::new();
    for level in LEVELS {
        // Windows overlap by half, so that no peak falls between two.
        let width = LEVELS[0] / level;
        let step = (width / 2).max(1);
        let counts: Vec<f64> = (0..=LEVELS[0] - width)
            .step_by(step)
            .map(|at| fine[at..at + width].iter().map(|&c| f64::from(c)).sum())
            .collect();
        let background = median(counts.clone());
        for (i, &count) in counts.iter().enumerate() {
            // Without background the finer of two windows counts more.
            let score = (count - background) / background.max(0.25 * width as f64).sqrt();
            let highest = (i == 0 || counts[i - 1] <= count)
                && (i + 1 == counts.len() || counts[i + 1] < count);
            if highest && count >= 3.0 && score >= LEAST_SCORE {
                let bin_ns = from as f64 / LEVELS[0] as f64;
                found.push(Candidate {
                    period_ns: from as f64 + ((i * step) as f64 + width as f64 / 2.0) * bin_ns,
                    tolerance_ns: width as f64 * bin_ns,
                    score,
                });
            }
        }
    }
    found
}

/// The upper median; 0 for nothing.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comb_proposes_its_period_first() {
        let times: Vec<u64> = (0..1000).map(|k| 12_345 + k * 4_000_000).collect();
        let first = candidates(&times, 4_000_000_000, 8)[0];
        assert!(
            (first.period_ns - 4e6).abs() <= first.tolerance_ns,
            "{first:?}"
        );
    }

    #[test]
    fn too_short_a_span_has_no_octave() {
        assert_eq!(octaves(FEWEST_PERIODS * SHORTEST_NS - 1), 0);
        assert_eq!(octaves(FEWEST_PERIODS * SHORTEST_NS), 1);
        assert!(candidates(&[1, 2, 3], 100, 8).is_empty());
    }

    #[test]
    fn the_sampler_keeps_its_share() {
        let kept = sampler(1, 10);
        let n = (0..100_000).filter(|&i| kept(i)).count();
        assert!((9_500..10_500).contains(&n), "{n}");
        assert!((0..100).all(sampler(5, 5)));
    }
}
