//! A guest that polls before it gives its CPU back to the host.

use tompion_model::format_ns;

use super::Remedy;
use crate::{Change, Knob, Reach, Ready, State, Surroundings};

const TIME: &str = "/sys/module/haltpoll/parameters/guest_halt_poll_ns";
const IDLE: &str = "/sys/devices/system/cpu/cpuidle";

/// The kernel's own default.
const DEFAULT_NS: u64 = 200_000;

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(HaltPoll)],
    writes: &[TIME],
};

struct HaltPoll;

impl Knob for HaltPoll {
    fn name(&self) -> String {
        "halt-poll".to_owned()
    }

    fn title(&self) -> String {
        "idle CPUs of this guest poll before they halt".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::System
    }

    fn state(&self, here: &Surroundings) -> State {
        let governor = ["current_governor", "current_governor_ro"]
            .iter()
            .find_map(|name| here.root.text(format!("{IDLE}/{name}")));
        let Some(now) = here.root.parsed::<u64>(TIME) else {
            return State::Absent("the kernel has no idle governor `haltpoll`".to_owned());
        };
        if governor.as_deref() != Some("haltpoll") {
            let governor = governor.unwrap_or_else(|| "none".to_owned());
            return State::Absent(format!("the idle governor is {governor}, not haltpoll"));
        }
        if now >= DEFAULT_NS {
            return State::Already(format!("they poll for {}", format_ns(now as f64)));
        }
        let setup = here.setup();
        State::ready(Ready {
            from: format_ns(now as f64),
            to: format!("up to {}", format_ns(DEFAULT_NS as f64)),
            off: setup.clone(),
            on: setup,
            files: vec![Change::new(TIME, now.to_string(), DEFAULT_NS.to_string())],
            apply: vec![
                format!("echo {DEFAULT_NS} > {TIME}"),
                format!(
                    "for good: haltpoll.guest_halt_poll_ns={DEFAULT_NS} on the kernel's command line"
                ),
            ],
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "CPU time and power: idle CPUs spin, and the host's other tenants do not get that time"
    }

    fn source(&self) -> &'static str {
        "practice: Linux Documentation/virt/guest-halt-polling.rst; switched by our tests on \
         made-up files only"
    }
}
