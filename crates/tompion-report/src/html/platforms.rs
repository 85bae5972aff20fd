//! The platforms of a lab: by their medians, and by the statistics of Perneel 2015.

use maud::{Markup, html as markup};

use crate::data::ReportData;
use crate::platforms::{HEADS, legend, of_report, tables};
use crate::side_by_side;

/// With more tables than these all are folded.
const OPEN: usize = 8;

/// The platforms by their medians, then by their maxima; nothing but for runs of a lab.
pub(super) fn section(data: &ReportData) -> Markup {
    let (medians, maxima) = (medians(data), maxima(data));
    if medians.0.is_empty() && maxima.0.is_empty() {
        return medians;
    }
    markup! { div #platforms { (medians) (maxima) } }
}

fn medians(data: &ReportData) -> Markup {
    let Some(found) = side_by_side::of_report(data) else {
        return Markup::default();
    };
    let open = found.tables.len() <= OPEN;
    markup! {
        section #medians {
            h2 { "Platforms side by side" }
            p.lead { (side_by_side::LEGEND) }
            @for table in &found.tables {
                (of_cell(&table.title, &found.heads, table.rows.iter().map(Vec::as_slice), open))
            }
        }
    }
}

/// Maxima, what they add to the bare machine, ranks.
fn maxima(data: &ReportData) -> Markup {
    let Some(summary) = of_report(data) else {
        return Markup::default();
    };
    let open = summary.groups.len() <= OPEN;
    markup! {
        section #maxima {
            h2 { "Platforms by their maxima" }
            @for table in tables(&summary) {
                (of_cell(&table.title, &HEADS, table.rows.iter().map(<[String; _]>::as_slice), open))
            }
            ul.small { @for sentence in legend(&summary) { li { (sentence) } } }
        }
    }
}

/// One cell on all platforms, a row each.
fn of_cell<'a>(
    title: &str,
    heads: &[impl AsRef<str>],
    rows: impl Iterator<Item = &'a [String]>,
    open: bool,
) -> Markup {
    markup! {
        details open[open] {
            summary { (title) }
            div.scroll tabindex="0" {
                table.numbers {
                    thead { tr { @for head in heads { th { (head.as_ref()) } } } }
                    tbody {
                        @for row in rows {
                            tr {
                                th scope="row" { (row[0]) }
                                @for cell in &row[1..] { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
