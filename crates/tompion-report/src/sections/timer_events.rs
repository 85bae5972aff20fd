//! Timer events as the paper shows them, and their stability.

use crate::grid::ProbeWords;
use serde_json::{Map, Value, json};
use tompion_model::{Hold, factor, format_ns, level_in_words};
use tompion_probe::timer_events;

use super::measured::distributions::{
    OverTime, ccdfs_of, columns as columns_of, each_method, first_open, heading, in_plots, looks,
    panel_title,
};
use super::measured::{self, Of, below_loads, introduction, short, statistics};
use super::{Machine, Probe, Question, Section, opening};
use crate::blocks::{Block, Column, Content, Figure, Key, Layout, Media, Row, Sign, Table};
use crate::data::{ReportData, Shown};
use crate::figures::{percent, us};
use crate::grid::{Grid, Row as GridRow, grids, load_title, variant};
use crate::holds;
use crate::plot::curves::{Curve, ranges};
use crate::plot::differences::{PANELS_PER_ROW, Panel};
use crate::plot::{Look, curves, differences};
use crate::timer_events::{TimerEvents, columns, missed_share};

pub(super) static ENTRY: Section = Section {
    name: "timer-events",
    title: "Timer events",
    question: Some(Question::Late),
    probe: Some(&Probe {
        words: PROBE,
        outcome,
        tiles: |_| Vec::new(),
    }),
    blocks,
    machine: Machine::Keys(keys),
};

const PROBE: ProbeWords<'static> = ProbeWords {
    name: timer_events::NAME,
    title: "Timer events",
    target: "period",
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let grids = grids(data, PROBE);
    let mut blocks = Vec::new();
    if !grids.is_empty() {
        blocks = introduction(
            data,
            PROBE.name,
            "Events every d, by each mechanism that a program has, after Adamczyk and Chydzinski 2015, PLOS ONE 10(7). \
             Periodic: a value is how late an event came after its deadline, and deadlines that passed meanwhile are missed. \
             Re-armed, as in the paper: each event arms the next, and a value is the interval less d.",
        );
        let notes = measured::footnotes(&grids);
        for (i, grid) in grids.into_iter().enumerate() {
            blocks.push(part(grid, i == 0));
        }
        blocks.extend(notes);
        blocks.push(Content::Note(READING.to_owned()).on(Media::SCREEN));
    }
    blocks.extend(smallest_periods(data));
    blocks
}

/// How to read the tables on a terminal, once.
const READING: &str = "Timer events: sd (n) is the standard deviation as Adamczyk 2015 prints it. Periodic events have the period as their mean as long \
     as none is missed; look at lateness and missed periods. TIE is the time error against the ideal grid, MTIE and TDEV are its \
     largest change within and its deviation over the time named (ITU-T G.810). Trials are pooled: moments merged, the largest \
     TIE and MTIE of any trial (one shorter than the time named counts with what it holds), TDEV as root mean square.";

/// The same on a page.
const READING_IN_FULL: &str = "All in microseconds. sd (n) is the standard deviation as the paper prints it, next to it the one with n\u{2212}1. \
     TIE is the time error against the ideal grid t₀ + k·d; a period that was missed counts as answered by the event that came late. \
     MTIE is the largest change of the time error within a stretch of τ, TDEV its deviation over τ \
     (ITU-T G.810; Riley, NIST SP 1065); both at d and at the longest τ of at most 1 s that every row reaches. \
     Trials are pooled: moments are merged, of |TIE| and MTIE the largest of any trial stands, TDEV is the root of the mean square. \
     For MTIE a trial shorter than τ counts with the longest stretch that it holds; in TDEV it does not count there. \
     Interrupts are those of the whole machine.";

