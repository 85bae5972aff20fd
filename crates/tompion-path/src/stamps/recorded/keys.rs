//! What packets are known again by, as a side table beside that of their stamps: so that taps can
//! be joined with a run later.

use tompion_model::{Column, SideTable, Values};

use super::{RecordError, none};
use crate::stamps::join::Key;

/// The name of the side table.
pub const KEYS: &str = "packet-keys";

/// The keys as a side table, in the order of the probes.
pub fn keys_table(keys: &[Key]) -> SideTable {
    let half = |name: &str, pick: fn(&Key) -> u64| Column {
        name: name.to_owned(),
        values: Values::UInt64(keys.iter().map(|key| Some(pick(key))).collect()),
    };
    let columns = vec![
        half("high", |key| key.halves()[0]),
        half("low", |key| key.halves()[1]),
    ];
    SideTable::new(columns).expect("columns of one length and of different names")
}

/// The keys that a side table holds.
///
/// # Errors
/// A column that is missing or of another type, or a row without a value.
pub fn keys_of(table: &SideTable) -> Result<Vec<Key>, RecordError> {
    let column = |name: &str| match table.column(name) {
        Some(Values::UInt64(values)) => Ok(values),
        _ => Err(none(name, "uint64")),
    };
    let (high, low) = (column("high")?, column("low")?);
    let key = |row: usize| {
        let absent = |name: &str| RecordError::Absent {
            name: name.to_owned(),
            row,
        };
        let high = high[row].ok_or_else(|| absent("high"))?;
        let low = low[row].ok_or_else(|| absent("low"))?;
        Ok(Key::from_halves([high, low]))
    };
    (0..table.rows()).map(key).collect()
}
