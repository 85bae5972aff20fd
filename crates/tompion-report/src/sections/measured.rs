//! What a probe measured: tables of figures, distributions, samples over time.

pub(super) mod distributions;
mod disturbed;
mod statistics;

use tompion_model::{Cell, factor, format_ns};

use super::verdicts::missed_any;
use crate::blocks::{Block, Column, Content, Entry, Label, Layout, Media, Row, Style, Table};
use crate::data::{CellView, ReportData, Shown};
use crate::figures::{NONE, count, supported};
use crate::grid::{Grid, ProbeWords, Row as GridRow, grids, load_title};
pub(super) use statistics::statistics;

/// A section of one probe whose values are all of one kind; `about` says what they are.
pub(super) fn section<'a>(
    data: &'a ReportData,
    probe: ProbeWords<'a>,
    about: &str,
) -> Vec<Block<'a>> {
    let grids = grids(data, probe);
    if grids.is_empty() {
        return Vec::new();
    }
    let mut blocks = introduction(data, probe.name, about);
    let notes = footnotes(&grids);
    for (i, grid) in grids.into_iter().enumerate() {
        blocks.push(part(grid, i == 0));
    }
    blocks.extend(notes);
    blocks
}

/// What the probe is about, and what its disturbed samples did.
pub(super) fn introduction<'a>(data: &ReportData, probe: &str, about: &str) -> Vec<Block<'a>> {
    let mut blocks = vec![Content::Lead(about.to_owned()).on(Media::PAGE)];
    let sentence = disturbed::sentence(data, probe);
    blocks.extend(sentence.map(|sentence| Content::Text(sentence).into()));
    blocks
}

/// One target with its tables and plots; `explain` adds how to read the plots.
fn part(grid: Grid<'_>, explain: bool) -> Block<'_> {
    let (anchor, title) = (grid.anchor(), grid.target.is_some().then(|| grid.title()));
    let mut blocks = vec![Content::Table(short(&grid)).into()];
    blocks.extend(cost(&grid));
    if explain && grid.target.is_some() {
        blocks.extend(distributions::in_characters(&grid));
    }
    blocks.extend(distributions::ccdfs(&grid, explain));
    blocks.push(statistics(&grid));
    blocks.push(over_time(&grid, explain));
    Content::part(anchor, title, blocks).into()
}

/// Samples over time, folded; `explain` adds how to read the plots.
pub(super) fn over_time<'a>(grid: &Grid<'a>, explain: bool) -> Block<'a> {
    let mut blocks = Vec::new();
    if explain {
        let lead = "Bold lines are medians, as in Kirova et al. 2019. The data are thinned: each column of time shows its smallest and its largest sample \
                    with the range between them, and a few others, so no extreme is hidden. Warm-up and otherwise marked samples are left out. \
                    Fine vertical lines part the blocks, which ran at different times in random order.";
        blocks.push(Content::Lead(lead.to_owned()).into());
    }
    blocks.push(Content::Figures(Layout::Below, distributions::time_series(grid)).into());
    let fold = Content::fold("Samples over time", true, blocks);
    fold.on(Media::PAGE)
}

/// What stands in a column for a cell.
pub(super) type Of = Box<dyn Fn(&Shown<'_>) -> Entry>;

/// Median, p99 and maximum, a group of columns for each load.
pub(super) fn short(grid: &Grid<'_>) -> Table {
    let mut columns: Vec<(Column, Of)> = vec![
        (
            Column::of("samples").on(Media::TEXT),
            Box::new(|s| count(s.view.measured.as_ref().map_or(0, |m| m.samples)).into()),
        ),
        (Column::of("median"), Box::new(median)),
        (
            Column::of("p99"),
            Box::new(|s| s.view.quantile(0.99, |m| m.p99_ns).into()),
        ),
        (
            Column::of("max"),
            Box::new(|s| {
                let measured = s.view.measured.as_ref();
                measured.map(|m| format_ns(m.max_ns)).into()
            }),
        ),
    ];
    if grid.cells().any(|s| s.view.batched.is_some()) {
        let per_read: Of = Box::new(|s| {
            let batched = s.view.batched.is_some();
            batched.then(|| s.view.read_median()).flatten().into()
        });
        columns.insert(1, (Column::of("per read"), per_read));
    }
    // Verdicts see another p99 than the one as measured where periods were missed.
    if grid.cells().any(|s| missed_any(&s)) {
        let at = columns.len() - 1;
        let corrected = Column::of("p99\u{2020}").on(Media::NOT_SCREEN);
        columns.insert(at, (corrected, corrected_p99()));
    }
    by_load(grid, grid.rows.iter(), columns)
}

fn corrected_p99() -> Of {
    Box::new(|s| s.view.corrected_p99().into())
}

/// The median of single operations, with a remark where it has no interval.
fn median(s: &Shown<'_>) -> Entry {
    let Some(text) = s.view.median() else {
        return Entry::None;
    };
    match &s.view.no_median_interval {
        Some(why) => Entry::Remarked(text, why.clone()),
        None => Entry::Text(text),
    }
}

/// CPU time of each sleep, and missed periods, where something sleeps.
fn cost<'a>(grid: &Grid<'_>) -> Option<Block<'a>> {
    let costs = |r: &&GridRow<'_>| r.by_load.iter().flatten().any(has_cost);
    if !grid.rows.iter().any(|r| costs(&r)) {
        return None;
    }
    let mut columns: Vec<(Column, Of)> = vec![
        (
            Column::of("CPU"),
            Box::new(|s| s.cell.cpu_per_operation_ns().map(format_ns).into()),
        ),
        (
            Column::of("missed"),
            Box::new(|s| s.cell.missed_periods.map(count).into()),
        ),
    ];
    if grid.cells().any(|s| missed_any(&s)) {
        columns.push((Column::of("p99\u{2020}"), corrected_p99()));
    }
    let table = by_load(grid, grid.rows.iter().filter(costs), columns);
    let heading = "CPU time per sleep, and periods missed".to_owned();
    let part = Content::part(
        format!("{}-cost", grid.anchor()),
        Some(heading),
        vec![Content::Table(table).into()],
    );
    Some(part.on(Media::SCREEN))
}

