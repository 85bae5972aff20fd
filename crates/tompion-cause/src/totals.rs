//! Lost time added up: how much, how often, why and by whom.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::{Cause, Part};

/// Names told apart in reports for each cause.
pub const NAMES_SHOWN: usize = 32;

/// Names remembered for each cause; a machine that starts thousands of processes
/// must not fill our memory.
const NAMES_KEPT: usize = 512;

/// Under this name stand all beyond the first [`NAMES_SHOWN`].
pub const OTHERS: &str = "others";

/// A sum of lost time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// Time lost, in nanoseconds.
    pub ns: u64,
    /// In how many parts of stalls.
    pub count: u64,
    /// The longest of them, in nanoseconds.
    pub longest_ns: u64,
}

impl Total {
    fn add(&mut self, ns: u64) {
        self.ns += ns;
        self.count += 1;
        self.longest_ns = self.longest_ns.max(ns);
    }

    fn merge(&mut self, other: &Self) {
        self.ns += other.ns;
        self.count += other.count;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Lost time by cause, and by whom or what: the causes sum to the time lost, and
/// the names of a cause to that cause.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    stalls: Total,
    causes: BTreeMap<Cause, Named>,
}

#[derive(Clone, Debug, Default)]
struct Named {
    total: Total,
    names: HashMap<String, Total>,
    /// Parts without a name.
    nameless: Total,
    /// Names given up; one that comes again later counts anew.
    others: Total,
}

impl Totals {
    /// Nothing lost.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one stall by its parts.
    pub fn add(&mut self, parts: &[Part]) {
        if parts.is_empty() {
            return;
        }
        self.stalls.add(parts.iter().map(|p| p.ns).sum());
        for part in parts {
            let named = self.causes.entry(part.cause).or_default();
            named.total.add(part.ns);
            match &part.by {
                None => named.nameless.add(part.ns),
                Some(by) => named.add(by, part.ns),
            }
        }
    }

    /// All stalls: time lost, their number, the longest.
    pub fn stalls(&self) -> Total {
        self.stalls
    }

    /// Time lost, in nanoseconds.
    pub fn lost_ns(&self) -> u64 {
        self.stalls.ns
    }

    /// One cause.
    pub fn cause(&self, cause: Cause) -> Total {
        self.causes.get(&cause).map(|n| n.total).unwrap_or_default()
    }

    /// Each cause that occurred, most time first.
    pub fn by_cause(&self) -> Vec<(Cause, Total)> {
        let mut all: Vec<_> = self.causes.iter().map(|(c, n)| (*c, n.total)).collect();
        all.sort_by_key(|(_, t)| std::cmp::Reverse(t.ns));
        all
    }

    /// By whom or what within a cause: the first [`NAMES_SHOWN`], most time
    /// first, then [`OTHERS`]. Parts without a name stand under `None`.
    pub fn by_whom(&self, cause: Cause) -> Vec<(Option<String>, Total)> {
        let Some(named) = self.causes.get(&cause) else {
            return Vec::new();
        };
        let mut all: Vec<_> = named.names.iter().collect();
        all.sort_by(|a, b| b.1.ns.cmp(&a.1.ns).then_with(|| a.0.cmp(b.0)));
        let mut others = named.others;
        for (_, total) in all.iter().skip(NAMES_SHOWN) {
            others.merge(total);
        }
        let shown = all
            .into_iter()
            .take(NAMES_SHOWN)
            .map(|(name, total)| (Some(name.clone()), *total));
        shown
            .chain([(Some(OTHERS.to_owned()), others), (None, named.nameless)])
            .filter(|(_, total)| total.count > 0)
            .collect()
    }

    /// Adds what another collected.
    pub fn merge(&mut self, other: &Self) {
        self.stalls.merge(&other.stalls);
        for (cause, theirs) in &other.causes {
            let ours = self.causes.entry(*cause).or_default();
            ours.total.merge(&theirs.total);
            ours.nameless.merge(&theirs.nameless);
            ours.others.merge(&theirs.others);
            for (name, total) in &theirs.names {
                ours.names.entry(name.clone()).or_default().merge(total);
            }
            ours.shrink();
        }
    }
}

impl Named {
    fn add(&mut self, by: &str, ns: u64) {
        if let Some(total) = self.names.get_mut(by) {
            return total.add(ns);
        }
        self.names.entry(by.to_owned()).or_default().add(ns);
        self.shrink();
    }

    /// Gives up the smaller half when there are too many.
    fn shrink(&mut self) {
        if self.names.len() <= NAMES_KEPT {
            return;
        }
        let mut all: Vec<_> = self.names.drain().collect();
        all.sort_by(|a, b| b.1.ns.cmp(&a.1.ns).then_with(|| a.0.cmp(&b.0)));
        for (_, total) in all.drain(NAMES_KEPT / 2..) {
            self.others.merge(&total);
        }
        self.names.extend(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(cause: Cause, by: Option<String>, ns: u64) -> Part {
        Part {
            cause,
            ns,
            by,
            source: None,
            because: "",
        }
    }

    #[test]
    fn thousands_of_names_become_the_largest_and_others() {
        let mut totals = Totals::new();
        for i in 0..5_000u64 {
            totals.add(&[part(Cause::Preempted, Some(format!("p[{i}]")), 100)]);
            totals.add(&[part(Cause::Preempted, Some("hog[1]".into()), 1_000)]);
        }
        let whom = totals.by_whom(Cause::Preempted);
        assert_eq!(whom.len(), NAMES_SHOWN + 1);
        let (hog, total) = &whom[0];
        assert_eq!(hog.as_deref(), Some("hog[1]"));
        assert_eq!(
            (total.ns, total.count, total.longest_ns),
            (5_000_000, 5_000, 1_000)
        );
        assert_eq!(whom.last().unwrap().0.as_deref(), Some(OTHERS));
        assert!(totals.causes[&Cause::Preempted].names.len() <= NAMES_KEPT);
    }

    proptest! {
        #[test]
        fn causes_sum_to_time_lost_and_names_to_causes(
            stalls in prop::collection::vec(prop::collection::vec((0..14usize, prop::option::of(0..2000u32), 1..1_000_000u64), 1..5), 0..600),
            half in 0..600usize,
        ) {
            let (mut all, mut first, mut second) = (Totals::new(), Totals::new(), Totals::new());
            let mut lost = 0;
            for (i, stall) in stalls.iter().enumerate() {
                let parts: Vec<Part> = stall
                    .iter()
                    .map(|&(c, by, ns)| part(Cause::ALL[c], by.map(|n| n.to_string()), ns))
                    .collect();
                lost += parts.iter().map(|p| p.ns).sum::<u64>();
                all.add(&parts);
                if i < half { &mut first } else { &mut second }.add(&parts);
            }
            first.merge(&second);
            for totals in [all, first] {
                prop_assert_eq!(totals.lost_ns(), lost);
                prop_assert_eq!(totals.stalls().count, stalls.len() as u64);
                let causes = totals.by_cause();
                prop_assert_eq!(causes.iter().map(|c| c.1.ns).sum::<u64>(), lost);
                for (cause, total) in causes {
                    let whom = totals.by_whom(cause);
                    prop_assert_eq!(whom.iter().map(|w| w.1.ns).sum::<u64>(), total.ns);
                    prop_assert_eq!(whom.iter().map(|w| w.1.count).sum::<u64>(), total.count);
                }
            }
        }
    }
}
