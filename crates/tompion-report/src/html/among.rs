//! This machine among the published ones.

use maud::{Markup, html as markup};
use tompion_record::format_ns;

use super::figure::{Figure, Key, each};
use crate::data::ReportData;
use crate::figures::{NONE, ns};
use crate::ladder::{Panel, ladder};
use crate::plot;

/// The ladder; nothing where the run measured nothing that the paper did.
pub(super) fn section(data: &ReportData) -> Markup {
    let Some(ladder) = ladder(data) else {
        return Markup::default();
    };
    markup! {
        section #among {
            h2 { "Among published machines" }
            p.lead {
                "This machine beside the five platforms of " (ladder.citation) ". A dot is the median, the line ends at the largest value; "
                "the long tick on a line of this run is its p99, which the paper does not give."
            }
            @for panels in ladder.panels.chunk_by(|a, b| a.place == b.place) {
                div.figures.ladders { (each(&figures(panels))) }
            }
            details {
                summary { "The figures" }
                (table(&ladder.panels))
            }
            details open {
                summary { "Before comparing" }
                ul.small { @for c in &ladder.caveats { li { (c) } } }
            }
        }
    }
}

/// All ladders of a run.
pub(super) fn all(data: &ReportData) -> Vec<Figure> {
    let ladder = ladder(data);
    let panels = ladder
        .iter()
        .flat_map(|l| l.panels.chunk_by(|a, b| a.place == b.place));
    panels.flat_map(figures).collect()
}

/// Ladders of one table; reads and sleeps lie orders of magnitude apart, so that each
/// table has its own axis.
fn figures(panels: &[Panel]) -> Vec<Figure> {
    let values = plot::ladder::range(panels.iter());
    let figure = |panel: &Panel| {
        let label = format!(
            "{} under {}: median and largest value of this run and of published ones",
            panel.function, panel.load
        );
        let key = |(own, words): (bool, &str)| Key {
            look: plot::ladder::look(own),
            dots: false,
            label: words.to_owned(),
            value: None,
            series: None,
        };
        let marked = panel.rungs.iter().filter_map(|r| {
            let why = r.marked.as_ref()?;
            Some(format!("* {}: {why}", r.label))
        });
        Figure {
            title: format!("{}, {}", panel.function, panel.load),
            drawn: plot::ladder::draw(panel, &values, panel.quantity, &label),
            label,
            keys: [(true, "this run"), (false, panel.place.as_str())]
                .map(key)
                .into(),
            values: None,
            notes: marked.collect(),
            wide: false,
        }
    };
    panels.iter().map(figure).collect()
}

fn table(panels: &[Panel]) -> Markup {
    markup! {
        div.scroll tabindex="0" {
            table.numbers.full {
                thead { tr { th { "Platform" } th { "median" } th { "p99" } th { "max" } } }
                @for panel in panels {
                    tbody {
                        tr.group { th colspan="4" { span { (panel.function) ", " (panel.load) } } }
                        @for r in &panel.rungs {
                            tr {
                                th scope="row" { (r.label) @if r.own { span.variant { "this run" } } @if r.marked.is_some() { "*" } }
                                td { (format_ns(r.median_ns)) }
                                td { @if r.own { (ns(r.p99_ns)) } @else { (NONE) } }
                                td { (format_ns(r.max_ns)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
