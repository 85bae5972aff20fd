//! Aligned tables and the numbers in them.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use crate::paired::{Comparison, Estimate, Verdict};

/// A rule below the headings is all the frame a table has.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// What stands where there is no figure.
pub const NONE: &str = "-";

/// Where a column's text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table of `(heading, side)` columns.
pub fn aligned(columns: &[(&str, Side)], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(columns.iter().map(|(heading, _)| Cell::new(heading)));
    for row in rows {
        table.add_row(row);
    }
    for (i, (column, (_, side))) in table.column_iter_mut().zip(columns).enumerate() {
        column.set_padding((if i == 0 { 0 } else { 2 }, 0));
        if *side == Side::Right {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

/// A number with `places` decimals.
pub fn number(value: Option<f64>, places: usize) -> String {
    value.map_or(NONE.to_owned(), |x| format!("{x:.places$}"))
}

/// A mean with its interval: `1.02 [1.00 1.04]`.
pub fn interval(estimate: Option<Estimate>, places: usize) -> String {
    estimate.map_or(NONE.to_owned(), |e| {
        format!(
            "{:.places$} [{:.places$} {:.places$}]",
            e.mean, e.low, e.high
        )
    })
}

/// Comparisons with their limits, one a row.
pub fn comparisons(rows: &[Comparison]) -> String {
    let columns = [
        ("comparison", Side::Left),
        ("ours [95 %]", Side::Right),
        ("limit", Side::Right),
        ("verdict", Side::Left),
    ];
    aligned(
        &columns,
        rows.iter().map(|row| {
            vec![
                row.what.clone(),
                interval(row.estimate, 3),
                row.limit
                    .map_or(String::new(), |limit| format!("<= {limit:.3}")),
                row.verdict.map_or("", Verdict::text).to_owned(),
            ]
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let columns = [("method", Side::Left), ("ns", Side::Right)];
        let rows = [["a", "1.00"], ["longer", "123.45"]];
        let text = aligned(
            &columns,
            rows.iter()
                .map(|r| r.iter().map(|c| (*c).to_owned()).collect()),
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "a         1.00");
        assert_eq!(lines[3], "longer  123.45");
    }

    #[test]
    fn absent_figures_are_dashes() {
        assert_eq!(number(None, 2), NONE);
        assert_eq!(interval(None, 2), NONE);
        let estimate = Estimate {
            mean: 1.0,
            low: 0.5,
            high: 2.0,
            blocks: 2,
        };
        assert_eq!(interval(Some(estimate), 2), "1.00 [0.50 2.00]");
    }
}
