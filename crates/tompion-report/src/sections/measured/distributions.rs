//! Plots of distributions and of samples over time.

use std::rc::Rc;

use tompion_model::AT_REST;

use crate::blocks::{Block, Content, Figure, Key, Layout, Media, Sign};
use crate::figures::{NONE, count, ns, plural};
use crate::grid::{Grid, Row, load_title};
use crate::plot::ccdf::{Curve, ranges};
use crate::plot::time_series::{PANELS_PER_ROW, Panel};
use crate::plot::{Drawn, Look, ccdf, characters, time_series};

/// Lines that an eye can follow in one plot.
const MOST_LINES: usize = 4;

/// Rows in groups that a plot has room for, in their order: the variants of a method together
/// where they fit.
pub(in crate::sections) fn in_plots<'g, 'a>(rows: &'g [Row<'a>]) -> Vec<&'g [Row<'a>]> {
    let mut groups = Vec::new();
    let (mut from, mut to) = (0, 0);
    for method in rows.chunk_by(|a, b| a.method_index == b.method_index) {
        if to - from + method.len() > MOST_LINES {
            groups.push(&rows[from..to]);
            from = to;
        }
        to += method.len();
        while to - from > MOST_LINES {
            groups.push(&rows[from..from + MOST_LINES]);
            from += MOST_LINES;
        }
    }
    groups.push(&rows[from..to]);
    groups.retain(|group| !group.is_empty());
    groups
}

/// Plots of groups of rows: those of the first stand open, of further ones folded.
pub(in crate::sections) fn first_open<'a>(
    layout: Layout,
    groups: &[&[Row<'a>]],
    of: impl Fn(&[Row<'a>], usize) -> Vec<Figure<'a>>,
) -> Vec<Block<'a>> {
    let mut all = groups.iter().enumerate().map(|(i, rows)| of(rows, i));
    let first = all.next().unwrap_or_default();
    let further: Vec<Figure<'a>> = all.flatten().collect();
    let mut blocks = vec![Content::Figures(layout, first).on(Media::PAGE)];
    if !further.is_empty() {
        let n: usize = groups.iter().skip(1).map(|rows| rows.len()).sum();
        let what = plural(n as u64, "method or variant", "methods and variants");
        let fold = Content::fold(
            format!("Another {n} {what}"),
            false,
            vec![Content::Figures(layout, further).into()],
        );
        blocks.push(fold.on(Media::PAGE));
    }
    blocks
}

/// The load as a heading.
pub(in crate::sections) fn heading(load: &str) -> String {
    match load {
        AT_REST => "Idle".to_owned(),
        other => format!("Under load: {}", load_title(other)),
    }
}

/// Distributions of a grid's values with their heading; `explain` adds how to read them.
pub(in crate::sections) fn ccdfs<'a>(grid: &Grid<'a>, explain: bool) -> Vec<Block<'a>> {
    ccdfs_of(grid, grid.probe.title, explain)
}

/// The same where `what` is on the axis of values.
pub(in crate::sections) fn ccdfs_of<'a>(
    grid: &Grid<'a>,
    what: &str,
    explain: bool,
) -> Vec<Block<'a>> {
    let heading = "How often is it worse than x?".to_owned();
    let mut blocks = vec![Content::Heading(heading).on(Media::PAGE)];
    if explain {
        let lead = "Complementary cumulative distributions on logarithmic axes: a point (x, y) says that the share y of samples is x or more, \
                    in the mean of the blocks' distributions, of which each weighs the same. \
                    Dashed vertical lines are means, end points the largest samples, as in Kirova et al. 2019, Future Internet 11(8):179. \
                    All loads share their axes.";
        blocks.push(Content::Lead(lead.to_owned()).on(Media::PAGE));
    }
    // All share their axes, so that they compare at a glance.
    let axes = Rc::new(ranges(grid.cells().map(|s| s.view.ccdf.as_slice())));
    let groups = in_plots(&grid.rows);
    let of = |rows: &[Row<'a>], i| curves(grid, rows, (i, groups.len()), &axes, what);
    blocks.extend(first_open(Layout::SideBySide, &groups, of));
    blocks
}

