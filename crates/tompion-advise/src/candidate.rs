//! Remedies as they stand on this machine.

use crate::{Knob, Reach, State, Surroundings, knobs};

/// A remedy and how it stands here.
pub struct Candidate {
    pub(crate) knob: Box<dyn Knob>,
    pub(crate) state: State,
    /// Why it is not to be tried, though it could be.
    pub(crate) barred: Option<String>,
}

impl Candidate {
    /// The remedy's name.
    pub fn name(&self) -> String {
        self.knob.name()
    }

    /// What it is.
    pub fn title(&self) -> String {
        self.knob.title()
    }

    /// Whether it could be tried here and touches other programs, too.
    pub fn needs_consent(&self) -> bool {
        matches!(self.state, State::Ready(_)) && self.knob.reach() == Reach::System
    }

    /// Whether it is advised, and never tried.
    pub fn is_advised(&self) -> bool {
        matches!(self.state, State::Advised(_))
    }

    /// Whether it will be tried.
    pub fn is_tried(&self) -> bool {
        matches!(self.state, State::Ready(_)) && self.barred.is_none()
    }
}

/// All remedies as they stand here; nothing is changed.
pub fn candidates(here: &Surroundings) -> Vec<Candidate> {
    knobs::all(here)
        .into_iter()
        .map(|knob| Candidate {
            state: knob.state(here),
            knob,
            barred: None,
        })
        .collect()
}

/// Bars what touches other programs; `why` says what it would take.
pub fn bar_system(candidates: &mut [Candidate], why: &str) {
    for candidate in candidates.iter_mut().filter(|c| c.needs_consent()) {
        candidate.barred = Some(why.to_owned());
    }
}