/// Whether something slept: a busy loop uses CPU time, but not for that.
fn has_cost(s: &Shown<'_>) -> bool {
    let cost = s.cell.missed_periods.is_some() || s.cell.cpu_per_operation_ns().is_some();
    cost && s.view.stalls.is_none()
}

/// A table of rows of a grid, the columns once for each load.
fn by_load<'r, 'a: 'r>(
    grid: &Grid<'_>,
    rows: impl Iterator<Item = &'r GridRow<'a>>,
    columns: Vec<(Column, Of)>,
) -> Table {
    let row = |row: &GridRow<'_>| {
        let of_load = |shown: &Option<Shown<'_>>| {
            let entry = |of: &Of| shown.as_ref().map_or(Entry::None, of);
            columns.iter().map(|(_, of)| entry(of)).collect::<Vec<_>>()
        };
        Row::new(label(row), row.by_load.iter().flat_map(of_load).collect())
    };
    let rows = rows.map(row).collect();
    Table {
        head: "Method".to_owned(),
        by: "load",
        groups: grid
            .loads
            .iter()
            .map(|l| load_title(l).to_owned())
            .collect(),
        rows,
        columns: columns.into_iter().map(|c| c.0).collect(),
        style: Style::Numbers,
    }
}

/// A table with a row for each cell, below its load.
pub(super) fn below_loads(grid: &Grid<'_>, head: &str, columns: Vec<(Column, Of)>) -> Table {
    let mut rows = Vec::new();
    for (i, load) in grid.loads.iter().enumerate() {
        rows.push(Row::heading(load_title(load)));
        rows.extend(grid.rows.iter().filter_map(|row| {
            let shown = row.by_load[i].as_ref()?;
            let entries = columns.iter().map(|(_, of)| of(shown));
            Some(Row::new(label(row), entries.collect()))
        }));
    }
    Table::of(head, columns.into_iter().map(|c| c.0).collect(), rows)
        .by("load")
        .set(Style::Small)
}

/// Method and variant; where room is short timer slack, the usual variant, by its value alone.
fn label(row: &GridRow<'_>) -> Label {
    let name = if row.method.is_empty() {
        NONE
    } else {
        row.method
    };
    Label {
        name: name.to_owned(),
        variant: row.variant.clone(),
        short: row.variant.replace("slack ", ""),
        notes: Vec::new(),
    }
}

/// What the tables leave unsaid.
pub(super) fn footnotes<'a>(grids: &[Grid<'_>]) -> Vec<Block<'a>> {
    let cells = || grids.iter().flat_map(|g| g.cells());
    let any = |f: fn(&Shown<'_>) -> bool| cells().any(|s| f(&s));
    let mut notes = Vec::new();
    if any(|s| s.view.batched.is_some()) {
        notes.push(
            "Per read: median of reads timed in batches. The other columns are single reads between two counter readings and \
             contain the probe's own cost (floor); nothing is subtracted."
                .to_owned(),
        );
    }
    let floors = || cells().filter_map(|s| Cell::floor_ns(s.cell));
    if let (Some(low), Some(high)) = (floors().reduce(f64::min), floors().reduce(f64::max)) {
        let floor = match (format_ns(low), format_ns(high)) {
            (l, h) if l == h => l,
            (l, h) => format!("{l} to {h}"),
        };
        notes.push(format!("The probe's floor: {floor}."));
    }
    let few = |v: &CellView| {
        let measured = v.measured.as_ref();
        measured.is_some_and(|m| supported(m, 0.99, 0.0).is_none())
    };
    if cells().any(|s| few(s.view)) {
        notes.push(format!("{NONE} under p99: fewer than 100 samples."));
    }
    if any(|s| s.view.plotted().is_none() && s.view.packets.is_some()) {
        notes.push(format!(
            "{NONE} under median: no samples, each probe was lost or lacks a stamp there."
        ));
    }
    if any(|s| s.view.plotted().is_none() && s.view.packets.is_none()) {
        notes.push(format!(
            "{NONE} under median: no samples, the trials ended before the first that counts."
        ));
    }
    if any(|s| {
        s.cell
            .factors
            .get(factor::SLACK)
            .is_some_and(|l| l != "default")
    }) {
        notes.push("A time after a method's name is its timer slack.".to_owned());
    }
    if any(|s| has_cost(s) && s.cell.missed_periods.is_none()) {
        notes.push(format!(
            "{NONE} under missed: no absolute deadlines, so nothing to miss."
        ));
    }
    let mut blocks = Vec::new();
    if any(missed_any) {
        let note = "\u{2020} corrected for coordinated omission: missed periods count. Verdicts and findings go by it; the tables of latency are as measured.";
        notes.push(note.to_owned());
        blocks.push(Content::Note(note.to_owned()).on(Media::NOT_SCREEN));
    }
    if !notes.is_empty() {
        blocks.push(Content::Note(notes.join(" ")).on(Media::SCREEN));
    }
    blocks
}
