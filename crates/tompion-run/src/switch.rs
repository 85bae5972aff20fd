//! What something outside is set to by turns, while a plan is carried out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Something outside the measurement that has the levels of [`Plan::by_turns`](crate::Plan::by_turns):
/// a setting of the machine, its neighbour, a service. Whoever measures says how it is set.
pub trait Switch {
    /// What the reader of the run must know of it, in sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Sets it to the level at this place. No load is on meanwhile, and no trial under way. Returns
    /// early, with whatever it is in, once `stop` is set.
    ///
    /// # Errors
    /// What went wrong, for one line; the run ends with it and keeps what was measured.
    fn set(&mut self, level: usize, stop: &Arc<AtomicBool>) -> Result<(), String>;

    /// Called after the last trial, however the run ended. Returns in which state it is left, in a
    /// sentence.
    fn leave(&mut self) -> String;
}

/// Nothing that could be switched.
pub(crate) struct Nothing;

impl Switch for Nothing {
    fn set(&mut self, _: usize, _: &Arc<AtomicBool>) -> Result<(), String> {
        Err("the plan has levels, and nothing was given that sets them".to_owned())
    }

    fn leave(&mut self) -> String {
        "Nothing was switched.".to_owned()
    }
}
