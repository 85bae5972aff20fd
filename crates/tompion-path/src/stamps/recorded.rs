//! How packets stand in a run: the probe's name, and the side table of its trials.
//!
//! A row is a probe in the order of sending, a column a place that stamps; a second column for
//! each place says why a stamp is missing. docs/run-format.md describes it.

mod keys;
mod marks;
mod taps;

use std::collections::BTreeMap;
use std::sync::Arc;

use tompion_model::{Column, SideTable, Values};

use crate::stamps::column::Missing;
use crate::stamps::packets::Packets;
use crate::stamps::place::Stamp;
use crate::stamps::probe::{Outcome, PacketsError, Probe};

pub use keys::{KEYS, keys_of, keys_table};
pub use marks::{MARKS, PacketMark, marks_of, marks_table};
pub use taps::{LONGEST_TAP_NAME, is_tap_name};

/// The name of the probe that records round trips by vantage point.
pub const NAME: &str = "packet-delay";

/// Its methods: the protocols by which it asks.
pub const METHODS: [&str; 2] = ["stamp", "icmp"];

/// The level of the factor `vantage` that is no vantage point: the path alone, of probes that nothing held up at either end.
pub const PATH: &str = "path";

/// The name of the side table.
pub const TABLE: &str = "packets";

/// Words for what became of probes.
const OUTCOMES: [(Outcome, &str); 4] = [
    (Outcome::Answered, "answered"),
    (Outcome::Lost, "lost"),
    (Outcome::NotSent, "not-sent"),
    (Outcome::Pending, "pending"),
];

/// Why a table is none of packets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A column is missing, or of another type.
    #[error("it has no column `{name}` of {of}")]
    Column {
        /// Its name.
        name: String,
        /// The type that it should have.
        of: &'static str,
    },
    /// A value that has to be there is missing.
    #[error("row {row} has no `{name}`")]
    Absent {
        /// The column.
        name: String,
        /// The row, from 0.
        row: usize,
    },
    /// A word that means nothing here.
    #[error("row {row} has an unknown word in column `{name}`")]
    Word {
        /// The column.
        name: String,
        /// The row, from 0.
        row: usize,
    },
    /// A stamp, and a reason for which it is missing.
    #[error("row {row} has a stamp in `{name}`, and a reason why there is none")]
    Both {
        /// The column of the stamp.
        name: String,
        /// The row, from 0.
        row: usize,
    },
    /// A tap whose name no tap may have.
    #[error("no tap is called {name:?}")]
    Tap {
        /// As a column has it.
        name: String,
    },
    /// What no table of packets holds.
    #[error(transparent)]
    Packets(#[from] PacketsError),
}

fn stamp_column(place: &str) -> String {
    format!("{place}_ns")
}

fn reason_column(place: &str) -> String {
    format!("{place}_missing")
}

/// A column that is missing, or of another type.
fn none(name: &str, of: &'static str) -> RecordError {
    RecordError::Column {
        name: name.to_owned(),
        of,
    }
}

/// The packets as a side table, with the columns of taps behind all others.
pub fn table(packets: &Packets) -> SideTable {
    let column = |name: &str, values| Column {
        name: name.to_owned(),
        values,
    };
    // Equal words share their memory: there are a dozen, however many rows.
    let mut words: BTreeMap<&'static str, Arc<str>> = BTreeMap::new();
    let mut word =
        |text: &'static str| Arc::clone(words.entry(text).or_insert_with(|| text.into()));
    let outcome = |probe: Probe| {
        let named = OUTCOMES.iter().find(|o| o.0 == probe.outcome);
        named.map(|o| o.1)
    };
    let outcomes = packets.probes().map(|p| outcome(p).map(&mut word));
    let mut columns = vec![
        column("outcome", Values::Text(outcomes.collect())),
        column(
            "bytes",
            Values::UInt32(packets.probes().map(|p| Some(p.bytes)).collect()),
        ),
        column(
            "arrival",
            Values::UInt32(packets.probes().map(|p| p.arrival).collect()),
        ),
        column(
            "duplicates",
            Values::UInt32(packets.probes().map(|p| Some(p.duplicates)).collect()),
        ),
    ];
    let rows = 0..packets.len();
    for (stamp, place) in taps::places(packets) {
        let stamps = rows.clone().map(|row| packets.get(row, stamp));
        columns.push(column(
            &stamp_column(&place),
            Values::Int64(stamps.collect()),
        ));
        let reasons = rows.clone().map(|row| packets.missing(row, stamp));
        let reasons = reasons.map(|why| why.map(|why| word(why.name())));
        columns.push(column(
            &reason_column(&place),
            Values::Text(reasons.collect()),
        ));
    }
    SideTable::new(columns).expect("columns of one length and of different names")
}

