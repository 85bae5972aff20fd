//! Remedies as they are tried.

use std::time::Duration;

use crate::candidate::Candidate;
use crate::effect::Pair;
use crate::{Knob, Ready, State};

/// A remedy that is tried, and what came of it so far.
pub(crate) struct Tried<'a> {
    /// Its place in the list of candidates.
    pub candidate: usize,
    pub knob: &'a dyn Knob,
    pub ready: &'a Ready,
    pub pairs: Vec<Pair>,
    /// Which of its files did not take their value, and why.
    pub left_out: Vec<String>,
    /// Why it is tried no more.
    pub refused: Option<String>,
    /// The longest time that a pair took.
    pub longest: Duration,
    /// The time that all of them took.
    pub took: Duration,
}

/// Those of the candidates that are tried, with nothing measured yet.
pub(crate) fn tried(candidates: &[Candidate]) -> Vec<Tried<'_>> {
    let tried = candidates.iter().enumerate().filter(|(_, c)| c.is_tried());
    tried
        .filter_map(|(at, candidate)| match &candidate.state {
            State::Ready(ready) => Some(Tried {
                candidate: at,
                knob: candidate.knob.as_ref(),
                ready,
                pairs: Vec::new(),
                left_out: Vec::new(),
                refused: None,
                longest: Duration::ZERO,
                took: Duration::ZERO,
            }),
            _ => None,
        })
        .collect()
}
