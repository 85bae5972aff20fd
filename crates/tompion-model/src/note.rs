//! Remarks of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A remark of a run: its text is for people, its kind for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// One of [`note_kind`], or a later version's.
    #[schemars(extend("privacy" = "exact"))]
    pub kind: String,
    /// What there is to know, in a sentence or more.
    #[schemars(extend("privacy" = "text"))]
    pub text: String,
}

/// Kinds of remarks; the list is open-ended.
pub mod note_kind {
    /// A signal or an error ended the run.
    pub const INTERRUPTED: &str = "interrupted";
    /// Time ran out before all of the plan was measured.
    pub const TIME_RAN_OUT: &str = "time-ran-out";
    /// The process that wrote the run ended before it could say so.
    pub const NOT_FINISHED: &str = "not-finished";
    /// The trials could not be brought together, and are files of their own.
    pub const KEPT_APART: &str = "kept-apart";
    /// What the machine or its settings did to the measurement.
    pub const MACHINE: &str = "machine";
    /// A cell of a lab that brought no result, or was lost.
    pub const FAILED_CELL: &str = "failed-cell";
    /// A platform of a lab: absent, or how it was set up.
    pub const PLATFORM: &str = "platform";
    /// What was switched from outside by turns, and how it was left.
    pub const SWITCH: &str = "switch";
    /// Something left behind on the machine.
    pub const LEFT_BEHIND: &str = "left-behind";
    /// Anything else; all remarks of runs of format version 1.
    pub const REMARK: &str = "remark";
}

impl Note {
    /// A remark.
    pub fn new(kind: &str, text: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            text: text.into(),
        }
    }
}
