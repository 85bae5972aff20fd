//! Figures of distributions and of samples over time.

use super::figure::{Figure, Key, heading};
use crate::data::CellView;
use crate::figures::{NONE, count, ns};
use crate::plot::ccdf::{Curve, ranges};
use crate::plot::time_series::{PANELS_PER_ROW, Panel};
use crate::plot::{Drawn, Look, ccdf, time_series};
use crate::precision::ns_within;
use crate::sections::{Row, Section, TIMER_EVENTS, load_title, probe_title};

/// Lines that an eye can follow in one plot; with more rows each method has plots of
/// its own.
const MOST_LINES: usize = 16;

/// One CCDF a load, or a load and method; all share their axes, so that they compare
/// at a glance.
pub(super) fn ccdfs(section: &Section<'_>) -> Vec<Figure> {
    let steps = section.cells().map(|s| s.view.ccdf.as_slice());
    let axes = ranges(steps.collect::<Vec<_>>().into_iter());
    let what = match section.probe {
        TIMER_EVENTS => "lateness, or interval less d".to_owned(),
        probe => probe_title(probe),
    };
    let by_method = section.rows.len() > MOST_LINES;
    let groups: Vec<&[Row<'_>]> = match by_method {
        true => section
            .rows
            .chunk_by(|a, b| a.method_index == b.method_index)
            .collect(),
        false => vec![&section.rows],
    };
    let mut figures = Vec::new();
    for rows in groups {
        for (i, load) in section.loads.iter().enumerate() {
            let look = |row: &Row<'_>| match by_method {
                true => Look::of(row.variant_index, 0),
                false => Look::of(row.method_index, row.variant_index),
            };
            let lines: Vec<(Curve<'_>, String)> = rows
                .iter()
                .filter_map(|r| Some((curve(r, i, look(r))?, r.label())))
                .collect();
            if lines.is_empty() {
                continue;
            }
            let (curves, labels): (Vec<Curve<'_>>, Vec<String>) = lines.into_iter().unzip();
            let method = if by_method { rows[0].method } else { "" };
            let of = match method {
                "" => "one line a method".to_owned(),
                m => format!("{m}, one line a variant"),
            };
            let label = format!(
                "{} under {}: share of samples at or above each value, {of}",
                section.title(),
                load_title(load)
            );
            figures.push(Figure {
                title: match method {
                    "" => heading(load),
                    m => format!("{m}, {}", heading(load).to_lowercase()),
                },
                drawn: ccdf::draw(&curves, &axes, &what, &label),
                label,
                keys: curves
                    .iter()
                    .zip(labels)
                    .map(|(c, label)| Key {
                        look: c.look,
                        dots: false,
                        label,
                        value: Some(ns(c.mean_ns)),
                        series: Some(c.series),
                    })
                    .collect(),
                values: Some("mean"),
                notes: Vec::new(),
                wide: false,
            });
        }
    }
    figures
}

fn curve<'a>(row: &'a Row<'_>, load: usize, look: Look) -> Option<Curve<'a>> {
    let shown = row.by_load.get(load)?.as_ref()?;
    let summary = shown.view.plotted()?;
    Some(Curve {
        series: shown.series,
        look,
        steps: &shown.view.ccdf,
        mean_ns: Some(summary.mean_ns),
    })
}

/// One figure a method: its samples over time, a panel for each load and
/// variant.
pub(super) fn time_series<'a>(section: &'a Section<'a>) -> Vec<Figure> {
    each_method(section, PANELS_PER_ROW, |rows| {
        let panels: Vec<Panel<'_>> = panels(section, rows);
        let columns = columns(section, panels.len(), PANELS_PER_ROW);
        OverTime {
            saying: "samples over time with the median",
            empty: panels.is_empty(),
            draw: Box::new(move |label| {
                let what = probe_title(section.probe);
                time_series::draw(&panels, columns, &what, label)
            }),
            notes: notes(rows),
        }
    })
}

/// A method's figure over time.
pub(super) struct OverTime<'a> {
    /// What is drawn, in words.
    pub saying: &'a str,
    /// Whether there is nothing to draw.
    pub empty: bool,
    /// Draws it under its label.
    pub draw: Box<dyn FnOnce(&str) -> Drawn + 'a>,
    /// What a reader must know about it in particular.
    pub notes: Vec<String>,
}

