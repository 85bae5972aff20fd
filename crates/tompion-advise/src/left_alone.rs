//! Values that are not ours to put back.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use tompion_model::printable;

use crate::files;

/// A value that someone else has changed, and that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftAlone {
    /// The file.
    pub path: PathBuf,
    /// What it says now.
    pub found: String,
    /// What it said when it was first looked at.
    pub old: String,
}

impl fmt::Display for LeftAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The one is of a record, the other of whoever changed it.
        let (found, old) = (printable(&self.found), printable(&self.old));
        let path = self.path.display();
        match files::same(&found, &old) {
            true => write!(
                f,
                "{path}: someone else has set it back to `{old}` meanwhile"
            ),
            false => write!(
                f,
                "{path}: someone else has set it to `{found}`, which stays; it was `{old}` before"
            ),
        }
    }
}
