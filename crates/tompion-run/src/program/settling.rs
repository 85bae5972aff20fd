//! The lost time of one thread, told while its events still come (pure).

use tompion_cause::{Access, Counters, Lost, OffCpu, Span, What, lost};

/// Events and counters are kept so long after they were told: throttled time of a
/// reading is shared with what was told before.
const BESIDE_NS: u64 = 1_000_000_000;

/// They are kept so long at most for a stall that goes on.
const KEPT_NS: u64 = 4_000_000_000;

/// The latest of a thread's events and counters.
#[derive(Default)]
pub struct Settling {
    spans: Vec<Span>,
    /// Readings in order of time.
    polled: Vec<Counters>,
    /// Lost time that ended by then has been told.
    settled_ns: u64,
}

impl Settling {
    pub fn poll(&mut self, counters: Counters) {
        self.polled.push(counters);
    }

    /// Takes spans as far as they lie between two moments.
    pub fn take(&mut self, spans: Vec<Span>, from_ns: u64, until_ns: u64) {
        let within = |s: &Span| s.until_ns >= from_ns && s.from_ns <= until_ns;
        let clipped = spans.into_iter().filter(within).map(|s| Span {
            from_ns: s.from_ns.max(from_ns),
            until_ns: s.until_ns.min(until_ns),
            what: s.what,
        });
        self.spans.extend(clipped);
    }

    /// The lost time that ended by `until_ns`, each told once. `kept_since_ns` is
    /// when a stall began of which the span has not come yet.
    pub fn settle(
        &mut self,
        until_ns: u64,
        kept_since_ns: Option<u64>,
        access: &Access,
    ) -> Vec<Lost> {
        let window = self.settled_ns..until_ns;
        self.settled_ns = until_ns;
        let ends = |s: &Span| is_lost(s) && window.contains(&s.until_ns);
        let told = if self.spans.iter().any(ends) {
            let mut all = lost(&self.spans, &self.polled, access);
            all.retain(|l| window.contains(&l.stall.until_ns));
            all
        } else {
            Vec::new()
        };
        let open = self
            .spans
            .iter()
            .filter(|s| s.until_ns >= until_ns && is_lost(s));
        let open_ns = open.map(|s| s.from_ns).chain(kept_since_ns).min();
        let keep_ns = until_ns
            .saturating_sub(BESIDE_NS)
            .min(open_ns.unwrap_or(u64::MAX))
            .max(until_ns.saturating_sub(KEPT_NS));
        self.spans.retain(|s| s.until_ns >= keep_ns);
        self.polled.retain(|c| c.at_ns >= keep_ns);
        told
    }
}

/// What makes lost time.
fn is_lost(span: &Span) -> bool {
    matches!(
        span.what,
        What::Runnable | What::OffCpu(OffCpu::Preempted | OffCpu::Stopped)
    )
}

#[cfg(test)]
mod tests {
    use tompion_cause::{Cause, Task};

    use super::*;

    const MS: u64 = 1_000_000;

    fn span(from_ms: u64, until_ms: u64, what: What) -> Span {
        Span {
            from_ns: from_ms * MS,
            until_ns: until_ms * MS,
            what,
        }
    }

    fn ran() -> What {
        What::Ran(Task {
            tid: 7,
            name: Some("hog".to_owned()),
        })
    }

    fn preempted(from_ms: u64, until_ms: u64) -> [Span; 2] {
        let off = span(from_ms, until_ms, What::OffCpu(OffCpu::Preempted));
        [span(from_ms, until_ms, ran()), off]
    }

    /// Twenty seconds, in which 3 of every 10 ms are lost, twice a second throttled.
    fn busy() -> (Vec<Span>, Vec<Counters>) {
        let mut spans: Vec<Span> = (0..2000)
            .flat_map(|i| preempted(10 * i, 10 * i + 3))
            .collect();
        let idle = |i: u64| span(500 * i + 4, 500 * i + 8, What::OffCpu(OffCpu::Preempted));
        spans.extend((0..40).map(idle));
        let polled = (0..201).map(|i| Counters {
            at_ns: 100 * i * MS,
            throttled_ns: Some(i.div_ceil(5) * 4 * MS),
            ..Counters::default()
        });
        (spans, polled.collect())
    }

    #[test]
    fn told_piece_by_piece_it_is_the_same_and_little_is_kept() {
        let (spans, polled) = busy();
        let access = Access::default();
        let whole = lost(&spans, &polled, &access);
        let mut settling = Settling::default();
        let mut told = Vec::new();
        for half in 1..=42u64 {
            let now_ns = 500 * half * MS;
            let new = now_ns.saturating_sub(500 * MS)..now_ns;
            let come = spans.iter().filter(|s| new.contains(&s.until_ns)).cloned();
            settling.take(come.collect(), 0, u64::MAX);
            let read = polled.iter().filter(|c| new.contains(&c.at_ns));
            read.for_each(|c| settling.poll(*c));
            told.extend(settling.settle(now_ns.saturating_sub(200 * MS), None, &access));
            assert!(settling.spans.len() < 600, "{}", settling.spans.len());
        }
        assert_eq!(whole.len(), 2040);
        assert_eq!(told, whole);
        let throttled = told.iter().flat_map(|l| &l.parts);
        let throttled = throttled.filter(|p| p.cause == Cause::Throttled);
        assert_eq!(throttled.map(|p| p.ns).sum::<u64>(), 160 * MS);
    }

    #[test]
    fn the_time_of_attaching_is_none_of_the_programs() {
        let mut settling = Settling::default();
        settling.take(preempted(10, 50).to_vec(), 100 * MS, u64::MAX);
        settling.take(preempted(60, 150).to_vec(), 100 * MS, u64::MAX);
        settling.take(preempted(180, 230).to_vec(), 100 * MS, 200 * MS);
        settling.take(preempted(240, 250).to_vec(), 100 * MS, 200 * MS);
        let told = settling.settle(u64::MAX, None, &Access::default());
        let times: Vec<_> = told
            .iter()
            .map(|l| (l.stall.from_ns / MS, l.stall.until_ns / MS))
            .collect();
        assert_eq!(times, [(100, 150), (180, 200)]);
        assert!(
            told.iter()
                .all(|l| l.parts.len() == 1 && l.parts[0].by.is_some())
        );
    }

    #[test]
    fn what_ran_in_a_stall_that_goes_on_is_kept() {
        let mut settling = Settling::default();
        settling.take(vec![span(1000, 1500, ran())], 0, u64::MAX);
        for s in 2..=4 {
            let told = settling.settle(1000 * s * MS, Some(1000 * MS), &Access::default());
            assert!(told.is_empty());
        }
        let rest = vec![
            span(1500, 4500, ran()),
            span(1000, 4500, What::OffCpu(OffCpu::Preempted)),
        ];
        settling.take(rest, 0, u64::MAX);
        let told = settling.settle(u64::MAX, None, &Access::default());
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].parts.len(), 1, "{:?}", told[0].parts);
        assert_eq!(told[0].parts[0].by.as_deref(), Some("hog[7]"));
    }
}
