//! A finding that may be told.

use tompion_model::Cell;
use tompion_stats::BlockRange;

use crate::verdict::Finding;
use crate::verdict::basis::sentence;

/// A finding with what it must not be told twice with.
pub struct Candidate {
    /// Cause and kind of method; one finding is kept for each.
    pub cause: String,
    /// Whether time itself is wrong, which comes before any slowness.
    pub wrong: bool,
    /// The finding.
    pub finding: Finding,
}

impl Candidate {
    /// `text` as a sentence about a cell, with the multiple that it states.
    pub fn of(
        cause: String,
        cell: &Cell,
        text: &str,
        (ratio, range): (f64, Option<BlockRange>),
    ) -> Self {
        Self {
            cause,
            wrong: false,
            finding: Finding {
                sentence: format!("{}.", sentence(text)),
                cell: cell.factors.clone(),
                ratio,
                ratio_range: range.map(|r| [r.low, r.high]),
            },
        }
    }
}
