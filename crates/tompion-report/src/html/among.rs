//! This machine among the published ones.

use maud::{Markup, html as markup};
use tompion_record::format_ns;

use super::figure::plot;
use crate::data::ReportData;
use crate::figures::{NONE, ns};
use crate::ladder::{Panel, ladder};
use crate::plot;

/// The ladder; nothing where the run measured nothing that the paper did.
pub(super) fn section(data: &ReportData) -> Markup {
    let Some(ladder) = ladder(data) else {
        return Markup::default();
    };
    // Reads and sleeps lie orders of magnitude apart: an axis for each.
    let groups: Vec<&[Panel]> = ladder.panels.chunk_by(|a, b| a.place == b.place).collect();
    markup! {
        section #among {
            h2 { "Among published machines" }
            p.lead {
                "This machine beside the five platforms of " (ladder.citation) ". A dot is the median, the line ends at the largest value; "
                "the long tick on a line of this machine is its p99, which the paper does not give."
            }
            @for panels in groups {
                @let values = plot::ladder::range(panels.iter());
                @let what = if panels[0].place.contains("Table 1") { "read cost" } else { "wake-up latency" };
                div.figures.ladders {
                    @for panel in panels {
                        figure {
                            h4 { (panel.function) ", " (panel.load) }
                            (plot(plot::ladder::draw(panel, &values, what,
                                &format!("{} under {}: median and largest value of this machine and of published ones", panel.function, panel.load))))
                            (keys(panel))
                        }
                    }
                }
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

fn keys(panel: &Panel) -> Markup {
    markup! {
        figcaption {
            ul.legend {
                @for (own, words) in [(true, "this machine"), (false, panel.place.as_str())] {
                    li {
                        svg.key viewBox="0 0 30 10" aria-hidden="true" {
                            path class={ "l " (plot::ladder::look(own).classes()) } d="M1 5H29" {}
                        }
                        span { (words) }
                    }
                }
            }
            @for r in &panel.rungs {
                @if let Some(why) = &r.marked { p { "* " (r.label) ": " (why) } }
            }
        }
    }
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
                                th scope="row" { (r.label) @if r.own { span.variant { "this machine" } } @if r.marked.is_some() { "*" } }
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
