//! Idle states that take long to leave, switched off.

use super::Remedy;
use crate::{Change, Knob, Reach, Ready, State, Surroundings};

const CPUS: &str = "/sys/devices/system/cpu";

/// States that are left within this time stay on, in microseconds.
const QUICK_US: u64 = 2;

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(IdleStates)],
    writes: &["/sys/devices/system/cpu/cpu*/cpuidle/state*/disable"],
};

struct IdleStates;

impl Knob for IdleStates {
    fn name(&self) -> String {
        "idle-states".to_owned()
    }

    fn title(&self) -> String {
        format!("idle states off that take more than {QUICK_US} µs to leave")
    }

    fn reach(&self) -> Reach {
        Reach::System
    }

    fn state(&self, here: &Surroundings) -> State {
        let root = &here.root;
        let states: Vec<_> = root
            .numbered(CPUS, "cpu")
            .iter()
            .flat_map(|cpu| root.numbered(cpu.join("cpuidle"), "state"))
            .collect();
        if states.is_empty() {
            return State::Absent(
                "the kernel chooses no idle states, as in most guests".to_owned(),
            );
        }
        let slow: Vec<_> = states
            .into_iter()
            .filter(|state| root.parsed::<u64>(state.join("latency")) > Some(QUICK_US))
            .collect();
        let Some(slowest) = slow
            .iter()
            .max_by_key(|state| root.parsed::<u64>(state.join("latency")))
        else {
            return State::Already(format!("none takes more than {QUICK_US} µs to leave"));
        };
        let slowest = format!(
            "{}, {} µs to leave",
            root.text(slowest.join("name")).unwrap_or_default(),
            root.text(slowest.join("latency")).unwrap_or_default()
        );
        let files: Vec<Change> = slow
            .iter()
            .filter_map(|state| {
                let path = state.join("disable");
                // Other values say that the driver has switched it off.
                let old = root.text(&path).filter(|old| old == "0")?;
                Some(Change::new(path, old, "1"))
            })
            .collect();
        if files.is_empty() {
            return State::Already("all that take longer are off".to_owned());
        }
        let setup = here.setup();
        State::ready(Ready {
            from: format!("down to {slowest}"),
            to: format!("{} of them off", files.len()),
            off: setup.clone(),
            on: setup,
            files,
            apply: vec![format!(
                "for s in {CPUS}/cpu*/cpuidle/state*; do [ $(cat $s/latency) -le {QUICK_US} ] || \
                 echo 1 > $s/disable; done"
            )],
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "power: idle CPUs stay in their shallow states, and others may turn slower for it"
    }

    fn source(&self) -> &'static str {
        "practice: Linux Documentation/admin-guide/pm/cpuidle.rst; switched by our tests \
         on made-up files only"
    }
}
