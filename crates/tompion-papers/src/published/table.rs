//! A table of published figures, and looking things up in it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::published::{Paper, Unit, Value, paper};

/// Figures that belong together: a table of a paper, or those in its running text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Its name: the paper's and its own, `kirova-2019/table-1`.
    pub id: String,
    /// The paper's name.
    pub paper: String,
    /// What it tells, in our words.
    pub title: String,
    /// Where it stands in the paper.
    pub place: String,
    /// How many samples stand behind each figure, as far as the paper says.
    pub samples: String,
    /// What to know before using it.
    pub caveats: Vec<String>,
    /// What tells rows apart, in the order of importance.
    pub factors: Vec<Factor>,
    /// The figures of each row.
    pub columns: Vec<Column>,
    /// The rows in the paper's order.
    pub rows: Vec<Row>,
    /// Rows of numbers as our text of the paper has them, by label: what the
    /// figures were read from, where reading took splitting.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub raw: BTreeMap<String, String>,
}

/// What rows differ in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Its name: `platform`, `load`.
    pub name: String,
    /// What it is.
    pub meaning: String,
    /// Each level and what the paper calls it.
    pub levels: BTreeMap<String, String>,
}

/// One figure of every row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name: `median`.
    pub key: String,
    /// The unit of its numbers.
    pub unit: Unit,
    /// Which statistic.
    pub statistic: String,
    /// Of what, by the field's standard name.
    pub quantity: String,
}

/// The figures of one combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Factor to level; a factor that does not apply is absent.
    pub factors: BTreeMap<String, String>,
    /// Where it stands, where that is not the table's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Column to figure; one that the paper does not give is absent.
    pub values: BTreeMap<String, Value>,
}

/// One value with everything that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Figure<'a> {
    /// The table.
    pub table: &'a Table,
    /// The row.
    pub row: &'a Row,
    /// The column.
    pub column: &'a Column,
    /// The value.
    pub value: &'a Value,
}

impl<'a> Figure<'a> {
    /// Where it stands in the paper.
    pub fn place(&self) -> &'a str {
        self.row.place.as_deref().unwrap_or(&self.table.place)
    }

    /// The figure in nanoseconds; `None` where it is no time or has no number.
    pub fn ns(&self) -> Option<f64> {
        let exponent = self.column.unit.exponent_to(Unit::Nanosecond)?;
        // By way of decimal text, so that 0.051 ms are 51000 ns and not a hair less.
        format!("{}e{exponent}", self.value.number()?).parse().ok()
    }
}

impl fmt::Display for Figure<'_> {
    /// `kirova-2019/table-1 tsc/esxi/cpu median`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.table.label(self.row);
        write!(f, "{} {label} {}", self.table.id, self.column.key)
    }
}

impl Row {
    /// The level of a factor; `None` where it does not apply.
    pub fn level(&self, factor: &str) -> Option<&str> {
        self.factors.get(factor).map(String::as_str)
    }

    /// The figure of a column; `None` where the paper gives none.
    pub fn value(&self, column: &str) -> Option<&Value> {
        self.values.get(column)
    }

    /// Whether the row has all these levels.
    pub fn has(&self, levels: &[(&str, &str)]) -> bool {
        levels.iter().all(|(f, l)| self.level(f) == Some(l))
    }
}

impl Table {
    /// The paper it is from.
    pub fn paper(&self) -> &'static Paper {
        // A test holds every table to it.
        paper(&self.paper).expect("every table is from a paper we cite")
    }

    /// The factor of that name.
    pub fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|f| f.name == name)
    }

    /// The column of that name.
    pub fn column(&self, key: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.key == key)
    }

    /// The levels of a row joined by `/`, in the order of the factors.
    pub fn label(&self, row: &Row) -> String {
        let levels = self.factors.iter().filter_map(|f| row.level(&f.name));
        levels.collect::<Vec<_>>().join("/")
    }

    /// The rows that have all these levels, such as
    /// `&[("platform", "xen"), ("load", "idle")]`.
    pub fn rows_with<'a>(&'a self, levels: &'a [(&str, &str)]) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().filter(|r| r.has(levels))
    }

    /// The one figure of `column` with these levels; `None` where there is none
    /// or more than one.
    pub fn figure<'a>(&'a self, column: &str, levels: &'a [(&str, &str)]) -> Option<Figure<'a>> {
        let column = self.column(column)?;
        let mut found = self
            .rows_with(levels)
            .filter_map(|row| self.figure_of(row, column));
        found.next().filter(|_| found.next().is_none())
    }

    /// Every figure, row by row.
    pub fn figures(&self) -> impl Iterator<Item = Figure<'_>> {
        self.rows.iter().flat_map(move |row| {
            let of_row = move |column| self.figure_of(row, column);
            self.columns.iter().filter_map(of_row)
        })
    }

    fn figure_of<'a>(&'a self, row: &'a Row, column: &'a Column) -> Option<Figure<'a>> {
        let value = row.value(&column.key)?;
        Some(Figure {
            table: self,
            row,
            column,
            value,
        })
    }

    /// The numbers of `column` with the levels of `factors` in that order, for
    /// an analysis of factors. Marked numbers are among them, since leaving cells
    /// out would unbalance the design: ask [`Observation::marked`].
    ///
    /// The error says which name the table does not have. Rows without the column,
    /// without a number or without one of the factors are left out.
    pub fn observations(
        &self,
        column: &str,
        factors: &[&str],
    ) -> Result<Vec<Observation<'_>>, String> {
        if self.column(column).is_none() {
            let known: Vec<&str> = self.columns.iter().map(|c| c.key.as_str()).collect();
            return Err(self.unknown("column", column, &known));
        }
        let known: Vec<&str> = self.factors.iter().map(|f| f.name.as_str()).collect();
        if let Some(name) = factors.iter().find(|f| !known.contains(f)) {
            return Err(self.unknown("factor", name, &known));
        }
        let of_row = |row: &'_ Row| -> Option<(f64, bool)> {
            let value = row.value(column)?;
            Some((value.number()?, !value.is_sound()))
        };
        Ok(self
            .rows
            .iter()
            .filter_map(|row| {
                let levels = factors
                    .iter()
                    .map(|f| row.level(f))
                    .collect::<Option<_>>()?;
                let (value, marked) = of_row(row)?;
                Some(Observation {
                    levels,
                    value,
                    marked,
                })
            })
            .collect())
    }

    fn unknown(&self, what: &str, name: &str, known: &[&str]) -> String {
        let known = known.join(", ");
        format!("{} has no {what} `{name}`; it has {known}", self.id)
    }
}

/// One number of a table with the levels it stands under.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation<'a> {
    /// One level for each factor asked for.
    pub levels: Vec<&'a str>,
    /// The number in the column's unit.
    pub value: f64,
    /// Whether it is marked.
    pub marked: bool,
}
