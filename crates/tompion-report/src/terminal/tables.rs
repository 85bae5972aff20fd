//! The tables of the summary.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use tompion_record::{factor, format_ns};
use tompion_verdict::ProfileVerdict;

use super::{Paint, heading, judged_with, judgement, outcome, wrap};
use crate::data::{ReportData, Shown};
use crate::figures::{NONE, count, ns, plain, supported};
use crate::sections::{Row, Section, load_title, sections, sort_loads};

/// A rule below the headings is all the frame a table has.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// Widest number that `format_ns` writes, with the gap before it.
const NUMBER: usize = 8;

/// Median, p99 and maximum of one section, a group of columns for each load; as
/// many loads side by side as fit.
pub(super) fn section(out: &mut String, section: &Section<'_>, width: usize, paint: Paint) {
    let batched = section.cells().any(|s| s.view.batched.is_some());
    let mut names = vec!["median", "p99", "max"];
    if batched {
        names.insert(0, "per read*");
    }
    let group = names.len() * NUMBER + 1 + usize::from(batched);
    let loads: Vec<usize> = (0..section.loads.len()).collect();
    heading(out, &plain(&section.title()), paint);
    for some in loads.chunks(fitting(section, group, width)) {
        let mut heads = vec!["\nMethod".to_owned()];
        for &i in some {
            let load = plain(load_title(section.loads[i]));
            heads.extend(names.iter().enumerate().map(|(n, name)| match n {
                0 => format!("{load}\n{name}"),
                _ => format!("\n{name}"),
            }));
        }
        let rows = section.rows.iter().map(|row| {
            let mut cells = vec![label(row)];
            for &i in some {
                cells.extend(numbers(row.by_load[i].as_ref(), batched));
            }
            cells
        });
        out.push_str(&aligned(heads, rows, Some(names.len())));
    }
}

fn numbers(shown: Option<&Shown<'_>>, batched: bool) -> Vec<String> {
    let view = shown.map(|s| s.view);
    let single = view.and_then(|v| v.measured.as_ref());
    let mut cells = vec![
        ns(single.map(|m| m.median_ns)),
        ns(single.and_then(|m| supported(m, 0.99, m.p99_ns))),
        ns(single.map(|m| m.max_ns)),
    ];
    if batched {
        cells.insert(
            0,
            ns(view.and_then(|v| v.batched.as_ref()).map(|b| b.median_ns)),
        );
    }
    cells
}

/// Method and variant; timer slack, the usual variant, by its value alone.
fn label(row: &Row<'_>) -> String {
    plain(&row.label().replace(", slack ", ", "))
}

/// How many groups of `group` columns fit beside the labels.
fn fitting(section: &Section<'_>, group: usize, width: usize) -> usize {
    let label = section.rows.iter().map(|r| label(r).chars().count()).max();
    (width.saturating_sub(label.unwrap_or(0)) / group).max(1)
}

/// CPU time per sleep and missed periods, where something sleeps.
pub(super) fn cost_of_waiting(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    for section in sections(data) {
        let costs = |r: &&Row<'_>| r.by_load.iter().flatten().any(|s| has_cost(s));
        let rows: Vec<&Row<'_>> = section.rows.iter().filter(costs).collect();
        if rows.is_empty() {
            continue;
        }
        let title = format!(
            "CPU time per sleep, and periods missed: {}",
            section.title()
        );
        heading(out, &plain(&title), paint);
        let loads: Vec<usize> = (0..section.loads.len()).collect();
        for some in loads.chunks(fitting(&section, 2 * NUMBER + 1, width)) {
            let mut heads = vec!["\nMethod".to_owned()];
            for &i in some {
                heads.push(format!("{}\nCPU", plain(load_title(section.loads[i]))));
                heads.push("\nmissed".to_owned());
            }
            let lines = rows.iter().map(|row| {
                let mut cells = vec![label(row)];
                for &i in some {
                    let cell = row.by_load[i].map(|s| s.cell);
                    cells.push(ns(cell.and_then(|c| c.cpu_per_operation_ns())));
                    let missed = cell.and_then(|c| c.missed_periods);
                    cells.push(missed.map_or_else(|| NONE.to_owned(), count));
                }
                cells
            });
            out.push_str(&aligned(heads, lines, Some(2)));
        }
    }
}

fn has_cost(s: &Shown<'_>) -> bool {
    s.cell.missed_periods.is_some() || s.cell.cpu_per_operation_ns().is_some()
}

