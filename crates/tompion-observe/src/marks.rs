//! Which samples were disturbed, and by what (pure).

use tompion_cause::{Cause, Disturbance, Source};

/// For each sample the reason that overlaps it most; absent where nothing does.
///
/// `samples` are intervals `(from_ns, until_ns)`, `disturbances` have times of the
/// same clock; both stand in the order of their beginnings and may overlap among
/// themselves. Overlaps of the same cause are added. What has its own times goes
/// before what was polled: a polling window says only that something happened
/// somewhere within it. A disturbance of which only the moment is known counts
/// where nothing of length does; among equals the first in the order of [`Cause`].
///
/// Takes time proportional to samples, disturbances and overlaps together.
///
/// ```
/// use tompion_cause::{Cause, Disturbance, Source};
/// use tompion_observe::marks::marks;
///
/// let preempted = Disturbance {
///     from_ns: 150,
///     until_ns: 400,
///     cause: Cause::Preempted,
///     by: Some("hog".to_owned()),
///     source: Source::Event,
/// };
/// let marks = marks(&[(0, 100), (100, 200)], &[preempted]);
/// assert_eq!(marks, [None, Some((Cause::Preempted, Source::Event))]);
/// ```
pub fn marks(samples: &[(u64, u64)], disturbances: &[Disturbance]) -> Vec<Option<(Cause, Source)>> {
    debug_assert!(samples.is_sorted_by_key(|s| s.0), "samples out of order");
    debug_assert!(
        disturbances.is_sorted_by_key(|d| d.from_ns),
        "disturbances out of order"
    );
    let mut waiting = disturbances.iter().peekable();
    // Begun, and not known to be over: a later sample may still overlap them.
    let mut open: Vec<&Disturbance> = Vec::new();
    let mut tally = Tally::default();
    samples
        .iter()
        .map(|&(from_ns, until_ns)| {
            open.retain(|d| d.until_ns >= from_ns);
            while let Some(begun) = waiting.next_if(|d| d.from_ns <= until_ns) {
                if begun.until_ns >= from_ns {
                    open.push(begun);
                }
            }
            tally.clear();
            open.iter().for_each(|d| tally.add(d, from_ns, until_ns));
            tally.most()
        })
        .collect()
}

/// Overlap with one sample by source and cause.
#[derive(Default)]
struct Tally(Vec<((u8, Cause), Source, u64)>);

impl Tally {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, d: &Disturbance, from_ns: u64, until_ns: u64) {
        let (begin, end) = (d.from_ns.max(from_ns), d.until_ns.min(until_ns));
        // Of length, they must share time; a mere touch is none. A moment lies
        // within or not.
        let is_moment = d.from_ns == d.until_ns || from_ns == until_ns;
        if begin > end || (begin == end && !is_moment) {
            return;
        }
        let key = (rank(d.source), d.cause);
        match self.0.iter_mut().find(|t| t.0 == key) {
            Some(known) => known.2 += end - begin,
            None => self.0.push((key, d.source, end - begin)),
        }
    }

    fn most(&self) -> Option<(Cause, Source)> {
        let best = self.0.iter().min_by_key(|(key, _, overlap)| {
            let (rank, cause) = *key;
            (rank, std::cmp::Reverse(*overlap), cause)
        })?;
        Some((best.0.1, best.1))
    }
}

/// The better the times, the earlier.
fn rank(source: Source) -> u8 {
    match source {
        Source::Event => 0,
        Source::Counter => 1,
        Source::Polled => 2,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn disturbance(from_ns: u64, until_ns: u64, cause: Cause, source: Source) -> Disturbance {
        Disturbance {
            from_ns,
            until_ns,
            cause,
            by: None,
            source,
        }
    }

    #[test]
    fn an_event_goes_before_the_window_around_it() {
        let all = [
            disturbance(0, 100_000, Cause::Stolen, Source::Polled),
            disturbance(500, 510, Cause::Tick, Source::Event),
        ];
        let marks = marks(
            &[(0, 400), (450, 550), (550, 600), (200_000, 200_010)],
            &all,
        );
        let polled = Some((Cause::Stolen, Source::Polled));
        assert_eq!(
            marks,
            [polled, Some((Cause::Tick, Source::Event)), polled, None]
        );
    }

    #[test]
    fn shorter_disturbances_of_one_cause_add_up() {
        let all = [
            disturbance(0, 30, Cause::Softirq, Source::Event),
            disturbance(30, 50, Cause::Tick, Source::Event),
            disturbance(60, 80, Cause::Tick, Source::Event),
        ];
        assert_eq!(
            marks(&[(0, 100)], &all),
            [Some((Cause::Tick, Source::Event))]
        );
    }

    #[test]
    fn touching_is_no_overlap_and_a_moment_within_is() {
        let all = [
            disturbance(0, 100, Cause::Tick, Source::Event),
            disturbance(150, 150, Cause::PageFault, Source::Event),
        ];
        let marks = marks(&[(100, 120), (140, 160), (150, 150), (151, 151)], &all);
        let fault = Some((Cause::PageFault, Source::Event));
        assert_eq!(marks, [None, fault, fault, None]);
    }

    #[test]
    fn many_samples_and_disturbances_take_linear_time() {
        let samples: Vec<_> = (0..300_000).map(|i| (i * 100, i * 100 + 50)).collect();
        let mut all: Vec<_> = (0..300_000)
            .map(|i| disturbance(i * 100 + 40, i * 100 + 45, Cause::Tick, Source::Event))
            .collect();
        all.insert(0, disturbance(0, u64::MAX, Cause::Stolen, Source::Polled));
        let began = std::time::Instant::now();
        let marks = marks(&samples, &all);
        assert!(
            marks
                .iter()
                .all(|m| *m == Some((Cause::Tick, Source::Event)))
        );
        // Quadratic, this would be 10^11 steps.
        assert!(began.elapsed().as_secs() < 20);
    }

    fn any_disturbances() -> impl Strategy<Value = Vec<Disturbance>> {
        let cause = prop::sample::select(&Cause::ALL[..]);
        let source = prop_oneof![
            Just(Source::Event),
            Just(Source::Counter),
            Just(Source::Polled)
        ];
        let one =
            (0..1000u64, 0..200u64, cause, source).prop_map(|(from, length, cause, source)| {
                disturbance(from, from + length, cause, source)
            });
        prop::collection::vec(one, 0..40).prop_map(|mut all| {
            all.sort_by_key(|d| d.from_ns);
            all
        })
    }

    fn any_samples() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let one = (0..1200u64, 0..100u64).prop_map(|(from, length)| (from, from + length));
        prop::collection::vec(one, 0..40).prop_map(|mut all| {
            all.sort();
            all
        })
    }

    proptest! {
        /// As if each sample were held against each disturbance.
        #[test]
        fn equals_the_plain_definition(samples in any_samples(), all in any_disturbances()) {
            let found = marks(&samples, &all);
            for (&(from, until), mark) in samples.iter().zip(found) {
                let mut tally = Tally::default();
                all.iter().for_each(|d| tally.add(d, from, until));
                prop_assert_eq!(mark, tally.most());
                let overlaps = all.iter().any(|d| {
                    let shared = d.until_ns.min(until) as i64 - d.from_ns.max(from) as i64;
                    let moment = d.from_ns == d.until_ns || from == until;
                    shared > 0 || (shared == 0 && moment)
                });
                prop_assert_eq!(mark.is_some(), overlaps);
            }
        }
    }
}
