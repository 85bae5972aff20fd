//! What a busy loop found, and why it stood still.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tompion_cause::{Cause, Source};

/// The stalls of one trial (the "clock tick processing duration" of Perneel 2015).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// CPU that the loop was pinned to; absent when free.
    pub cpu: Option<u32>,
    /// Iterations longer than this are stalls and have rows of their own, in
    /// nanoseconds.
    pub threshold_ns: u64,
    /// Iterations of the loop.
    pub iterations: u64,
    /// What an iteration takes undisturbed (median), in nanoseconds.
    pub loop_period_ns: f64,
    /// When the loop began, in nanoseconds since 1970 by the system clock as it stood
    /// when the loop ended; absent in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_unix_ns: Option<u64>,
    /// Wall time of the trial, in nanoseconds.
    pub wall_ns: u64,
    /// Part of it that lies in recorded intervals, in nanoseconds.
    pub observed_ns: u64,
    /// Part of it in which the loop did work of its own, in nanoseconds. What held it up
    /// there is in the rows with the mark `recorder`, and in no figure beside this; runs of
    /// older versions count it as observed and lost.
    pub own_ns: u64,
    /// Stalls.
    pub stalls: u64,
    /// Time lost in them, in nanoseconds.
    pub lost_ns: u64,
    /// Stalls that found no room: they are in the bins, and have no cause.
    pub rows_lost: u64,
    /// Time lost by cause, the greatest first; adds up to `lost_ns`, but for stalls
    /// that found no room.
    pub causes: Vec<CauseTotal>,
}

/// Time lost to one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseTotal {
    /// The cause.
    #[schemars(with = "String")]
    #[schemars(extend("privacy" = "exact"))]
    pub cause: Cause,
    /// By whom or what, where known.
    #[schemars(extend("privacy" = "process"))]
    pub by: Option<String>,
    /// Time lost, in nanoseconds.
    pub ns: u64,
    /// Parts of stalls.
    pub parts: u64,
    /// The longest of them, in nanoseconds.
    pub longest_ns: u64,
}

/// A stall, or the part of it that has one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StallPart {
    /// When the stall began, in nanoseconds since the trial began.
    pub at_ns: u64,
    /// Length of the part in nanoseconds; the parts of a stall add up to it.
    pub ns: u64,
    /// Its cause.
    pub cause: Cause,
    /// By whom or what, where known.
    pub by: Option<String>,
    /// How that is known; nothing where the cause is unknown.
    pub source: Option<Source>,
    /// What the statement rests on, in a few words.
    pub because: String,
}

/// The side table of stalls by cause: one row a part.
pub mod stall_parts {
    use tompion_cause::{Cause, Source};

    use super::StallPart;
    use crate::{Column, SideTable, Values};

    /// Its name.
    pub const NAME: &str = "parts";

    /// The parts as a table, in their order.
    pub fn table(parts: &[StallPart]) -> SideTable {
        let number = |name: &str, pick: fn(&StallPart) -> u64| Column {
            name: name.to_owned(),
            values: Values::Int64(parts.iter().map(|p| Some(pick(p).cast_signed())).collect()),
        };
        let text = |name: &str, pick: fn(&StallPart) -> Option<&str>| Column {
            name: name.to_owned(),
            values: Values::Text(parts.iter().map(|p| pick(p).map(Into::into)).collect()),
        };
        SideTable::new(vec![
            number("at_ns", |p| p.at_ns),
            number("ns", |p| p.ns),
            text("cause", |p| Some(p.cause.name())),
            text("by", |p| p.by.as_deref()),
            text("source", |p| p.source.map(Source::name)),
            text("because", |p| Some(&p.because)),
        ])
        .expect("columns of one length")
    }

    /// The parts that a table holds.
    ///
    /// # Errors
    /// In one line: a column that is missing or of another type, a cause or a source
    /// that this version does not know.
    pub fn of_table(table: &SideTable) -> Result<Vec<StallPart>, String> {
        let number = |name: &str| match table.column(name) {
            Some(Values::Int64(values)) => Ok(values),
            _ => Err(format!("it has no column `{name}` of int64")),
        };
        let text = |name: &str| match table.column(name) {
            Some(Values::Text(values)) => Ok(values),
            _ => Err(format!("it has no column `{name}` of text")),
        };
        let (at, ns) = (number("at_ns")?, number("ns")?);
        let (cause, by) = (text("cause")?, text("by")?);
        let (source, because) = (text("source")?, text("because")?);
        let time = |value: Option<i64>| {
            let time = value.and_then(|v| u64::try_from(v).ok());
            time.ok_or_else(|| "a time is missing or negative".to_owned())
        };
        (0..table.rows())
            .map(|i| {
                let named = cause[i].as_deref();
                let source = source[i]
                    .as_deref()
                    .map(|name| Source::from_name(name).ok_or(format!("unknown source `{name}`")));
                Ok(StallPart {
                    at_ns: time(at[i])?,
                    ns: time(ns[i])?,
                    cause: named
                        .and_then(Cause::from_name)
                        .ok_or_else(|| format!("unknown cause `{}`", named.unwrap_or_default()))?,
                    by: by[i].as_deref().map(str::to_owned),
                    source: source.transpose()?,
                    because: because[i].as_deref().unwrap_or_default().to_owned(),
                })
            })
            .collect()
    }
}
