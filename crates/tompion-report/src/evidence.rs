//! What was to be had as evidence over the trials of a cell, and what was not.

use std::collections::BTreeMap;

use tompion_model::{Observation, Trial};

/// Kinds of evidence that are told of, and reasons why one was missing: what this program asks for is a tenth of that.
const MOST: usize = 128;

/// Evidence of one cell or of a whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evidence {
    /// Trials that say what evidence they had.
    pub trials: u32,
    /// Of them, those whose hypervisor accounts for the time it takes.
    pub steal_accounted: u32,
    /// By name: trials that had it, and reasons with the trials that had not.
    items: BTreeMap<String, (u32, BTreeMap<String, u32>)>,
    own_cpu_shares: f64,
    /// Whether there were more kinds or reasons than are told of.
    is_cut: bool,
}

impl Evidence {
    /// Takes in what one trial says.
    pub(crate) fn add(&mut self, trial: &Trial) {
        if let Some(observation) = &trial.observation {
            self.observe(observation);
        }
    }

    fn observe(&mut self, o: &Observation) {
        self.trials += 1;
        self.steal_accounted += u32::from(o.steal_is_accounted);
        self.own_cpu_shares += o.own_cpu_share;
        for item in &o.evidence {
            let Some((had, missing)) = known_or_new(&mut self.items, &item.name) else {
                self.is_cut = true;
                continue;
            };
            match &item.missing {
                None => *had += 1,
                Some(why) => match known_or_new(missing, why) {
                    Some(trials) => *trials += 1,
                    None => self.is_cut = true,
                },
            }
        }
    }

    /// Names of evidence that every trial had.
    pub(crate) fn had(&self) -> Vec<&str> {
        self.items
            .iter()
            .filter(|(_, (had, missing))| *had > 0 && missing.is_empty())
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// Evidence that was missing, and why; in how many trials where not in all.
    pub(crate) fn missing(&self) -> Vec<String> {
        let all = self.items.iter().flat_map(|(name, (_, missing))| {
            missing.iter().map(move |(why, n)| match *n {
                n if n == self.trials => format!("{name} ({why})"),
                n => format!("{name} in {n} of {} trials ({why})", self.trials),
            })
        });
        all.collect()
    }

    /// CPU time that observing took, as a mean share of one CPU.
    pub(crate) fn own_cpu_share(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.own_cpu_shares / f64::from(self.trials))
    }

    /// The same in sentences.
    pub(crate) fn sentences(&self) -> Vec<String> {
        if self.trials == 0 {
            return vec!["No evidence was recorded: causes rest on nothing.".to_owned()];
        }
        let mut all = Vec::new();
        let had = self.had();
        if !had.is_empty() {
            all.push(format!("Evidence: {}.", had.join(", ")));
        }
        let missing = self.missing();
        if !missing.is_empty() {
            all.push(format!("Missing: {}.", missing.join("; ")));
        }
        if self.is_cut {
            all.push(format!(
                "There are more kinds of evidence, or reasons why one was missing, than {MOST}; of these nothing is told."
            ));
        }
        if self.steal_accounted < self.trials {
            all.push(
                "No hypervisor accounts here for the time it takes: such time shows as unseen by the guest, or as unknown."
                    .to_owned(),
            );
        }
        all
    }
}

/// What a text stands for, as long as these are not too many.
fn known_or_new<'m, V: Default>(all: &'m mut BTreeMap<String, V>, text: &str) -> Option<&'m mut V> {
    let is_full = all.len() >= MOST && !all.contains_key(text);
    (!is_full).then(|| all.entry(text.to_owned()).or_default())
}

#[cfg(test)]
mod tests {
    use tompion_model::EvidenceItem;

    use super::*;

    #[test]
    fn kinds_of_evidence_without_end_are_cut_off_which_is_told() {
        let of = |items: usize| {
            let item = |i: usize| EvidenceItem {
                name: format!("kind {}", i / 2),
                missing: (i % 2 == 1).then(|| format!("reason {i}")),
            };
            let mut evidence = Evidence::default();
            for from in [0, items / 2] {
                let observation = Observation {
                    evidence: (from..items).map(item).collect(),
                    ..Observation::default()
                };
                evidence.observe(&observation);
            }
            evidence
        };
        let few = of(40);
        assert_eq!((few.items.len(), few.is_cut), (20, false));
        let many = of(10_000);
        assert_eq!((many.items.len(), many.is_cut), (MOST, true));
        assert!(many.sentences().iter().any(|s| s.contains("than 128;")));
    }
}
