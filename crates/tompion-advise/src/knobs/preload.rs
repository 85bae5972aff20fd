//! The preload library under a program that knows nothing of it.

use super::Remedy;
use crate::{Knob, Quantity, Reach, Ready, Setup, State, Surroundings};

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(Preload)],
    writes: &[],
};

struct Preload;

impl Knob for Preload {
    fn name(&self) -> String {
        "preload".to_owned()
    }

    fn title(&self) -> String {
        "Tompion's clock and sleeps under a program that cannot be changed".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::OwnProcess
    }

    fn quantity(&self) -> Quantity {
        Quantity::ProgramWakeUp
    }

    fn state(&self, here: &Surroundings) -> State {
        let program = match &here.program {
            Ok(program) => program,
            Err(why) => return State::Absent(why.clone()),
        };
        let with = |preload| Setup {
            preload,
            ..here.setup()
        };
        State::ready(Ready {
            from: format!("{program} by itself"),
            to: format!("{program} with the library"),
            off: with(false),
            on: with(true),
            apply: vec!["tompion preload --policy hybrid -- COMMAND".to_owned()],
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "it spins over the last microseconds of each sleep; programs start a little later"
    }

    fn source(&self) -> &'static str {
        "Kirova 2019 puts precise timers under bandwidth tools by LD_PRELOAD"
    }
}
