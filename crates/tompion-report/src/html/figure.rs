//! Plots with their captions and legends.

use maud::{Markup, PreEscaped, html as markup};
use tompion_record::format_ns;

use crate::figures::{NONE, count, ns};
use crate::plot::ccdf::{Curve, ranges};
use crate::plot::time_series::{PANELS_PER_ROW, Panel};
use crate::plot::{Drawn, Look, ccdf, time_series};
use crate::sections::{Row, Section, TIMER_EVENTS, load_title, probe_title};

/// One CCDF a load; all share their axes, so that they compare at a glance.
pub(super) fn ccdfs(section: &Section<'_>) -> Markup {
    let steps = section.cells().map(|s| s.view.ccdf.as_slice());
    let axes = ranges(steps.collect::<Vec<_>>().into_iter());
    let what = match section.probe {
        TIMER_EVENTS => "lateness, or interval less d".to_owned(),
        probe => probe_title(probe),
    };
    markup! {
        div.figures {
            @for (i, load) in section.loads.iter().enumerate() {
                @let drawn: Vec<(&Row<'_>, Curve<'_>)> = section.rows.iter().filter_map(|r| curve(r, i)).collect();
                @if !drawn.is_empty() {
                    @let label = format!("{} under {}: share of samples at or above each value, one line a method", section.title(), load_title(load));
                    @let (rows, curves): (Vec<_>, Vec<_>) = drawn.into_iter().unzip();
                    figure {
                        h4 { (heading(load)) }
                        (plot(ccdf::draw(&curves, &axes, &what, &label)))
                        figcaption { (legend(&rows, &curves)) }
                    }
                }
            }
        }
    }
}

pub(super) fn heading(load: &str) -> String {
    match load {
        "idle" => "Idle".to_owned(),
        other => format!("Under load: {}", load_title(other)),
    }
}

fn curve<'a>(row: &'a Row<'_>, load: usize) -> Option<(&'a Row<'a>, Curve<'a>)> {
    let shown = row.by_load.get(load)?.as_ref()?;
    let view = shown.view;
    let summary = view.plotted()?;
    let curve = Curve {
        series: shown.series,
        look: Look::of(row.method_index, row.variant_index),
        steps: &view.ccdf,
        mean_ns: Some(summary.mean_ns),
    };
    Some((row, curve))
}

fn legend(rows: &[&Row<'_>], curves: &[Curve<'_>]) -> Markup {
    markup! {
        p.means { "mean" }
        ul.legend {
            @for (row, curve) in rows.iter().zip(curves) {
                li data-s=(curve.series) {
                    svg.key viewBox="0 0 30 10" aria-hidden="true" {
                        path class={ "l " (curve.look.classes()) } d="M1 5H29" {}
                    }
                    span { (row.label()) }
                    span.mean { (ns(curve.mean_ns)) }
                }
            }
        }
    }
}

/// One figure a method: its samples over time, a panel for each load and
/// variant.
pub(super) fn time_series(section: &Section<'_>) -> Markup {
    let what = probe_title(section.probe);
    markup! {
        @for rows in section.rows.chunk_by(|a, b| a.method_index == b.method_index) {
            @let panels: Vec<Panel<'_>> = panels(section, rows);
            @if !panels.is_empty() {
                @let method = rows[0].method;
                figure.wide {
                    h4 { (if method.is_empty() { NONE } else { method }) }
                    (plot(time_series::draw(&panels, columns(section, &panels), &what,
                        &format!("{}, {method}: samples over time with the median", section.title()))))
                    figcaption { (notes(rows)) }
                }
            }
        }
    }
}

/// A panel for each load and variant; one without samples says so, to keep the
/// loads below each other. Empty when nothing was sampled.
fn panels<'a>(section: &'a Section<'_>, rows: &'a [Row<'_>]) -> Vec<Panel<'a>> {
    let mut panels = Vec::new();
    for row in rows {
        for (load, shown) in section.loads.iter().zip(&row.by_load) {
            let mut title = load_title(load).to_owned();
            if !row.variant.is_empty() {
                title = format!("{title}, {}", row.variant);
            }
            let sampled = shown
                .map(|s| s.view)
                .and_then(|v| Some((v, v.plotted()?.median_ns)));
            panels.push(Panel {
                title: match sampled {
                    Some((_, median_ns)) => format!("{title}: median {}", format_ns(median_ns)),
                    None => format!("{title}: no samples"),
                },
                look: Look::of(row.method_index, row.variant_index),
                series: sampled.map_or(&[], |(v, _)| v.series.as_slice()),
                median_ns: sampled.map(|s| s.1),
            });
        }
    }
    if panels.iter().all(|p| p.median_ns.is_none()) {
        panels.clear();
    }
    panels
}

/// Loads side by side and variants below each other, where they fit.
fn columns(section: &Section<'_>, panels: &[Panel<'_>]) -> usize {
    section
        .loads
        .len()
        .min(panels.len())
        .clamp(1, PANELS_PER_ROW)
}

/// What a reader of these panels must know about them in particular.
fn notes(rows: &[Row<'_>]) -> Markup {
    let views = || {
        rows.iter()
            .flat_map(|r| r.by_load.iter().flatten().map(|s| s.view))
    };
    let marked: u64 = views().map(|v| v.left_out).sum();
    let flat: u64 = views().map(|v| v.not_positive).sum();
    let tail: u32 = views().map(|v| v.tail_trials).sum();
    markup! {
        @if views().any(|v| v.plots_batches()) { "Values are averages over batches. " }
        @if marked > 0 { "Samples left out as warm-up or otherwise marked: " (count(marked)) ". " }
        @if flat > 0 { "Values of zero or less, shown on the lower edge: " (count(flat)) ". " }
        @if tail > 0 { "Trials of which only the largest samples were kept one by one, and are drawn: " (tail) ". " }
    }
}

/// The drawing inside a container that scrolls on narrow screens, or why there
/// is none.
pub(super) fn plot(drawn: Drawn) -> Markup {
    markup! {
        @match drawn {
            Ok(svg) => div.scroll tabindex="0" { (PreEscaped(svg)) },
            Err(e) => p.banner { "This plot could not be drawn: " (e) },
        }
    }
}