/// One period with its tables and plots; `explain` adds how to read them.
fn part(grid: Grid<'_>, explain: bool) -> Block<'_> {
    let (anchor, title) = (grid.anchor(), grid.target.is_some().then(|| grid.title()));
    let mut blocks: Vec<Block<'_>> = vec![Content::Table(short(&grid)).into()];
    let timer = grid.cells().any(|s| s.view.timer.is_some());
    if timer {
        blocks.extend(intervals(&grid, explain));
        blocks.extend(ccdfs_of(&grid, "lateness, or interval less d", explain));
        blocks.push(statistics(&grid));
    } else {
        blocks.extend(ccdfs_of(&grid, "lateness, or interval less d", explain));
        blocks.push(statistics(&grid));
        blocks.push(measured::over_time(&grid, explain));
    }
    Content::part(anchor, title, blocks).into()
}

/// The paper's table and plots, and stability.
fn intervals<'a>(grid: &Grid<'a>, explain: bool) -> Vec<Block<'a>> {
    let columns = columns(grid).into_iter();
    let entries = columns.map(|c| {
        let of = c.of;
        let entry: Of = Box::new(move |s| of(s).into());
        (Column::of(c.title), entry)
    });
    let columns = entries.collect();
    let table = below_loads(grid, "Mechanism", columns);
    let title = "Intervals and time error, in µs".to_owned();
    let mut blocks: Vec<Block<'a>> =
        vec![Content::Heading(title).into(), Content::Table(table).into()];
    let mut differences: Vec<Block<'a>> = Vec::new();
    if explain {
        blocks.push(Content::Note(READING_IN_FULL.to_owned()).on(Media::PAGE));
        let lead = "Each interval between two events less d, on a linear axis, as in the figures of Adamczyk and Chydzinski 2015. \
                    Bold lines are means. Values so rare and far that they would flatten the rest are drawn on the edge, and the extremes stand above the panel. \
                    The data are thinned: each column of time shows its smallest and its largest value with the range between them, and a few others.";
        differences.push(Content::Lead(lead.to_owned()).into());
    }
    differences.push(Content::Figures(Layout::Below, over_time(grid)).into());
    let fold = |title: &str, blocks| Content::fold(title, true, blocks);
    blocks.push(fold("Difference from d over time", differences).on(Media::PAGE));
    let stability = stability(grid);
    blocks.push(fold("MTIE and TDEV", stability).on(Media::PAGE));
    blocks
}

/// The difference from d over time, one figure a mechanism.
fn over_time<'a>(grid: &Grid<'a>) -> Vec<Figure<'a>> {
    each_method(grid, PANELS_PER_ROW, |rows| {
        let panels: Vec<Panel<'a>> = panels(grid, rows);
        let columns = columns_of(grid, panels.len(), PANELS_PER_ROW);
        OverTime {
            saying: "difference of each interval from the period over time",
            empty: panels.is_empty(),
            draw: Box::new(move |label| differences::draw(&panels, columns, label)),
            notes: without(rows).into_iter().collect(),
        }
    })
}