/// What the tables leave unsaid.
pub(super) fn footnotes(out: &mut String, data: &ReportData, width: usize) {
    let any = |f: fn(&Shown<'_>) -> bool| data.shown().any(|s| f(&s));
    let mut notes = Vec::new();
    if any(|s| s.view.batched.is_some()) {
        notes.push(
            "* per read: median of reads timed in batches. The other columns are single reads between two counter readings and \
             contain the probe's own cost (floor); nothing is subtracted."
                .to_owned(),
        );
    }
    let floors = || {
        data.cells()
            .iter()
            .filter_map(tompion_record::Cell::floor_ns)
    };
    if let (Some(low), Some(high)) = (floors().reduce(f64::min), floors().reduce(f64::max)) {
        let floor = match (format_ns(low), format_ns(high)) {
            (l, h) if l == h => l,
            (l, h) => format!("{l} to {h}"),
        };
        notes.push(format!("The probes' floor: {floor}."));
    }
    if any(|s| {
        s.view
            .measured
            .as_ref()
            .is_some_and(|m| supported(m, 0.99, 0.0).is_none())
    }) {
        notes.push(format!("{NONE} under p99: fewer than 100 samples."));
    }
    if any(|s| {
        s.cell
            .factors
            .get(factor::SLACK)
            .is_some_and(|l| l != "default")
    }) {
        notes.push("A time after a method's name is its timer slack.".to_owned());
    }
    if any(has_cost) {
        notes.push(format!(
            "{NONE} under missed: no periodic grid, so nothing to miss."
        ));
    }
    if !notes.is_empty() {
        out.push('\n');
        out.push_str(&wrap(&notes.join(" "), width, "", ""));
        out.push('\n');
    }
}

/// Fitness profiles with a check mark for each load.
pub(super) fn profiles(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let profiles = &data.assessment().profiles;
    if profiles.is_empty() {
        return;
    }
    let mut loads: Vec<&str> = profiles
        .iter()
        .flat_map(|p| p.by_load.iter().map(|l| l.load.as_str()))
        .collect();
    sort_loads(&mut loads);
    loads.dedup();
    heading(out, "Is time good enough here?", paint);
    let title = profiles
        .iter()
        .map(|p| plain(&p.title).chars().count())
        .max()
        .unwrap_or(0);
    // Title and outcome stand before the loads; a judgement takes 16 columns.
    let fit = (width.saturating_sub(title + 16) / 18).max(1);
    let mut table = String::new();
    let groups: Vec<&[&str]> = if loads.is_empty() {
        vec![&[]]
    } else {
        loads.chunks(fit).collect()
    };
    for some in groups {
        let mut heads = vec!["Use".to_owned(), "Overall".to_owned()];
        heads.extend(some.iter().map(|l| plain(load_title(l))));
        let rows = profiles.iter().map(|p| profile(p, some));
        table.push_str(&aligned(heads, rows, None));
    }
    out.push_str(&paint.glyphs(&table));
    for p in profiles {
        let with = judged_with(p);
        let with = if with.is_empty() {
            String::new()
        } else {
            format!("; judged with {with}")
        };
        let line = format!("{}: {}{with}", plain(&p.name), plain(&p.requirement));
        out.push_str(&paint.dim(&wrap(&plain(&line), width, "  ", "    ")));
        out.push('\n');
    }
    let missing = profiles
        .iter()
        .flat_map(|p| &p.by_load)
        .map(|v| v.samples_missing)
        .max();
    if let Some(n) = missing.filter(|n| *n > 0) {
        let more = format!(
            "Some verdicts need up to {} more samples; a longer run takes them.",
            count(n)
        );
        out.push_str(&wrap(&more, width, "", ""));
        out.push('\n');
    }
}

fn profile(p: &ProfileVerdict, loads: &[&str]) -> Vec<String> {
    let mut cells = vec![plain(&p.title), outcome(p.outcome).to_owned()];
    cells.extend(loads.iter().map(|load| {
        let verdict = p.by_load.iter().find(|v| v.load == **load);
        verdict.map_or_else(|| NONE.to_owned(), judgement)
    }));
    cells
}

/// A table without frames. With `group`, all columns but the first hold
/// numbers, aligned right, and every `group` of them stand apart.
fn aligned(
    heads: Vec<String>,
    rows: impl Iterator<Item = Vec<String>>,
    group: Option<usize>,
) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heads.into_iter().map(Cell::new));
    for row in rows {
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        let apart = group.is_some_and(|g| i > 0 && (i - 1) % g == 0);
        match (i, group) {
            (0, _) => {
                column.set_padding((0, 0));
            }
            (_, None) => {
                column.set_padding((2, 0));
            }
            _ => {
                column.set_padding((if apart { 2 } else { 1 }, 0));
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}