/// The axes of values and of shares.
type Axes = (std::ops::Range<f64>, std::ops::Range<f64>);

/// How these lines of a plot look: those of one method by their variants.
pub(in crate::sections) fn looks(rows: &[Row<'_>]) -> Vec<Look> {
    let alone = rows.iter().all(|r| r.method_index == rows[0].method_index);
    let hue = |r: &Row<'_>| match alone {
        true => r.variant_index,
        false => r.method_index,
    };
    let rows = rows.iter().enumerate();
    rows.map(|(i, r)| Look::of_line(hue(r), i)).collect()
}

/// One plot a load of these rows, group `number` of `all`.
fn curves<'a>(
    grid: &Grid<'a>,
    rows: &[Row<'a>],
    (number, all): (usize, usize),
    axes: &Rc<Axes>,
    what: &str,
) -> Vec<Figure<'a>> {
    let mut figures = Vec::new();
    let alone = rows.iter().all(|r| r.method == rows[0].method);
    for (i, load) in grid.loads.iter().enumerate() {
        let lines: Vec<(Curve<'a>, String)> = rows
            .iter()
            .zip(looks(rows))
            .filter_map(|(r, look)| Some((curve(r, i, look)?, r.label())))
            .collect();
        if lines.is_empty() {
            continue;
        }
        let (curves, labels): (Vec<Curve<'a>>, Vec<String>) = lines.into_iter().unzip();
        let method = if alone && all > 1 { rows[0].method } else { "" };
        let (mut title, of) = match method {
            "" => (heading(load), "one line a method".to_owned()),
            m => (
                format!("{m}, {}", heading(load).to_lowercase()),
                format!("{m}, one line a variant"),
            ),
        };
        if all > 1 {
            title = format!("{title}, {} of {all}", number + 1);
        }
        let key = |(c, label): (&Curve<'_>, String)| Key {
            look: c.look,
            sign: Sign::Line,
            label,
            value: Some(ns(c.mean_ns)),
            series: Some(c.series),
        };
        let keys = curves.iter().zip(labels).map(key).collect();
        let (axes, what) = (Rc::clone(axes), what.to_owned());
        figures.push(Figure {
            title,
            label: format!(
                "{} under {}: share of samples at or above each value, {of}",
                grid.title(),
                load_title(load)
            ),
            draw: Box::new(move |label| ccdf::draw(&curves, &axes, &what, label)),
            keys,
            values: Some("mean"),
            notes: Vec::new(),
            wide: false,
        });
    }
    figures
}

fn curve<'a>(row: &Row<'a>, load: usize, look: Look) -> Option<Curve<'a>> {
    let shown = row.by_load.get(load)?.as_ref()?;
    let summary = shown.view.plotted()?;
    Some(Curve {
        series: shown.series,
        look,
        steps: &shown.view.ccdf,
        mean_ns: Some(summary.mean_ns),
    })
}

/// The same in characters, for terminals.
pub(in crate::sections) fn in_characters<'a>(grid: &Grid<'a>) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    for (i, load) in grid.loads.iter().enumerate() {
        let steps = |r: &Row<'a>| {
            let view = r.by_load[i].as_ref()?.view;
            (!view.ccdf.is_empty()).then(|| (r.variant.is_empty(), r.label(), view.ccdf.as_slice()))
        };
        let mut curves: Vec<_> = grid.rows.iter().filter_map(steps).collect();
        if curves.is_empty() {
            continue;
        }
        // Default settings first, since they are what programs have.
        curves.sort_by_key(|(usual, ..)| !usual);
        let curves: Vec<(String, &'a [(f64, f64)])> =
            curves.into_iter().map(|(_, l, s)| (l, s)).collect();
        let title = format!("{}: share of samples ≥ x", load_title(load));
        blocks.push(Content::Subheading(title).on(Media::SCREEN));
        let draw = move |width| characters::draw(&curves, width);
        blocks.push(Content::Characters(Box::new(draw)).on(Media::SCREEN));
    }
    blocks
}

