//! What is wrong in a register, and where.

use thiserror::Error;

/// Something wrong in a register: where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {what}")]
pub struct Mistake {
    place: String,
    what: String,
}

impl Mistake {
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
        }
    }
}
