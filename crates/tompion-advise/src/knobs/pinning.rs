//! Staying on one CPU.

use super::Remedy;
use crate::{Knob, Reach, Ready, State, Surroundings, interrupts};

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(Pinning)],
    writes: &[],
};

struct Pinning;

impl Knob for Pinning {
    fn name(&self) -> String {
        "pinning".to_owned()
    }

    fn title(&self) -> String {
        "staying on the CPU that takes the fewest device interrupts".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::OwnProcess
    }

    fn state(&self, here: &Surroundings) -> State {
        let cpu = match here.cpus.as_slice() {
            [] => return State::Absent("the system does not tell its CPUs".to_owned()),
            [only] => return State::Already(format!("CPU {only} is the only one allowed")),
            cpus => interrupts::quietest(&here.root, cpus).unwrap_or(cpus[0]),
        };
        State::ready(Ready {
            from: format!("any of {} CPUs", here.cpus.len()),
            to: format!("CPU {cpu}"),
            off: here.setup_on(None),
            on: here.setup_on(Some(cpu)),
            apply: vec![
                format!("taskset --cpu-list {cpu} COMMAND"),
                format!("for a service: CPUAffinity={cpu} in its unit"),
            ],
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "when that CPU is busy the thread waits, though others may be free"
    }

    fn source(&self) -> &'static str {
        "Perneel 2015 compares virtual CPUs with and without affinity; sched_setaffinity(2)"
    }
}
