//! Another clocksource of the kernel.

use super::Remedy;
use crate::{Change, Knob, Quantity, Reach, Ready, State, Surroundings};

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// The present clocksource, or another one.
pub struct Clocksource {
    /// The other one; `None` where there is none.
    other: Option<String>,
}

pub(super) static ENTRY: Remedy = Remedy {
    knobs: each,
    writes: &[CURRENT],
};

/// One remedy for each other clocksource that the kernel offers.
fn each(here: &Surroundings) -> Vec<Box<dyn Knob>> {
    let current = here.root.text(CURRENT);
    let mut others = here.root.words(AVAILABLE);
    others.retain(|name| Some(name) != current.as_ref());
    if others.is_empty() || current.is_none() {
        return vec![Box::new(Clocksource { other: None })];
    }
    others
        .into_iter()
        .map(|name| Box::new(Clocksource { other: Some(name) }) as Box<dyn Knob>)
        .collect()
}

impl Knob for Clocksource {
    fn name(&self) -> String {
        match &self.other {
            Some(name) => format!("clocksource={name}"),
            None => "clocksource".to_owned(),
        }
    }

    fn title(&self) -> String {
        match &self.other {
            Some(name) => format!("the kernel keeps time by {name}"),
            None => "another clocksource of the kernel".to_owned(),
        }
    }

    fn reach(&self) -> Reach {
        Reach::System
    }

    fn quantity(&self) -> Quantity {
        Quantity::ReadCost
    }

    fn state(&self, here: &Surroundings) -> State {
        let Some(old) = here.root.text(CURRENT) else {
            return State::Absent("the kernel shows no clocksource".to_owned());
        };
        let Some(new) = &self.other else {
            return State::Absent(format!("the kernel offers {old} alone"));
        };
        let setup = here.setup();
        State::ready(Ready {
            from: old.clone(),
            to: new.clone(),
            off: setup.clone(),
            on: setup,
            files: vec![Change::new(CURRENT, old, new.clone())],
            apply: vec![
                format!("echo {new} > {CURRENT}"),
                format!("for good: clocksource={new} on the kernel's command line"),
            ],
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "every program reads another clock; where the kernel has given up the TSC it had a reason"
    }

    fn source(&self) -> &'static str {
        "Kirova 2019 and Korniichuk 2017 compare reading the TSC with clock_gettime; Linux \
         Documentation/timers/timekeeping.rst"
    }
}
