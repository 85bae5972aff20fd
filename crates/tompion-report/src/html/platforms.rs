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
                details open[open] {
                    summary { (table.title) }
                    div.scroll tabindex="0" {
                        table.numbers {
                            thead { tr { @for head in &found.heads { th { (head) } } } }
                            tbody {
                                @for row in &table.rows {
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
                details open[open] {
                summary { (table.title) }
                div.scroll tabindex="0" {
                    table.numbers {
                        thead { tr { @for head in HEADS { th { (head) } } } }
                        tbody {
                            @for row in &table.rows {
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
            ul.small { @for sentence in legend(&summary) { li { (sentence) } } }
        }
    }
}
