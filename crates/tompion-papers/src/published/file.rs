//! The form of the data files: TOML, with the rows of a table as rows.
//!
//! ```toml
//! id = "paper-year/name"   # and paper, title, place, samples, caveats
//! [[factor]]               # name, meaning, levels = { level = "what the paper calls it" }
//! [[column]]               # key, unit, statistic, quantity
//! [data]
//! head = ["platform", "load", "median"]
//! rows = [
//!   ["xen", "idle", "18.6"],
//!   ["xen", "cpu", { printed = "1x.2", marked = "a digit is torn" }],
//! ]
//! [raw]                    # optional: label = "numbers as our text has them"
//! ```
//!
//! A head may also be `section`, which says where in the paper the row stands. An
//! empty cell is a factor that does not apply, or a figure that is not given. A
//! figure is written as printed; `~` before it is "about", `<=` "up to", `>=`
//! "over"; behind it may stand a unit of its own.

use std::collections::{BTreeMap, BTreeSet};
use tompion_model::InvalidValue;

use serde::Deserialize;

use crate::published::table::{Column, Factor, Row, Table};
use crate::published::value::Value;

/// The embedded files, those of the oldest paper first.
pub(crate) const TEXTS: [&str; 7] = [
    include_str!("../../data/whiteaker-2011-table-1.toml"),
    include_str!("../../data/perneel-2015-table-1.toml"),
    include_str!("../../data/adamczyk-2015-text.toml"),
    include_str!("../../data/korniichuk-2017-text.toml"),
    include_str!("../../data/kirova-2019-table-1.toml"),
    include_str!("../../data/kirova-2019-table-2.toml"),
    include_str!("../../data/kirova-2019-text.toml"),
];

/// The head of the column that says where in the paper a row stands.
const SECTION: &str = "section";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    id: String,
    paper: String,
    title: String,
    place: String,
    samples: String,
    caveats: Vec<String>,
    factor: Vec<Factor>,
    column: Vec<Column>,
    data: Data,
    #[serde(default)]
    raw: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Cell {
    Plain(String),
    Marked { printed: String, marked: String },
}

/// Reads one file. The error is one line: which table, which row, what is wrong.
pub(crate) fn parse(text: &str) -> Result<Table, InvalidValue> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string().replace('\n', " "))?;
    let id = file.id.clone();
    check_head(&file).map_err(|e| format!("{id}: {e}"))?;
    let mut rows = Vec::new();
    for (n, cells) in file.data.rows.iter().enumerate() {
        let row = row(&file, cells).map_err(|e| format!("{id}: row {}: {e}", n + 1))?;
        rows.push(row);
    }
    let table = Table {
        id: file.id,
        paper: file.paper,
        title: file.title,
        place: file.place,
        samples: file.samples,
        caveats: file.caveats,
        factors: file.factor,
        columns: file.column,
        rows,
        raw: file.raw,
    };
    check_levels(&table).map_err(|e| format!("{id}: {e}"))?;
    Ok(table)
}

/// Every factor and column has its place in the head, once, and nothing else has.
fn check_head(file: &File) -> Result<(), InvalidValue> {
    let factors = file.factor.iter().map(|f| f.name.as_str());
    let columns = file.column.iter().map(|c| c.key.as_str());
    let mut wanted: Vec<&str> = factors.chain(columns).collect();
    let mut head: Vec<&str> = file.data.head.iter().map(String::as_str).collect();
    head.retain(|h| *h != SECTION);
    wanted.sort_unstable();
    head.sort_unstable();
    if let Some(twice) = wanted.windows(2).find(|w| w[0] == w[1]) {
        return Err(format!("`{}` is declared twice", twice[0]).into());
    }
    if wanted != head {
        return Err(format!(
            "the head has {}, the factors and columns are {}",
            head.join(", "),
            wanted.join(", ")
        )
        .into());
    }
    Ok(())
}

