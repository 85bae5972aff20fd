//! The arithmetic: bounds from exchanges, and backward steps. Pure.

/// Counter values of one exchange: the reference CPU reads `sent` and signals,
/// the other CPU reads `remote` and answers, the reference reads `received`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    pub sent: u64,
    pub remote: u64,
    pub received: u64,
}

impl Exchange {
    fn round_trip(&self) -> u64 {
        self.received.wrapping_sub(self.sent)
    }

    /// Bounds of the offset: cause precedes effect, so `remote` was read when
    /// the reference stood between `sent` and `received`, however the delay was
    /// shared between the two ways.
    fn bounds(&self) -> (i64, i64) {
        (
            self.remote.wrapping_sub(self.received) as i64,
            self.remote.wrapping_sub(self.sent) as i64,
        )
    }
}

/// What a series of exchanges says about a constant offset.
///
/// The estimate is that of the shortest round trip, as in NTP's clock filter
/// (RFC 5905 §10): it has the narrowest bounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    shortest: Option<Exchange>,
    /// The highest lower bound and the lowest upper bound.
    common: Option<(i64, i64)>,
    count: u64,
}

impl Bounds {
    /// Takes account of an exchange. One whose reference went backwards bounds
    /// nothing and is left out (the search for backward steps will tell).
    pub fn add(&mut self, exchange: Exchange) {
        if exchange.round_trip() > u64::MAX / 2 {
            return;
        }
        self.count += 1;
        if self
            .shortest
            .is_none_or(|s| exchange.round_trip() < s.round_trip())
        {
            self.shortest = Some(exchange);
        }
        let (low, high) = exchange.bounds();
        self.common = Some(match self.common {
            None => (low, high),
            Some((l, h)) => (l.max(low), h.min(high)),
        });
    }

    /// Offset of the other CPU and its uncertainty, in ticks; `None` without a
    /// usable exchange.
    pub fn estimate(&self) -> Option<(i64, u64)> {
        let (low, high) = self.shortest?.bounds();
        let width = self.shortest?.round_trip();
        debug_assert_eq!(high.wrapping_sub(low) as u64, width);
        Some((low.wrapping_add((width / 2) as i64), width.div_ceil(2)))
    }

    /// Whether some constant offset lies within all bounds.
    pub fn steady(&self) -> bool {
        self.common.is_none_or(|(low, high)| low <= high)
    }

    /// Exchanges taken account of.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// Backward steps: reads by one CPU below a value that another had published
/// before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warps {
    /// Reads compared with the maximum so far.
    pub reads: u64,
    /// Those where the maximum was the other CPU's: only these can show a
    /// difference between CPUs.
    pub crossings: u64,
    /// Reads below the maximum.
    pub backward_steps: u64,
    /// The largest step backwards, in ticks.
    pub largest_ticks: u64,
}

impl Warps {
    /// Compares one read with the maximum that was loaded before it.
    pub(super) fn observe(&mut self, maximum: u64, read: u64) {
        self.reads += 1;
        // As a difference, so that a wrap of the counter is no step.
        let back = maximum.wrapping_sub(read);
        if back != 0 && back <= u64::MAX / 2 {
            self.backward_steps += 1;
            self.largest_ticks = self.largest_ticks.max(back);
        }
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            crossings: self.crossings + other.crossings,
            backward_steps: self.backward_steps + other.backward_steps,
            largest_ticks: self.largest_ticks.max(other.largest_ticks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Exchanges with a planted offset: true time of the send, delay of the way
    /// there, delay of the way back.
    fn exchanges(offset: i64, ways: &[(u64, u64, u64)]) -> Bounds {
        let mut bounds = Bounds::default();
        for &(at, there, back) in ways {
            bounds.add(Exchange {
                sent: at,
                remote: at.wrapping_add(there).wrapping_add_signed(offset),
                received: at.wrapping_add(there).wrapping_add(back),
            });
        }
        bounds
    }

    #[test]
    fn the_shortest_round_trip_counts() {
        let b = exchanges(
            70,
            &[(1000, 5000, 100), (9000, 100, 100), (20_000, 90, 4000)],
        );
        assert_eq!(b.estimate(), Some((70, 100)));
        assert!(b.steady());
        assert_eq!(b.count(), 3);
    }

    #[test]
    fn an_asymmetric_delay_stays_within_the_uncertainty() {
        // All of the delay on one way: the estimate is off by half of it.
        assert_eq!(exchanges(0, &[(0, 300, 0)]).estimate(), Some((150, 150)));
        assert_eq!(exchanges(0, &[(0, 0, 300)]).estimate(), Some((-150, 150)));
        assert_eq!(exchanges(0, &[(0, 0, 301)]).estimate(), Some((-151, 151)));
    }

    #[test]
    fn a_jump_between_exchanges_is_not_steady() {
        let mut b = exchanges(0, &[(0, 100, 100)]);
        assert!(b.steady());
        b.add(Exchange {
            sent: 1000,
            remote: 6100,
            received: 1200,
        });
        assert!(!b.steady());
    }

    #[test]
    fn a_reference_that_went_backwards_bounds_nothing() {
        let mut b = Bounds::default();
        b.add(Exchange {
            sent: 1000,
            remote: 1000,
            received: 900,
        });
        assert_eq!((b.estimate(), b.count()), (None, 0));
        assert!(b.steady());
    }

    #[test]
    fn backward_steps_are_counted_with_their_size() {
        let mut w = Warps::default();
        for (maximum, read) in [(10, 10), (10, 12), (12, 9), (12, 11), (u64::MAX, 3)] {
            w.observe(maximum, read);
        }
        assert_eq!((w.reads, w.backward_steps, w.largest_ticks), (5, 2, 3));
        let sum = w.and(w);
        assert_eq!(
            (sum.reads, sum.backward_steps, sum.largest_ticks),
            (10, 4, 3)
        );
    }

    proptest! {
        #[test]
        fn the_truth_is_always_within_the_uncertainty(
            offset in -(1i64 << 40)..(1 << 40),
            ways in prop::collection::vec((any::<u64>(), 0u64..1 << 32, 0u64..1 << 32), 1..20),
        ) {
            let bounds = exchanges(offset, &ways);
            let (found, uncertainty) = bounds.estimate().unwrap();
            prop_assert!(found.abs_diff(offset) <= uncertainty);
            prop_assert!(bounds.steady());
        }
    }
}
