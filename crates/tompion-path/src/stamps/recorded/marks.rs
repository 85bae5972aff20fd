//! Where packets were held up, and by what, as a side table beside that of their stamps.

use std::collections::BTreeMap;
use std::sync::Arc;

use tompion_model::{Column, SideTable, Values};

use super::{RecordError, none};

/// The name of the side table.
pub const MARKS: &str = "packet-marks";

/// Letters and hyphens of a word at most.
const LONGEST: usize = 32;

/// A packet that was held up at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketMark {
    /// Its row in the table of stamps.
    pub row: u32,
    /// Where: the name of a [`Side`](crate::trust::Side).
    pub side: Arc<str>,
    /// By how much longer than usual it was there, in nanoseconds.
    pub excess_ns: i64,
    /// By what, as marks of samples have it; none where nobody looked.
    pub cause: Option<Arc<str>>,
    /// Where that is known from.
    pub source: Option<Arc<str>>,
}

/// Marks as a side table.
pub fn marks_table(marks: &[PacketMark]) -> SideTable {
    let column = |name: &str, values| Column {
        name: name.to_owned(),
        values,
    };
    // Equal words share their memory.
    let mut words: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
    let mut word = |text: &Arc<str>| {
        let known = words
            .entry(Arc::clone(text))
            .or_insert_with(|| Arc::clone(text));
        Arc::clone(known)
    };
    let mut texts = |of: fn(&PacketMark) -> Option<&Arc<str>>| {
        let each = marks.iter().map(|mark| of(mark).map(&mut word));
        Values::Text(each.collect())
    };
    let rows = marks.iter().map(|mark| Some(mark.row)).collect();
    let excess = marks.iter().map(|mark| Some(mark.excess_ns)).collect();
    let columns = vec![
        column("row", Values::UInt32(rows)),
        column("side", texts(|mark| Some(&mark.side))),
        column("excess_ns", Values::Int64(excess)),
        column("cause", texts(|mark| mark.cause.as_ref())),
        column("source", texts(|mark| mark.source.as_ref())),
    ];
    SideTable::new(columns).expect("columns of one length and of different names")
}

/// The marks that a side table holds.
///
/// # Errors
/// A column that is missing or of another type, a row without a value, or what is no word.
pub fn marks_of(table: &SideTable) -> Result<Vec<PacketMark>, RecordError> {
    let text = |name: &str| match table.column(name) {
        Some(Values::Text(values)) => Ok(values),
        _ => Err(none(name, "text")),
    };
    let rows = match table.column("row") {
        Some(Values::UInt32(values)) => values,
        _ => return Err(none("row", "uint32")),
    };
    let excess = match table.column("excess_ns") {
        Some(Values::Int64(values)) => values,
        _ => return Err(none("excess_ns", "int64")),
    };
    let (sides, causes, sources) = (text("side")?, text("cause")?, text("source")?);
    let mark = |row: usize| {
        let absent = |name: &str| RecordError::Absent {
            name: name.to_owned(),
            row,
        };
        let word = |name: &str, values: &[Option<Arc<str>>]| match &values[row] {
            Some(text) if !is_word(text) => Err(RecordError::Word {
                name: name.to_owned(),
                row,
            }),
            text => Ok(text.clone()),
        };
        Ok(PacketMark {
            row: rows[row].ok_or_else(|| absent("row"))?,
            side: word("side", sides)?.ok_or_else(|| absent("side"))?,
            excess_ns: excess[row].ok_or_else(|| absent("excess_ns"))?,
            cause: word("cause", causes)?,
            source: word("source", sources)?,
        })
    };
    (0..table.rows()).map(mark).collect()
}

fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c == '-';
    (1..=LONGEST).contains(&text.len()) && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(side: &str, cause: Option<&str>) -> PacketMark {
        PacketMark {
            row: 7,
            side: side.into(),
            excess_ns: 123_456,
            cause: cause.map(Into::into),
            source: cause.map(|_| "event".into()),
        }
    }

    #[test]
    fn marks_come_back() {
        let all = [mark("sending", Some("preempted")), mark("far-end", None)];
        assert_eq!(marks_of(&marks_table(&all)).unwrap(), all);
        assert_eq!(marks_of(&marks_table(&[])).unwrap(), []);
    }

    #[test]
    fn what_is_no_word_is_refused() {
        for wrong in ["", "\u{1b}[2J", "two words", &"a".repeat(33)] {
            let table = marks_table(&[mark(wrong, None)]);
            let why = marks_of(&table).unwrap_err().to_string();
            assert!(why.contains("unknown word in column `side`"), "{why}");
        }
        let mut columns = marks_table(&[mark("sending", None)]).columns().to_vec();
        columns.remove(2);
        let why = marks_of(&SideTable::new(columns).unwrap()).unwrap_err();
        assert_eq!(why, none("excess_ns", "int64"));
    }
}
