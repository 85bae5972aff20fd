//! The methods, one a file, and the list of them.

mod chirp;
mod fit;
mod kite2;
mod ours;
mod yaz;

use super::method::{Begin, MethodEntry};

/// All methods, the default first.
pub static METHODS: [&MethodEntry; 5] = [
    &ours::ENTRY,
    &yaz::ENTRY,
    &yaz::SMALL_GAPS,
    &kite2::ENTRY,
    &chirp::ENTRY,
];

/// What begins the method of this name.
pub fn method(name: &str) -> Option<Begin> {
    let named = METHODS.iter().find(|entry| entry.name == name)?;
    Some(named.begin)
}

#[cfg(test)]
mod tests {
    use super::super::ending::Ending;
    use super::super::method::{Asked, Step};
    use super::super::train::{Passed, TrainSeen};
    use super::*;
    use proptest::prelude::*;

    /// Moments that a far end may claim, or this machine's stamps show: in order or not, any that there are.
    fn moment() -> impl Strategy<Value = Option<i64>> {
        prop_oneof![
            Just(None),
            (0..1_000_000_i64).prop_map(Some),
            any::<i64>().prop_map(Some),
            Just(Some(i64::MIN)),
            Just(Some(i64::MAX)),
        ]
    }

    proptest! {
        /// Every method comes to an end within its budget, by numbers that are numbers.
        #[test]
        fn whatever_stamps_say_every_method_ends(
            sent in prop::collection::vec(moment(), 1..40),
            received in prop::collection::vec(moment(), 1..40),
        ) {
            for entry in METHODS {
                let asked = Asked::default();
                let mut begun = (entry.begin)(&asked);
                let (mut spent, mut last, mut turns) = (0, None, 0_usize);
                let ending = loop {
                    match begun.next(last.as_ref()) {
                        Step::Done(ending) => break ending,
                        Step::Send(plan) => {
                            spent += plan.all_bytes();
                            turns += 1;
                            let passed = (0..plan.packets()).map(|at| Passed {
                                sent_ns: sent[(at * turns) % sent.len()],
                                received_ns: received[(at + turns) % received.len()],
                                is_marked: false,
                            });
                            last = Some(TrainSeen::of(plan.clone(), passed.collect()));
                        }
                    }
                };
                prop_assert!(spent <= asked.most_bytes);
                if let Ending::Estimate(found) = ending {
                    prop_assert!(found.available_bps.is_finite() && found.available_bps >= 0.0, "{}: {found:?}", entry.name);
                }
                let _ = begun.finish();
            }
        }
    }

    #[test]
    fn methods_are_told_apart_and_keep_their_budget() {
        let names: std::collections::BTreeSet<_> = METHODS.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), METHODS.len());
        assert!(method("tompion").is_some() && method("igi").is_none());
        for entry in METHODS {
            let asked = Asked {
                most_bytes: 100_000,
                ..Asked::default()
            };
            let mut begun = (entry.begin)(&asked);
            let (mut spent, mut last) = (0, None);
            // Of a path that carries everything at once.
            while let Step::Send(plan) = begun.next(last.as_ref()) {
                spent += plan.all_bytes();
                assert!(spent <= asked.most_bytes, "{}: {spent}", entry.name);
                last = Some(super::super::simulate::at_once(plan));
            }
        }
    }
}
