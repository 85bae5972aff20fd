//! Tompion's own sleep.

use tompion_assess::verdict::remedies::HYBRID_SLEEP;

use super::Remedy;
use crate::{Knob, Reach, Ready, Setup, State, Surroundings};

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(HybridSleep)],
    writes: &[],
};

struct HybridSleep;

impl Knob for HybridSleep {
    fn name(&self) -> String {
        "hybrid-sleep".to_owned()
    }

    fn title(&self) -> String {
        "Tompion's hybrid sleep in place of the kernel's".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::OwnProcess
    }

    fn state(&self, here: &Surroundings) -> State {
        let with = |hybrid| Setup {
            hybrid,
            ..here.setup()
        };
        State::ready(Ready {
            from: "clock_nanosleep".to_owned(),
            to: "wake early, then spin".to_owned(),
            off: with(false),
            on: with(true),
            apply: vec![
                format!("Rust: {}", HYBRID_SLEEP.how),
                "C and C++: tompion_sleep_ns(duration)".to_owned(),
            ],
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        HYBRID_SLEEP.price
    }

    fn source(&self) -> &'static str {
        "Kirova 2019 and Korniichuk 2017 wait by such a sleep (HPTSleep)"
    }
}
