//! What was to be had as evidence over the trials of a cell, and what was not.

use std::collections::BTreeMap;

use tompion_model::Trial;

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
}

impl Evidence {
    /// Takes in what one trial says.
    pub(crate) fn add(&mut self, trial: &Trial) {
        let Some(o) = &trial.observation else { return };
        self.trials += 1;
        self.steal_accounted += u32::from(o.steal_is_accounted);
        self.own_cpu_shares += o.own_cpu_share;
        for item in &o.evidence {
            let (had, missing) = self.items.entry(item.name.clone()).or_default();
            match &item.missing {
                None => *had += 1,
                Some(why) => *missing.entry(why.clone()).or_default() += 1,
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
        if self.steal_accounted < self.trials {
            all.push(
                "No hypervisor accounts here for the time it takes: such time shows as unseen by the guest, or as unknown."
                    .to_owned(),
            );
        }
        all
    }
}