fn row(file: &File, cells: &[Cell]) -> Result<Row, InvalidValue> {
    let (have, want) = (cells.len(), file.data.head.len());
    if have != want {
        return Err(format!("{have} cells below a head of {want}").into());
    }
    let mut row = Row {
        factors: BTreeMap::new(),
        place: None,
        values: BTreeMap::new(),
    };
    for (name, cell) in file.data.head.iter().zip(cells) {
        let (printed, marked) = match cell {
            Cell::Plain(text) if text.is_empty() => continue,
            Cell::Plain(text) => (text, None),
            Cell::Marked { marked, .. } if marked.trim().is_empty() => {
                return Err(format!("{name} is marked without a reason").into());
            }
            Cell::Marked { printed, marked } => (printed, Some(marked.clone())),
        };
        if let Some(column) = file.column.iter().find(|c| c.key == *name) {
            let value = Value::new(printed, column.unit, marked);
            let value = value.map_err(|e| format!("{name}: {e}"))?;
            row.values.insert(name.clone(), value);
        } else if marked.is_some() {
            return Err(format!("{name} is no figure and cannot be marked").into());
        } else if name == SECTION {
            row.place = Some(printed.clone());
        } else {
            row.factors.insert(name.clone(), printed.clone());
        }
    }
    if row.values.is_empty() {
        return Err("no figure".into());
    }
    Ok(row)
}

/// Levels are declared and used; no two rows have the same ones.
fn check_levels(table: &Table) -> Result<(), InvalidValue> {
    for factor in &table.factors {
        let used: BTreeSet<&str> = table
            .rows
            .iter()
            .filter_map(|r| r.level(&factor.name))
            .collect();
        let declared: BTreeSet<&str> = factor.levels.keys().map(String::as_str).collect();
        if let Some(odd) = used.symmetric_difference(&declared).next() {
            let problem = if used.contains(odd) {
                "not declared"
            } else {
                "in no row"
            };
            return Err(format!("level `{odd}` of {} is {problem}", factor.name).into());
        }
    }
    let mut seen = BTreeSet::new();
    for row in &table.rows {
        if !seen.insert(&row.factors) {
            return Err(format!("{} is given twice", table.label(row)).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
id = "a-2000/table-1"
paper = "a-2000"
title = "t"
place = "Table 1"
samples = "9"
caveats = []
[[factor]]
name = "load"
meaning = "m"
levels = { idle = "Idle", cpu = "CPU" }
[[column]]
key = "median"
unit = "ns"
statistic = "median"
quantity = "read cost"
[data]
head = ["load", "section", "median"]
rows = [["idle", "2", "1.5"], ["cpu", "", { printed = "1x", marked = "torn" }]]
"#;

    #[test]
    fn rows_become_maps_with_places_and_marks() {
        let table = parse(GOOD).unwrap();
        assert_eq!(table.rows[0].place.as_deref(), Some("2"));
        assert_eq!(table.rows[0].value("median").unwrap().number(), Some(1.5));
        assert_eq!(table.rows[1].level("load"), Some("cpu"));
        assert!(!table.rows[1].value("median").unwrap().is_sound());
    }

    #[test]
    fn mistakes_in_a_file_are_told_in_one_line() {
        for (from, to, want) in [
            (
                r#""idle", "2""#,
                r#""idel", "2""#,
                "level `idel` of load is not declared",
            ),
            (
                r#"["idle", "2", "1.5"], "#,
                "",
                "level `idle` of load is in no row",
            ),
            (r#"["cpu", """#, r#"["idle", """#, "`cpu`"),
            (r#""1.5""#, r#""1,5""#, "row 1: median: `1,5`"),
            (
                r#""1.5"]"#,
                r#""1.5", ""]"#,
                "row 1: 4 cells below a head of 3",
            ),
            (r#""1.5"]"#, r#"""]"#, "row 1: no figure"),
            (
                r#"marked = "torn""#,
                r#"marked = " ""#,
                "marked without a reason",
            ),
            (r#"head = ["load","#, r#"head = ["laod","#, "laod"),
            (r#"key = "median""#, r#"key = "load""#, "declared twice"),
            (r#"unit = "ns""#, r#"unit = "ps""#, "ps"),
            ("samples =", "sample =", "sample"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let text = GOOD.replacen(from, to, 1);
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn rows_of_the_same_levels_are_refused() {
        let twice = GOOD.replacen(r#"["cpu", "","#, r#"["idle", "","#, 1);
        let twice = twice.replacen(r#", cpu = "CPU""#, "", 1);
        assert!(
            parse(&twice)
                .unwrap_err()
                .to_string()
                .contains("idle is given twice")
        );
    }

    #[test]
    fn every_embedded_file_is_well_formed() {
        for text in TEXTS {
            parse(text).unwrap();
        }
    }
}
