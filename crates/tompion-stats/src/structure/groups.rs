//! Stalls of similar length belong together.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Bins an octave of length.
const BINS_AN_OCTAVE: f64 = 4.0;

/// A valley is one if chance makes it less often than this.
const SIGNIFICANCE: f64 = 0.01;

/// Lengths from `least_ns` to `most_ns`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthGroup {
    /// The shortest.
    pub least_ns: u64,
    /// The longest.
    pub most_ns: u64,
    /// How many there are.
    pub count: u64,
}

impl LengthGroup {
    /// Whether a length belongs to the group.
    pub fn contains(&self, length_ns: u64) -> bool {
        (self.least_ns..=self.most_ns).contains(&length_ns)
    }
}

/// Groups of similar lengths, ascending; together they hold all values.
///
/// On a logarithmic scale two groups are apart where a window of 3/4 octave
/// between them holds at most half of what the fullest one on either side does, and so few by chance in less than 1 % of cases were they equal
/// (one-sided binomial test). This is for sorting events before they are looked
/// at, not a finding; [`crate::modes`] has a stricter criterion.
pub fn length_groups(lengths_ns: &[u64]) -> Vec<LengthGroup> {
    let mut sorted = lengths_ns.to_vec();
    sorted.sort_unstable();
    let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    let bin = |length: u64| ((length.max(1) as f64).log2() * BINS_AN_OCTAVE) as usize;
    let origin = bin(least);
    let mut counts = vec![0u64; bin(most) - origin + 1];
    for &length in &sorted {
        counts[bin(length) - origin] += 1;
    }
    let mut groups = Vec::new();
    let mut taken = 0;
    for end in valleys(&counts).into_iter().chain([counts.len()]) {
        let until = sorted.partition_point(|&length| bin(length) - origin < end);
        if until > taken {
            groups.push(LengthGroup {
                least_ns: sorted[taken],
                most_ns: sorted[until - 1],
                count: (until - taken) as u64,
            });
            taken = until;
        }
    }
    groups
}

/// Bins at which a new group begins.
fn valleys(counts: &[u64]) -> Vec<usize> {
    // Three bins together: few events rarely fall into one.
    let windows: Vec<u64> = (0..counts.len())
        .map(|i| {
            let until = (i + 2).min(counts.len());
            counts[i.saturating_sub(1)..until].iter().sum()
        })
        .collect();
    let mut found = Vec::new();
    // Highest window since the last valley, and lowest since that peak.
    let (mut peak, mut low, mut low_at) = (0, u64::MAX, 0);
    for (i, &count) in windows.iter().enumerate() {
        if low < u64::MAX && apart(low, peak) && apart(low, count) {
            found.push(low_at);
            (peak, low) = (count, u64::MAX);
        } else if count > peak && !apart(low, peak) {
            (peak, low) = (count, u64::MAX);
        } else if count <= low {
            (low, low_at) = (count, i);
        }
    }
    found
}

/// Whether a valley lies significantly below a peak, and at half of it or less.
fn apart(low: u64, peak: u64) -> bool {
    low < u64::MAX
        && low.saturating_mul(2) <= peak
        && Binomial::new(0.5, low + peak).is_ok_and(|b| b.cdf(low) < SIGNIFICANCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::Noise;
    use proptest::prelude::*;

    #[test]
    fn short_ticks_and_a_long_hog_are_two_groups() {
        let mut noise = Noise::new(3);
        let mut lengths: Vec<u64> = (0..5000)
            .map(|_| (3_000.0 * (0.2 * noise.normal()).exp()) as u64)
            .collect();
        lengths.extend((0..12).map(|_| 5_000_000 + (5_000.0 * noise.normal()) as u64));
        let groups = length_groups(&lengths);
        assert_eq!(groups.len(), 2, "{groups:?}");
        assert_eq!((groups[0].count, groups[1].count), (5000, 12));
        assert!(groups[1].contains(5_000_000) && !groups[0].contains(5_000_000));
    }

    #[test]
    fn one_broad_hump_is_one_group() {
        let mut noise = Noise::new(4);
        for sigma in [0.1, 1.0, 2.0] {
            let lengths: Vec<u64> = (0..20_000)
                .map(|_| (50_000.0 * (sigma * noise.normal()).exp()) as u64)
                .collect();
            let groups = length_groups(&lengths);
            let largest = groups.iter().map(|g| g.count).max().unwrap();
            assert!(groups.len() <= 2 && largest > 19_900, "{sigma}: {groups:?}");
        }
    }

    proptest! {
        #[test]
        fn groups_hold_every_length_once(v in prop::collection::vec(0u64..1_000_000, 0..300)) {
            let groups = length_groups(&v);
            prop_assert_eq!(groups.iter().map(|g| g.count).sum::<u64>(), v.len() as u64);
            for x in &v {
                prop_assert_eq!(groups.iter().filter(|g| g.contains(*x)).count(), 1);
            }
            prop_assert!(groups.windows(2).all(|w| w[0].most_ns < w[1].least_ns));
        }
    }
}
