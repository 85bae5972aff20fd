//! Memory that is never paged out.

use super::Remedy;
use crate::{Knob, Reach, Ready, Setup, State, Surroundings};

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(MemoryLock)],
    writes: &[],
};

struct MemoryLock;

impl Knob for MemoryLock {
    fn name(&self) -> String {
        "mlock".to_owned()
    }

    fn title(&self) -> String {
        "all memory of the process locked".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::OwnProcess
    }

    fn state(&self, here: &Surroundings) -> State {
        let with = |locked| Setup {
            locked,
            ..here.setup()
        };
        State::ready(Ready {
            from: "pages come and go".to_owned(),
            to: "pages stay".to_owned(),
            off: with(false),
            on: with(true),
            apply: vec![
                "mlockall(MCL_CURRENT | MCL_FUTURE) before the first deadline".to_owned(),
                "for a service: LimitMEMLOCK=infinity in its unit".to_owned(),
            ],
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "memory that the process has asked for is taken at once and from all others; it acts \
         where pages are paged out or first touched at a deadline"
    }

    fn source(&self) -> &'static str {
        "practice: mlockall(2), section Notes, for real-time processes"
    }
}
