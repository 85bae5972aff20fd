//! The latest events of one thread, to be asked which of them overlap a stall.

use tompion_cause::{Span, Stall};

/// Events at least this long are kept apart: few, and looked at one by one.
const LONG_NS: u64 = 1_000_000;

/// How long events are kept: a stall under way may need those of its beginning.
const KEPT_NS: u64 = 2_000_000_000;

/// Events that are remembered for a while.
#[derive(Debug, Default)]
pub struct Spans {
    /// In the order of their beginnings.
    short: Vec<Span>,
    long: Vec<Span>,
}

impl Spans {
    /// Adds what has ended since the last time.
    pub fn extend(&mut self, spans: &[Span]) {
        for span in spans {
            let length_ns = span.until_ns.saturating_sub(span.from_ns);
            if length_ns >= LONG_NS {
                self.long.push(span.clone());
            } else {
                self.short.push(span.clone());
            }
        }
        // Nearly in order already, which the sort makes use of.
        self.short.sort_by_key(|s| s.from_ns);
    }

    /// Those that overlap or touch a stall, into `found`.
    pub fn overlapping(&self, stall: &Stall, found: &mut Vec<Span>) {
        found.clear();
        let touches = |s: &&Span| s.from_ns <= stall.until_ns && stall.from_ns <= s.until_ns;
        let earliest = stall.from_ns.saturating_sub(LONG_NS);
        let first = self.short.partition_point(|s| s.from_ns < earliest);
        let last = self.short.partition_point(|s| s.from_ns <= stall.until_ns);
        found.extend(self.long.iter().filter(touches).cloned());
        found.extend(self.short[first..last].iter().filter(touches).cloned());
    }

    /// Forgets what no stall that ends after `until_ns` can need any more, unless
    /// it lasted longer than events are kept.
    pub fn forget(&mut self, until_ns: u64) {
        let kept_from = until_ns.saturating_sub(KEPT_NS);
        self.short.retain(|s| s.until_ns >= kept_from);
        self.long.retain(|s| s.until_ns >= kept_from);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tompion_cause::What;

    use super::*;

    fn span(from_ns: u64, length_ns: u64) -> Span {
        Span {
            from_ns,
            until_ns: from_ns + length_ns,
            what: What::PageFault,
        }
    }

    proptest! {
        #[test]
        fn exactly_those_that_touch_are_found(
            spans in prop::collection::vec((0u64..10_000_000, 0u64..3_000_000), 0..60),
            from_ns in 0u64..10_000_000,
            length_ns in 0u64..4_000_000,
        ) {
            let stall = Stall { from_ns, until_ns: from_ns + length_ns };
            let all: Vec<Span> = spans.iter().map(|&(f, l)| span(f, l)).collect();
            let mut kept = Spans::default();
            let (first, second) = all.split_at(all.len() / 2);
            kept.extend(first);
            kept.extend(second);
            let mut found = Vec::new();
            kept.overlapping(&stall, &mut found);
            let touches = |s: &&Span| s.from_ns <= stall.until_ns && stall.from_ns <= s.until_ns;
            let mut expected: Vec<Span> = all.iter().filter(touches).cloned().collect();
            let order = |s: &Span| (s.from_ns, s.until_ns);
            expected.sort_by_key(order);
            found.sort_by_key(order);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn old_events_are_forgotten_and_those_of_a_stall_under_way_are_not() {
        let mut kept = Spans::default();
        kept.extend(&[span(0, 10), span(5_000_000_000, 10), span(0, 4_900_000_000)]);
        kept.forget(6_000_000_000);
        let mut found = Vec::new();
        let stall = Stall {
            from_ns: 0,
            until_ns: 7_000_000_000,
        };
        kept.overlapping(&stall, &mut found);
        assert_eq!(found.len(), 2);
    }
}
