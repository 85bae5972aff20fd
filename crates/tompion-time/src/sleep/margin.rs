//! How early to leave the kernel's sleep, learned from wake-up latencies.

use std::fmt;

/// Wake-up latencies kept: old ones are forgotten after as many sleeps.
const WINDOW: usize = 64;
/// Spinning that one avoided miss is worth: a margin is widened by one
/// microsecond where that turns at least one miss in 250 sleeps into a hit. Where
/// latencies spread over a few microseconds this covers 97 to 99 % of them; more
/// would buy the rest dearly, less would show in the 95th percentile.
const MISS_WORTH_NS: u64 = 250_000;
/// For small shifts of all latencies, as after a move to another CPU, and for the
/// way from the wake-up into the spin.
const PAD_NS: u64 = 1_000;
/// The margin before enough was seen; above the latency of most machines.
const UNLEARNT_NS: u64 = 50_000;
/// A longer latency is taken for a lost CPU. Waking earlier still, to be there in
/// spite of it, would be spinning for milliseconds, and a thread that does that
/// beside other load loses the CPU more often.
const MOST_NS: u64 = 500_000;
/// A latency as many times the median, and a bit, is of another cause.
const ORDINARY: u64 = 4;
const ORDINARY_AT_LEAST_NS: u64 = 50_000;
/// After as many sleeps too short for their margin, one is slept all the same.
const STALE: u32 = 64;
/// Latencies that are enough.
const ENOUGH: usize = 16;

/// The last wake-up latencies and the margin they call for.
///
/// The margin is the one that would have cost least over the window, where a
/// sleep that wakes early costs the nanoseconds spun and one that wakes late
/// costs a fixed price: the newsvendor's problem (Arrow, Harris and Marschak
/// 1951) with the sample in place of the distribution. Only the latencies
/// themselves can be the answer, so one pass over them, sorted, finds it.
///
/// Its merit over a fixed quantile is that it weighs what it covers: nearly all
/// latencies where they lie close, fewer where a tail is long. A latency far from
/// the others, when the CPU was not ours, is a miss at any margin and left out;
/// a lasting rise moves the median and is followed within some dozens of sleeps.
#[derive(Clone)]
pub(super) struct Latencies {
    /// In the order seen, from `next` on round.
    ring: [u32; WINDOW],
    /// The same, ascending.
    sorted: [u32; WINDOW],
    len: usize,
    next: usize,
    /// Sleeps since the last latency was seen.
    unseen: u32,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            ring: [0; WINDOW],
            sorted: [0; WINDOW],
            len: 0,
            next: 0,
            unseen: 0,
        }
    }
}

impl Latencies {
    /// Takes account of one wake-up latency; above 4 s it counts as 4 s.
    pub(super) fn observe(&mut self, latency_ns: u64) {
        let new = u32::try_from(latency_ns).unwrap_or(u32::MAX);
        if self.len == WINDOW {
            let old = self.ring[self.next];
            let at = self.sorted.partition_point(|&x| x < old);
            self.sorted.copy_within(at + 1.., at);
            self.len -= 1;
        }
        let at = self.sorted[..self.len].partition_point(|&x| x < new);
        self.sorted.copy_within(at..self.len, at + 1);
        self.sorted[at] = new;
        self.len += 1;
        self.ring[self.next] = new;
        self.next = (self.next + 1) % WINDOW;
        self.unseen = 0;
    }

    /// Takes account of a sleep that was too short to show a latency.
    pub(super) fn skip(&mut self) {
        self.unseen = self.unseen.saturating_add(1);
    }

    /// How long before the deadline the kernel's part of a sleep of `length_ns`
    /// should end.
    ///
    /// It may exceed the length, but not for ever: what is never slept is never
    /// learnt, and a margin once too wide would stay.
    pub(super) fn margin_ns(&self, length_ns: u64) -> u64 {
        let learnt = match self.cheapest_ns() {
            0 => 0,
            ns => ns + PAD_NS,
        };
        let margin = if self.len < ENOUGH {
            learnt.max(UNLEARNT_NS).min(length_ns / 2)
        } else {
            learnt
        };
        if self.unseen >= STALE {
            margin.min(length_ns / 2)
        } else {
            margin
        }
    }

    /// The shortest latency of the window: 0 where none is known.
    pub(super) fn shortest_ns(&self) -> u64 {
        u64::from(self.sorted[..self.len].first().copied().unwrap_or(0))
    }

    /// The ordinary latency that is the margin of least cost over the window; 0
    /// where covering nothing is cheapest.
    fn cheapest_ns(&self) -> u64 {
        let seen = &self.sorted[..self.len];
        let median = seen.get(self.len / 2).copied().unwrap_or(0);
        let most = (ORDINARY * u64::from(median) + ORDINARY_AT_LEAST_NS).min(MOST_NS);
        let mut best = (MISS_WORTH_NS * self.len as u64, 0);
        let mut sum = 0;
        for (covered, &latency) in (1u64..).zip(seen) {
            let margin = u64::from(latency);
            if margin > most {
                break;
            }
            sum += margin;
            let spun = covered * margin - sum;
            let cost = spun + MISS_WORTH_NS * (self.len as u64 - covered);
            // Of equal costs the wider margin: it misses less.
            if cost <= best.0 {
                best = (cost, margin);
            }
        }
        best.1
    }
}

impl fmt::Debug for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latencies")
            .field("seen", &self.len)
            .field("margin_ns", &self.margin_ns(u64::MAX))
            .finish()
    }
}

