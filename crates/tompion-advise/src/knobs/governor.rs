//! CPUs at their highest frequency.

use std::path::PathBuf;

use super::Remedy;
use crate::{Change, Knob, Reach, Ready, State, Surroundings};

const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
const WANTED: &str = "performance";

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(Governor)],
    writes: &["/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"],
};

struct Governor;

impl Knob for Governor {
    fn name(&self) -> String {
        "governor".to_owned()
    }

    fn title(&self) -> String {
        "the frequency governor `performance`".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::System
    }

    fn state(&self, here: &Surroundings) -> State {
        let policies = here.root.numbered(POLICIES, "policy");
        if policies.is_empty() {
            return State::Absent("nothing here scales frequencies, as in most guests".to_owned());
        }
        let offered = |policy: &PathBuf| {
            let words = here.root.words(policy.join("scaling_available_governors"));
            words.iter().any(|word| word == WANTED)
        };
        if !policies.iter().any(offered) {
            return State::Absent(format!("the kernel has no governor `{WANTED}`"));
        }
        let files: Vec<Change> = policies
            .iter()
            .filter(|policy| offered(policy))
            .filter_map(|policy| {
                let path = policy.join("scaling_governor");
                let old = here.root.text(&path).filter(|old| old != WANTED)?;
                Some(Change::new(path, old, WANTED))
            })
            .collect();
        let Some(first) = files.first() else {
            return State::Already(format!("all CPUs have `{WANTED}`"));
        };
        let setup = here.setup();
        State::ready(Ready {
            from: first.old.clone(),
            to: WANTED.to_owned(),
            off: setup.clone(),
            on: setup,
            apply: vec![
                format!(
                    "for g in {POLICIES}/policy*/scaling_governor; do echo {WANTED} > $g; done"
                ),
                format!("or: cpupower frequency-set --governor {WANTED}"),
            ],
            files,
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "power, and heat that may cost the other CPUs their highest frequencies"
    }

    fn source(&self) -> &'static str {
        "practice: Linux Documentation/admin-guide/pm/cpufreq.rst; switched by our tests \
         on made-up files only"
    }
}
