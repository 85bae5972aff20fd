//! A part of a machine, and how it stands.

use serde::{Serialize, Serializer};

use super::fault::Fault;
use super::words::capital;

/// How one part of a machine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing that measured this part.
    NotMeasured,
    /// Nothing wrong.
    Ok,
    /// Something that costs time, or that nobody can tell.
    Warn,
    /// Something that hardly any use of time bears.
    Fail,
}

impl State {
    /// In one word; or two.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotMeasured => "not measured",
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "FAIL",
        }
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.word().to_lowercase())
    }
}

/// One part of a machine that may take the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// `Clock`, `Host`, `Kernel` or `Here`.
    pub name: &'static str,
    /// How it stands.
    pub state: State,
    /// The same in at most [`SENTENCE`] characters.
    pub sentence: String,
    /// What else is to be said, each a sentence.
    pub details: Vec<String>,
    /// What is wrong, each with how the part stands by it, in the order of the sentence.
    #[serde(skip)]
    pub(crate) faults: Vec<(State, Fault)>,
}

/// Characters of a sentence, at most.
pub const SENTENCE: usize = 80;

impl Part {
    /// By what there is to say of it: each clause with how the part stands by it, the most
    /// important first. The sentence has as many as fit, the details have those that do not.
    pub(super) fn of(
        name: &'static str,
        clauses: Vec<(State, String)>,
        mut details: Vec<String>,
    ) -> Self {
        let state = clauses.iter().map(|c| c.0).max();
        let mut sentence = String::new();
        let mut left = Vec::new();
        for (_, clause) in clauses {
            let joined = match sentence.is_empty() {
                true => clause.clone(),
                false => format!("{sentence}; {clause}"),
            };
            // What comes first is said, cut short if it must be.
            match joined.chars().count() <= SENTENCE {
                true => sentence = joined,
                false if sentence.is_empty() => {
                    sentence = clause.chars().take(SENTENCE - 1).collect();
                    sentence.push('\u{2026}');
                    left.push(clause);
                }
                false => left.push(clause),
            }
        }
        let left = left.iter().map(|clause| capital(clause) + ".");
        details.splice(0..0, left);
        Self {
            name,
            state: state.unwrap_or(State::NotMeasured),
            sentence,
            details,
            faults: Vec::new(),
        }
    }

    /// The same with what is wrong.
    pub(super) fn by(self, faults: Vec<(State, Fault)>) -> Self {
        Self { faults, ..self }
    }
}