/// One window for each order of magnitude of the sleep's length: after a longer
/// sleep the CPU idles deeper, its caches are colder, and the wake-up takes
/// longer.
#[derive(Clone, Debug, Default)]
pub(super) struct Margins {
    classes: [Latencies; Self::BOUNDS_NS.len() + 1],
}

impl Margins {
    /// Half-way, in the logarithm, between powers of ten.
    const BOUNDS_NS: [u64; 3] = [316_000, 3_160_000, 31_600_000];

    /// The window for sleeps of `length_ns`.
    pub(super) fn of(&self, length_ns: u64) -> &Latencies {
        &self.classes[Self::class(length_ns)]
    }

    /// The window for sleeps of `length_ns`, to be added to.
    pub(super) fn of_mut(&mut self, length_ns: u64) -> &mut Latencies {
        &mut self.classes[Self::class(length_ns)]
    }

    fn class(length_ns: u64) -> usize {
        Self::BOUNDS_NS.partition_point(|&bound| bound <= length_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LONG: u64 = 1_000_000;

    fn after(latencies: impl IntoIterator<Item = u64>) -> Latencies {
        let mut seen = Latencies::default();
        latencies.into_iter().for_each(|ns| seen.observe(ns));
        seen
    }

    #[test]
    fn before_it_knows_it_is_generous() {
        assert_eq!(Latencies::default().margin_ns(LONG), UNLEARNT_NS);
        assert_eq!(after([80_000; 3]).margin_ns(LONG), 80_000 + PAD_NS);
        assert_eq!(after([4_000; 15]).margin_ns(LONG), UNLEARNT_NS);
        assert_eq!(after([4_000; 16]).margin_ns(LONG), 4_000 + PAD_NS);
        // But sleeps at least half, to learn.
        assert_eq!(Latencies::default().margin_ns(30_000), 15_000);
    }

    #[test]
    fn a_margin_longer_than_the_sleep_is_tried_again_now_and_then() {
        let mut seen = after([30_000; 64]);
        for _ in 0..STALE {
            assert_eq!(seen.margin_ns(20_000), 30_000 + PAD_NS);
            seen.skip();
        }
        assert_eq!(seen.margin_ns(20_000), 10_000);
        seen.observe(12_000);
        assert_eq!(seen.margin_ns(20_000), 30_000 + PAD_NS);
    }

    #[test]
    fn a_few_lost_time_slices_change_nothing() {
        let mut seen = after([14_000; 64]);
        (0..12).for_each(|_| seen.observe(4_000_000));
        assert_eq!(seen.margin_ns(LONG), 14_000 + PAD_NS);
    }

    #[test]
    fn a_lasting_rise_is_followed() {
        // Within a dozen sleeps where it is moderate, once it is the rule where
        // it is large.
        for (risen, within) in [(60_000, 12), (300_000, 40)] {
            let mut seen = after([14_000; 64]);
            let sleeps = (1..1_000)
                .find(|_| {
                    seen.observe(risen);
                    seen.margin_ns(LONG) >= risen
                })
                .unwrap();
            assert!((2..=within).contains(&sleeps), "{sleeps}");
        }
    }

    #[test]
    fn a_lasting_fall_is_followed_within_the_window() {
        let mut seen = after([60_000; 64]);
        (0..WINDOW).for_each(|_| seen.observe(14_000));
        assert_eq!(seen.margin_ns(LONG), 14_000 + PAD_NS);
    }

    #[test]
    fn latencies_of_milliseconds_are_left_alone() {
        assert_eq!(after([3_000_000; 64]).margin_ns(LONG), 0);
        let erratic = (0..64).map(|i| if i % 2 == 0 { 3_000_000 } else { 10_000 });
        assert_eq!(after(erratic).margin_ns(LONG), 10_000 + PAD_NS);
    }

    #[test]
    fn each_magnitude_of_sleep_has_its_own_margin() {
        let mut margins = Margins::default();
        (0..64).for_each(|_| margins.of_mut(100_000).observe(10_000));
        (0..64).for_each(|_| margins.of_mut(10_000_000).observe(40_000));
        let margin = |length| margins.of(length).margin_ns(length);
        assert_eq!(margin(60_000), 10_000 + PAD_NS);
        assert_eq!(margin(1_000_000), UNLEARNT_NS);
        assert_eq!(margin(20_000_000), 40_000 + PAD_NS);
        assert_eq!(margin(u64::MAX), UNLEARNT_NS);
    }

    proptest! {
        #[test]
        fn the_sorted_copy_is_the_window_sorted(
            latencies in prop::collection::vec(0..6_000_000_000u64, 0..200)
        ) {
            let seen = after(latencies.iter().copied());
            let from = latencies.len().saturating_sub(WINDOW);
            let mut last: Vec<u32> = latencies[from..]
                .iter()
                .map(|&ns| ns.min(u64::from(u32::MAX)) as u32)
                .collect();
            last.sort_unstable();
            prop_assert_eq!(&seen.sorted[..seen.len], &last[..]);
        }

        /// No other margin would have cost less over the window. All latencies
        /// are ordinary here.
        #[test]
        fn the_margin_is_the_cheapest(
            latencies in prop::collection::vec(1..50_000u64, 16..=64),
            other in 0..100_000u64,
        ) {
            let cost = |margin: u64| -> u64 {
                latencies.iter().map(|&x| {
                    if x <= margin { margin - x } else { MISS_WORTH_NS }
                }).sum()
            };
            let chosen = after(latencies.iter().copied()).cheapest_ns();
            prop_assert!(cost(chosen) <= cost(other));
        }
    }
}
