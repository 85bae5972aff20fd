//! Values counted in a row of bins, for the small plot.

/// Bins of one decade.
const A_DECADE: usize = 16;

/// From 1 ns to 10 s, and one beyond.
const BINS: usize = 10 * A_DECADE + 1;

/// Counts of lengths of time in bins of a sixteenth of a decade, from 1 ns on; what is
/// longer than 10 s lies in the last bin. 15 % is as close as a terminal's cell shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    counts: Box<[u32]>,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            counts: vec![0; BINS].into(),
        }
    }
}

impl Spread {
    /// Counts a length, in nanoseconds, `count` times.
    pub fn add(&mut self, ns: f64, count: u64) {
        let bin = &mut self.counts[bin(ns)];
        *bin = bin.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *ours = ours.saturating_add(*theirs);
        }
    }

    /// How many were counted.
    pub fn len(&self) -> u64 {
        self.counts.iter().map(|c| u64::from(*c)).sum()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The edges of what is occupied, in nanoseconds.
    pub fn range(&self) -> Option<(f64, f64)> {
        let first = self.counts.iter().position(|c| *c > 0)?;
        let last = self.counts.iter().rposition(|c| *c > 0)?;
        Some((edge(first), edge(last + 1)))
    }

    /// The share of values above `ns`, 0 to 1, to the nearest edge of a bin; nothing where
    /// nothing was counted.
    pub fn share_above(&self, ns: f64) -> Option<f64> {
        let all = self.len();
        let from = place(ns).round() as usize;
        let above = self.counts.iter().skip(from).map(|c| u64::from(*c));
        (all > 0).then(|| above.sum::<u64>() as f64 / all as f64)
    }
}

/// The lower edge of a bin in nanoseconds.
fn edge(bin: usize) -> f64 {
    10f64.powf(bin as f64 / A_DECADE as f64)
}

/// Where a length lies among the bins.
fn place(ns: f64) -> f64 {
    ns.max(1.0).log10() * A_DECADE as f64
}

fn bin(ns: f64) -> usize {
    // A value on an edge belongs to the bin that begins there, whatever log10 rounds to.
    ((place(ns) + 1e-9) as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_are_those_of_the_values() {
        let mut spread = Spread::default();
        assert_eq!((spread.share_above(5.0), spread.range()), (None, None));
        spread.add(100.0, 90);
        spread.add(10_000.0, 9);
        spread.add(1e12, 1);
        assert_eq!(spread.share_above(1.0), Some(1.0));
        assert_eq!(spread.share_above(1_000.0), Some(0.1));
        assert_eq!(spread.share_above(100_000.0), Some(0.01));
        let (low, high) = spread.range().unwrap();
        assert!((low - 100.0).abs() < 1e-6 && high > 1e10, "{low} {high}");
    }

    proptest! {
        #[test]
        fn every_value_lies_in_its_bin(ns in 1.0..1e10f64) {
            let bin = bin(ns);
            prop_assert!(edge(bin) <= ns * 1.000_001 && ns < edge(bin + 1) * 1.000_001);
        }

        #[test]
        fn merging_counts_all(a in prop::collection::vec(0.0..1e11f64, 0..50), b in prop::collection::vec(0.0..1e11f64, 0..50)) {
            let of = |values: &[f64]| {
                let mut spread = Spread::default();
                values.iter().for_each(|v| spread.add(*v, 1));
                spread
            };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}