/// Rows of panels that a sheet of paper has room for.
const MOST_ROWS: usize = 4;

/// One figure for each method that has something to draw, or several where its panels,
/// `most` of them in a row, would not fit a sheet.
pub(super) fn each_method<'a>(
    section: &'a Section<'a>,
    most: usize,
    of: impl Fn(&'a [Row<'a>]) -> OverTime<'a>,
) -> Vec<Figure> {
    let methods = section
        .rows
        .chunk_by(|a, b| a.method_index == b.method_index);
    let variants = match section.loads.len() {
        1 => MOST_ROWS * most,
        loads => (MOST_ROWS / loads.div_ceil(most)).max(1),
    };
    let sheets = methods.flat_map(|rows| {
        let all = rows.len().div_ceil(variants);
        let numbered = move |(i, rows)| (rows, (i + 1, all));
        rows.chunks(variants).enumerate().map(numbered)
    });
    let figure = |(rows, (number, all)): (&'a [Row<'a>], (usize, usize))| {
        let over_time = of(rows);
        let mut method = match rows[0].method {
            "" => NONE.to_owned(),
            m => m.to_owned(),
        };
        if all > 1 {
            method = format!("{method}, {number} of {all}");
        }
        let label = format!("{}, {method}: {}", section.title(), over_time.saying);
        (!over_time.empty).then(|| Figure {
            title: method,
            drawn: (over_time.draw)(&label),
            label,
            keys: Vec::new(),
            values: None,
            notes: over_time.notes,
            wide: true,
        })
    };
    sheets.filter_map(figure).collect()
}

/// What stands above the panel of a row's cell beside a load.
pub(super) fn panel_title(load: &str, row: &Row<'_>) -> String {
    match row.variant.as_str() {
        "" => load_title(load).to_owned(),
        variant => format!("{}, {variant}", load_title(load)),
    }
}

/// A panel for each load and variant; one without samples says so, to keep the
/// loads below each other. Empty when nothing was sampled.
fn panels<'a>(section: &'a Section<'_>, rows: &'a [Row<'_>]) -> Vec<Panel<'a>> {
    let mut panels = Vec::new();
    for row in rows {
        for (load, shown) in section.loads.iter().zip(&row.by_load) {
            let sampled = shown
                .map(|s| s.view)
                .and_then(|v| Some((v, v.plotted()?.median_ns)));
            // The interval is that of the plotted values, batches or not.
            let words = |v: &CellView, median_ns| ns_within(median_ns, v.median_interval);
            panels.push(Panel {
                title: panel_title(load, row),
                figure: match sampled {
                    Some((v, median_ns)) => format!("median {}", words(v, median_ns)),
                    None => "no samples".to_owned(),
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

/// Loads side by side and variants below each other, where they fit; many variants of
/// one load stand side by side too.
pub(super) fn columns(section: &Section<'_>, panels: usize, most: usize) -> usize {
    match section.loads.len() {
        1 if panels > MOST_ROWS => most,
        loads => loads.min(panels).clamp(1, most),
    }
}

/// What a reader of these panels must know about them in particular.
fn notes(rows: &[Row<'_>]) -> Vec<String> {
    let views = || {
        rows.iter()
            .flat_map(|r| r.by_load.iter().flatten().map(|s| s.view))
    };
    let marked: u64 = views().map(|v| v.left_out).sum();
    let flat: u64 = views().map(|v| v.not_positive).sum();
    let tail: u32 = views().map(|v| v.tail_trials).sum();
    let mut notes = Vec::new();
    if views().any(|v| v.plots_batches()) {
        notes.push("Values are averages over batches.".to_owned());
    }
    if marked > 0 {
        notes.push(format!(
            "Samples left out as warm-up or otherwise marked: {}.",
            count(marked)
        ));
    }
    if flat > 0 {
        notes.push(format!(
            "Values of zero or less, shown on the lower edge: {}.",
            count(flat)
        ));
    }
    if tail > 0 {
        notes.push(format!(
            "Trials of which only the largest samples were kept one by one, and are drawn: {tail}."
        ));
    }
    notes
}
