//! Timer events on the page: the paper's table and plots, and stability.

use maud::{Markup, html as markup};

use super::distributions::{OverTime, columns as columns_of, each_method, panel_title};
use super::figure::{Figure, Key, heading};
use super::tables::name;
use crate::data::ReportData;
use crate::figures::NONE;
use crate::holds;
use crate::plot::curves::{Curve, ranges};
use crate::plot::differences::{PANELS_PER_ROW, Panel};
use crate::plot::{Look, curves, differences};
use crate::sections::{Row, Section, load_title};
use crate::timer_events::{TimerEvents, columns};

/// The figures of every mechanism, form and load.
pub(super) fn table(section: &Section<'_>) -> Markup {
    let columns = columns(section);
    markup! {
        div.scroll tabindex="0" {
            table.numbers.full {
                thead { tr { th { "Mechanism" } @for c in &columns { th { (c.title) } } } }
                @for (i, load) in section.loads.iter().enumerate() {
                    tbody {
                        tr.group { th colspan=(columns.len() + 1) { span { (load_title(load)) } } }
                        @for row in &section.rows {
                            @if let Some(shown) = &row.by_load[i] {
                                tr {
                                    (name(row))
                                    @for c in &columns { td { ((c.of)(shown).as_deref().unwrap_or(NONE)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What the table needs said, once.
pub(super) fn reading() -> Markup {
    markup! {
        p.small {
            "All in microseconds. sd (n) is the standard deviation as the paper prints it, beside it the one with n\u{2212}1. "
            "TIE is the time error against the ideal grid t₀ + k·d; a period that was missed counts as answered by the event that came late. "
            "MTIE is the largest change of the time error within a stretch of τ, TDEV its deviation over τ "
            "(ITU-T G.810; Riley, NIST SP 1065); both at d and at the longest τ of at most 1 s that every row reaches. "
            "Trials are pooled: moments are merged, of |TIE| and MTIE the largest of any trial stands, TDEV is the root of the mean square. "
            "For MTIE a trial shorter than τ counts with the longest stretch that it holds; in TDEV it does not count there. "
            "Interrupts are those of the whole machine."
        }
    }
}

/// The difference from d over time, one figure a mechanism.
pub(super) fn over_time<'a>(section: &'a Section<'a>) -> Vec<Figure> {
    each_method(section, PANELS_PER_ROW, |rows| {
        let panels: Vec<Panel<'_>> = panels(section, rows);
        let columns = columns_of(section, panels.len(), PANELS_PER_ROW);
        OverTime {
            saying: "difference of each interval from the period over time",
            empty: panels.is_empty(),
            draw: Box::new(move |label| differences::draw(&panels, columns, label)),
            notes: without(rows).into_iter().collect(),
        }
    })
}

fn panels<'a>(section: &'a Section<'_>, rows: &'a [Row<'_>]) -> Vec<Panel<'a>> {
    let mut panels = Vec::new();
    for row in rows {
        for (load, shown) in section.loads.iter().zip(&row.by_load) {
            let Some(timer) = shown.and_then(|s| s.view.timer.as_ref()) else {
                continue;
            };
            panels.push(Panel {
                title: panel_title(load, row),
                look: Look::of(row.method_index, row.variant_index),
                series: &timer.series,
                values: &timer.distribution,
            });
        }
    }
    panels
}

/// Trials without figures.
fn without(rows: &[Row<'_>]) -> Option<String> {
    let timers = rows
        .iter()
        .flat_map(|r| r.by_load.iter().flatten())
        .filter_map(|s| s.view.timer.as_ref());
    let reasons: Vec<&String> = timers.flat_map(|t| &t.without).collect();
    let first = reasons.first()?;
    Some(format!(
        "Trials without figures: {} ({first}).",
        reasons.len()
    ))
}

/// MTIE and TDEV over tau, side by side for each load.
pub(super) fn stability(section: &Section<'_>) -> Vec<Figure> {
    type Of = fn(&TimerEvents) -> Vec<(u64, f64)>;
    let kinds: [(&str, Of); 2] = [("MTIE", TimerEvents::mtie), ("TDEV", TimerEvents::tdev)];
    let loads = 0..section.loads.len();
    let axes = kinds.map(|(_, of)| {
        let all: Vec<_> = loads.clone().flat_map(|l| drawn(section, l, of)).collect();
        ranges(all.iter().map(|c| &c.1))
    });
    let mut figures = Vec::new();
    for (i, load) in section.loads.iter().enumerate() {
        for ((name, of), axes) in kinds.iter().zip(&axes) {
            let (labels, curves): (Vec<String>, Vec<Curve>) =
                drawn(section, i, *of).into_iter().unzip();
            if curves.is_empty() {
                continue;
            }
            let label = format!(
                "{} under {}: {name} over the observation interval, one line a mechanism",
                section.title(),
                load_title(load)
            );
            let key = |(label, curve): (String, &Curve)| Key {
                look: curve.look,
                dots: false,
                label,
                value: None,
                series: Some(curve.series),
            };
            figures.push(Figure {
                title: format!("{name}, {}", heading(load).to_lowercase()),
                drawn: curves::draw(&curves, axes, name, &label),
                label,
                keys: labels.into_iter().zip(&curves).map(key).collect(),
                values: None,
                notes: Vec::new(),
                wide: false,
            });
        }
    }
    figures
}

fn drawn(
    section: &Section<'_>,
    load: usize,
    of: fn(&TimerEvents) -> Vec<(u64, f64)>,
) -> Vec<(String, Curve)> {
    let curve = |row: &Row<'_>| {
        let shown = row.by_load[load].as_ref()?;
        let (timer, series) = (shown.view.timer.as_ref()?, shown.series);
        let points: Vec<(f64, f64)> = of(timer).into_iter().map(|(t, v)| (t as f64, v)).collect();
        let look = Look::of(row.method_index, row.variant_index);
        (!points.is_empty()).then(|| {
            (
                row.label(),
                Curve {
                    series,
                    look,
                    points,
                },
            )
        })
    };
    section.rows.iter().filter_map(curve).collect()
}

/// What the searches found.
pub(super) fn holds(data: &ReportData) -> Markup {
    let rows = holds::rows(data);
    markup! {
        @if !rows.is_empty() {
            div.part id="smallest-period" {
                h3 { "Smallest period held" }
                p.lead { (holds::NOTE) }
                div.scroll tabindex="0" {
                    table.numbers {
                        thead { tr { th { "Mechanism" } th { "Load" } th { "Held" } th { "Not held" } th { "Periods tried" } } }
                        tbody {
                            @for row in &rows {
                                tr {
                                    th { (row.mechanism) }
                                    td.left { (row.load) }
                                    td { (row.smallest) }
                                    td { (row.not_held) }
                                    td { (row.tried) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
