//! What a remedy changes, and what undoes it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One file that a remedy changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file, as seen from `/`.
    pub path: PathBuf,
    /// What it says without the remedy.
    pub old: String,
    /// What it says with it.
    pub new: String,
    /// What else it takes to undo it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<UndoStep>,
}

impl Change {
    /// From one value to another, undone by the old one.
    pub fn new(path: impl Into<PathBuf>, old: impl Into<String>, new: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            old: old.into(),
            new: new.into(),
            back: None,
        }
    }
}

/// A value that is written before the old one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoStep {
    /// The value.
    pub value: String,
    /// The file that says the same once it acts.
    pub seen_in: PathBuf,
    /// Whether it may have been written; until then, whoever has set it was someone else.
    pub begun: bool,
}
