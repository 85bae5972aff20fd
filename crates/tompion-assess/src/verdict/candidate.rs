//! A finding that may be told.

use crate::verdict::Finding;

/// A finding with what it must not be told twice with.
pub struct Candidate {
    /// Cause and kind of method; one finding is kept for each.
    pub cause: String,
    /// Whether time itself is wrong, which comes before any slowness.
    pub wrong: bool,
    /// The finding.
    pub finding: Finding,
}
