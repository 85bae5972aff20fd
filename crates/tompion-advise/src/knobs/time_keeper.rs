//! What keeps the wall clock in step.

use tompion_assess::wall_clock::wall_clock;

use super::Remedy;
use crate::{Knob, Quantity, Reach, Ready, State, Surroundings};

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(TimeKeeper)],
    writes: &[],
};

struct TimeKeeper;

impl Knob for TimeKeeper {
    fn name(&self) -> String {
        "time-keeper".to_owned()
    }

    fn title(&self) -> String {
        "the wall clock in step with a reference".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::System
    }

    fn quantity(&self) -> Quantity {
        Quantity::WallClock
    }

    fn state(&self, here: &Surroundings) -> State {
        let Some(clock) = wall_clock(&here.environment) else {
            return State::Absent("nothing here tells how the wall clock is kept".to_owned());
        };
        match clock.remedy {
            Some(remedy) => State::advised(Ready {
                from: clock.answer,
                to: remedy.what,
                apply: remedy.steps,
                ..Ready::default()
            }),
            None if clock.in_step == Some(true) => State::Already(clock.answer),
            None => State::Absent(clock.answer),
        }
    }

    fn price(&self) -> &'static str {
        "a small program that runs all the time, some packets an hour; a clock that is far off \
         is set once, at which programs that reckon with the time of day notice a jump"
    }

    fn source(&self) -> &'static str {
        "practice: chrony.conf(5), Linux drivers/ptp; never tried by us, since that takes \
         installing programs"
    }
}
