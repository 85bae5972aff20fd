//! Named tables beside a trial's samples, each with columns of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A trial's side tables by name. Names that this version does not know are kept.
pub type SideTables = BTreeMap<String, SideTable>;

/// A table of columns of one length, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideTable {
    columns: Vec<Column>,
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, with the unit.
    pub name: String,
    /// Its values, one a row.
    pub values: Values,
}

/// The values of a column; `None` where a row has none.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Truth values.
    Boolean(Vec<Option<bool>>),
    /// 32 bits with a sign.
    Int32(Vec<Option<i32>>),
    /// 32 bits without a sign.
    UInt32(Vec<Option<u32>>),
    /// 64 bits with a sign.
    Int64(Vec<Option<i64>>),
    /// 64 bits without a sign.
    UInt64(Vec<Option<u64>>),
    /// Double precision.
    Double(Vec<Option<f64>>),
    /// Text. Equal ones may share their memory.
    Text(Vec<Option<Arc<str>>>),
}

/// Why columns are no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SideTableError {
    /// Columns of different lengths.
    #[error("column `{0}` has {1} rows, the first one {2}")]
    Lengths(String, usize, usize),
    /// Two columns of one name, or one of a name that has a meaning of its own.
    #[error("column name `{0}` is taken")]
    Name(String),
}

impl Values {
    /// How many rows it has.
    pub fn len(&self) -> usize {
        match self {
            Self::Boolean(v) => v.len(),
            Self::Int32(v) => v.len(),
            Self::UInt32(v) => v.len(),
            Self::Int64(v) => v.len(),
            Self::UInt64(v) => v.len(),
            Self::Double(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl SideTable {
    /// The column of files that says to which trial a row belongs.
    pub const TRIAL_COLUMN: &'static str = "trial";

    /// A table of these columns.
    ///
    /// # Errors
    /// Columns of different lengths; a name given twice, or `trial`, which says in files
    /// to which trial a row belongs.
    pub fn new(columns: Vec<Column>) -> Result<Self, SideTableError> {
        let rows = columns.first().map_or(0, |c| c.values.len());
        for (i, column) in columns.iter().enumerate() {
            let found = column.values.len();
            if found != rows {
                return Err(SideTableError::Lengths(column.name.clone(), found, rows));
            }
            let is_taken = |other: &Column| other.name == column.name;
            if column.name == Self::TRIAL_COLUMN || columns[..i].iter().any(is_taken) {
                return Err(SideTableError::Name(column.name.clone()));
            }
        }
        Ok(Self { columns })
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }

    /// Its columns in their order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The values of the column called `name`.
    pub fn column(&self, name: &str) -> Option<&Values> {
        let found = self.columns.iter().find(|c| c.name == name);
        found.map(|c| &c.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, rows: usize) -> Column {
        Column {
            name: name.to_owned(),
            values: Values::Int64(vec![Some(1); rows]),
        }
    }

    #[test]
    fn columns_of_different_lengths_and_names_given_twice_are_refused() {
        let error = |columns| SideTable::new(columns).unwrap_err().to_string();
        assert_eq!(
            error(vec![column("a", 2), column("b", 3)]),
            "column `b` has 3 rows, the first one 2"
        );
        let taken = "column name `a` is taken";
        assert_eq!(error(vec![column("a", 2), column("a", 2)]), taken);
        let taken = "column name `trial` is taken";
        assert_eq!(error(vec![column("trial", 2)]), taken);
        assert_eq!(SideTable::new(Vec::new()).unwrap().rows(), 0);
    }
}