/// The packets that a side table holds.
///
/// # Errors
/// A column that is missing or of another type, a word that is not known, a stamp out of range.
pub fn of_table(table: &SideTable) -> Result<Packets, RecordError> {
    let text = |name: &str| match table.column(name) {
        Some(Values::Text(values)) => Ok(values),
        _ => Err(none(name, "text")),
    };
    let number = |name: &str| match table.column(name) {
        Some(Values::UInt32(values)) => Ok(values),
        _ => Err(none(name, "uint32")),
    };
    let absent = |name: &str, row| RecordError::Absent {
        name: name.to_owned(),
        row,
    };
    let (outcomes, bytes) = (text("outcome")?, number("bytes")?);
    let (arrivals, duplicates) = (number("arrival")?, number("duplicates")?);
    let mut packets = Packets::new();
    for row in 0..table.rows() {
        let said = outcomes[row].as_deref();
        let said = said.ok_or_else(|| absent("outcome", row))?;
        let outcome = OUTCOMES.iter().find(|o| o.1 == said);
        let outcome = outcome.ok_or_else(|| RecordError::Word {
            name: "outcome".to_owned(),
            row,
        })?;
        packets.push_probe(Probe {
            bytes: bytes[row].ok_or_else(|| absent("bytes", row))?,
            outcome: outcome.0,
            duplicates: duplicates[row].ok_or_else(|| absent("duplicates", row))?,
            arrival: arrivals[row],
        })?;
    }
    taps::add(&mut packets, table)?;
    for (stamp, place) in taps::places(&packets) {
        let name = stamp_column(&place);
        let stamps = match table.column(&name) {
            Some(Values::Int64(values)) => values,
            _ => return Err(none(&name, "int64")),
        };
        let why = reason_column(&place);
        fill(&mut packets, stamp, stamps, text(&why)?, &place)?;
    }
    Ok(packets)
}

/// Enters the stamps of one place, and why others are missing.
fn fill(
    packets: &mut Packets,
    stamp: Stamp,
    stamps: &[Option<i64>],
    reasons: &[Option<Arc<str>>],
    place: &str,
) -> Result<(), RecordError> {
    let reason = |row: usize| match reasons[row].as_deref() {
        None => Ok(None),
        Some(word) => Missing::from_name(word)
            .map(Some)
            .ok_or_else(|| RecordError::Word {
                name: reason_column(place),
                row,
            }),
    };
    // A place that nobody stamps at takes no memory.
    if stamps.iter().all(Option::is_none) {
        let first = (!stamps.is_empty()).then(|| reason(0)).transpose()?;
        if reasons.windows(2).all(|two| two[0] == two[1]) {
            let why = first.flatten().unwrap_or(Missing::NotTaken);
            return Ok(packets.set_missing_otherwise(stamp, why)?);
        }
    }
    for (row, at_ns) in stamps.iter().enumerate() {
        match (*at_ns, reason(row)?) {
            (Some(at_ns), None) => packets.set(row, stamp, at_ns)?,
            (None, why) => packets.set_missing(row, stamp, why.unwrap_or(Missing::Unknown))?,
            (Some(_), Some(_)) => {
                return Err(RecordError::Both {
                    name: stamp_column(place),
                    row,
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