/// One figure a method: its samples over time, a panel for each load and
/// variant.
pub(super) fn time_series<'a>(grid: &Grid<'a>) -> Vec<Figure<'a>> {
    each_method(grid, PANELS_PER_ROW, |rows| {
        let panels: Vec<Panel<'a>> = panels(grid, rows);
        let columns = columns(grid, panels.len(), PANELS_PER_ROW);
        let what = grid.probe.title;
        OverTime {
            saying: "samples over time with the median",
            empty: panels.is_empty(),
            draw: Box::new(move |label| time_series::draw(&panels, columns, what, label)),
            notes: notes(rows),
        }
    })
}

/// A method's figure over time.
pub(in crate::sections) struct OverTime<'a> {
    /// What is drawn, in words.
    pub saying: &'static str,
    /// Whether there is nothing to draw.
    pub empty: bool,
    /// Draws it under its label.
    pub draw: Box<dyn Fn(&str) -> Drawn + 'a>,
    /// What a reader must know about it in particular.
    pub notes: Vec<String>,
}

/// Rows of panels that a sheet of paper has room for.
const MOST_ROWS: usize = 4;

/// One figure for each method that has something to draw, or several where its panels,
/// `most` of them in a row, would not fit a sheet.
pub(in crate::sections) fn each_method<'a>(
    grid: &Grid<'a>,
    most: usize,
    of: impl Fn(&[Row<'a>]) -> OverTime<'a>,
) -> Vec<Figure<'a>> {
    let methods = grid.rows.chunk_by(|a, b| a.method_index == b.method_index);
    let variants = match grid.loads.len() {
        1 => MOST_ROWS * most,
        loads => (MOST_ROWS / loads.div_ceil(most)).max(1),
    };
    let sheets = methods.flat_map(|rows| {
        let all = rows.len().div_ceil(variants);
        let numbered = move |(i, rows)| (rows, (i + 1, all));
        rows.chunks(variants).enumerate().map(numbered)
    });
    let figure = |(rows, (number, all)): (&[Row<'a>], (usize, usize))| {
        let over_time = of(rows);
        let mut method = match rows[0].method {
            "" => NONE.to_owned(),
            m => m.to_owned(),
        };
        if all > 1 {
            method = format!("{method}, {number} of {all}");
        }
        (!over_time.empty).then(|| Figure {
            label: format!("{}, {method}: {}", grid.title(), over_time.saying),
            title: method,
            draw: over_time.draw,
            keys: Vec::new(),
            values: None,
            notes: over_time.notes,
            wide: true,
        })
    };
    sheets.filter_map(figure).collect()
}

/// What stands above the panel of a row's cell beside a load.
pub(in crate::sections) fn panel_title(load: &str, row: &Row<'_>) -> String {
    match row.variant.as_str() {
        "" => load_title(load).to_owned(),
        variant => format!("{}, {variant}", load_title(load)),
    }
}

/// A panel for each load and variant; one without samples says so, to keep the
/// loads below each other. Empty when nothing was sampled.
fn panels<'a>(grid: &Grid<'a>, rows: &[Row<'a>]) -> Vec<Panel<'a>> {
    let mut panels = Vec::new();
    for row in rows {
        for (load, shown) in grid.loads.iter().zip(&row.by_load) {
            let sampled = shown
                .map(|s| s.view)
                .and_then(|v| Some((v, v.plotted()?.median_ns)));
            panels.push(Panel {
                title: panel_title(load, row),
                figure: match sampled {
                    Some((v, _)) => format!("median {}", v.plotted_median().unwrap_or_default()),
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
pub(in crate::sections) fn columns(grid: &Grid<'_>, panels: usize, most: usize) -> usize {
    match grid.loads.len() {
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
