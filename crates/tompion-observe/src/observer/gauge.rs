//! What something that is read several times a second offers.

use super::series::{Column, Role};
use crate::kept::Kept;
use tompion_model::Unavailable;

/// Something to be read: its columns, and their values into a slice as long.
pub(super) trait Gauge: Send {
    fn columns(&self) -> Vec<Column>;
    fn read(&mut self, values: &mut [i64]);
}

/// A column of which only its growth means something.
pub(super) fn counter(name: String, unit: &'static str, role: Role) -> Column {
    Column {
        name,
        unit,
        is_counter: true,
        role,
    }
}

/// A file that is read again and again, or why it cannot be.
pub(super) fn open(path: &str) -> Result<Kept, Unavailable> {
    Kept::open(path).ok_or_else(|| format!("{path} cannot be read").into())
}