fn panels<'a>(grid: &Grid<'a>, rows: &[GridRow<'a>]) -> Vec<Panel<'a>> {
    let mut panels = Vec::new();
    for row in rows {
        for (load, shown) in grid.loads.iter().zip(&row.by_load) {
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
fn without(rows: &[GridRow<'_>]) -> Option<String> {
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
fn stability<'a>(grid: &Grid<'a>) -> Vec<Block<'a>> {
    type Of = fn(&TimerEvents) -> Vec<(u64, f64)>;
    let kinds: [(&'static str, Of); 2] = [("MTIE", TimerEvents::mtie), ("TDEV", TimerEvents::tdev)];
    let axes = kinds.map(|(_, of)| {
        let loads = 0..grid.loads.len();
        let all: Vec<_> = loads.flat_map(|l| drawn(&grid.rows, l, of)).collect();
        ranges(all.iter().map(|c| &c.1))
    });
    let groups = in_plots(&grid.rows);
    first_open(Layout::Two, &groups, |rows, number| {
        let mut figures = Vec::new();
        for (i, load) in grid.loads.iter().enumerate() {
            for ((name, of), axes) in kinds.into_iter().zip(axes.clone()) {
                let (labels, lines): (Vec<String>, Vec<Curve>) =
                    drawn(rows, i, of).into_iter().unzip();
                if lines.is_empty() {
                    continue;
                }
                let key = |(label, curve): (String, &Curve)| Key {
                    look: curve.look,
                    sign: Sign::Line,
                    label,
                    value: None,
                    series: Some(curve.series),
                };
                let mut title = format!("{name}, {}", heading(load).to_lowercase());
                if groups.len() > 1 {
                    title = format!("{title}, {} of {}", number + 1, groups.len());
                }
                figures.push(Figure {
                    title,
                    label: format!(
                        "{} under {}: {name} over the observation interval, one line a mechanism",
                        grid.title(),
                        load_title(load)
                    ),
                    keys: labels.into_iter().zip(&lines).map(key).collect(),
                    draw: Box::new(move |label| curves::draw(&lines, &axes, name, label)),
                    values: None,
                    notes: Vec::new(),
                    wide: false,
                });
            }
        }
        figures
    })
}

/// The lines of these rows under a load.
fn drawn(
    rows: &[GridRow<'_>],
    load: usize,
    of: fn(&TimerEvents) -> Vec<(u64, f64)>,
) -> Vec<(String, Curve)> {
    let curve = |(row, look): (&GridRow<'_>, Look)| {
        let shown = row.by_load[load].as_ref()?;
        let (timer, series) = (shown.view.timer.as_ref()?, shown.series);
        let points: Vec<(f64, f64)> = of(timer).into_iter().map(|(t, v)| (t as f64, v)).collect();
        let curve = Curve {
            series,
            look,
            points,
        };
        (!curve.points.is_empty()).then(|| (row.label(), curve))
    };
    rows.iter().zip(looks(rows)).filter_map(curve).collect()
}

/// What the searches found.
fn smallest_periods(data: &ReportData) -> Option<Block<'_>> {
    let rows = holds::rows(data);
    if rows.is_empty() {
        return None;
    }
    let table = Table::of(
        "Mechanism",
        [Column::words("load")]
            .into_iter()
            .chain(Column::all(["held", "not held", "periods\ntried"]))
            .collect(),
        rows.into_iter()
            .map(|r| {
                Row::of(
                    r.mechanism,
                    [r.load, r.smallest, r.not_held, r.tried.to_string()],
                )
            })
            .collect(),
    );
    let part = Content::part(
        "smallest-period",
        Some("Smallest period held".to_owned()),
        vec![
            Content::Table(table).into(),
            Content::Note(holds::NOTE.to_owned()).into(),
        ],
    );
    Some(part.into())
}

fn outcome(data: &ReportData, cells: &[Shown<'_>], load: &str) -> Option<String> {
    let off = |t: &TimerEvents| Some((t.mean_ns()? / t.period_ns.max(1) as f64 - 1.0).abs());
    let mut found: Vec<(f64, String, String)> = cells
        .iter()
        .filter_map(|s| {
            let timer = s.view.timer.as_ref()?;
            let missed = missed_share(s).map(|share| format!(", {} missed", percent(share)));
            let figures = format!(
                "{} µs at {}{}",
                us(timer.mean_ns()?),
                level_in_words(s.cell.factors.level(factor::TARGET)),
                missed.unwrap_or_default()
            );
            Some((off(timer)?, opening::name(s), figures))
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((_, best, its), (_, worst, figures)) = (found.first()?, found.last()?);
    let mut sentence = match found.len() {
        1 => format!("the mean interval of {best} was {its}."),
        _ => format!(
            "the mean interval came closest to its period with {best}: {its}; it stayed \
             farthest from it with {worst}: {figures}."
        ),
    };
    let of_load = |h: &&Hold| h.factors.level(factor::LOAD) == load;
    let here: Vec<&Hold> = data.record().holds.iter().filter(of_load).collect();
    let smallest = here
        .iter()
        .filter_map(|h| Some((h.smallest_ns?, h)))
        .min_by_key(|h| h.0);
    match smallest {
        Some((ns, hold)) => {
            let method = hold.factors.level(factor::METHOD);
            let of = match variant(&hold.factors).as_str() {
                "" => String::new(),
                of => format!(" ({of})"),
            };
            sentence.push_str(&format!(
                " The smallest period held was {}, by {method}{of}.",
                format_ns(ns as f64)
            ));
        }
        None if !here.is_empty() => sentence.push_str(" No period that was tried was held."),
        None => {}
    }
    Some(sentence)
}

fn keys(data: &ReportData, keys: &mut Map<String, Value>) {
    keys.insert("holds".to_owned(), json!(data.record().holds));
}
