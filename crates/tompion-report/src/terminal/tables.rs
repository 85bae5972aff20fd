//! The tables of the summary.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use tompion_record::{factor, format_ns};

use super::timer_events;
use super::{Paint, heading, wrap};
use crate::data::{ReportData, Shown};
use crate::figures::{NONE, count, ns, plain, supported};
use crate::sections::{Row, Section, TIMER_EVENTS, load_title, sections};

/// A rule below the headings is all the frame a table has.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// Widest number that `format_ns` writes, with the gap before it.
const NUMBER: usize = 8;

/// Heads the rows.
const HEADING: &str = "Method";

/// Median, p99 and maximum of one section, a group of columns for each load.
pub(super) fn section(out: &mut String, section: &Section<'_>, width: usize, paint: Paint) {
    heading(out, &wrap(&plain(&section.title()), width, "", ""), paint);
    let single = |s: &Shown<'_>| s.view.measured.clone();
    let mut columns: Vec<Column> = vec![
        (
            "median",
            Box::new(|s| s.view.median().unwrap_or_else(|| NONE.to_owned())),
        ),
        (
            "p99",
            Box::new(move |s| ns(single(s).and_then(|m| supported(&m, 0.99, m.p99_ns)))),
        ),
        ("max", Box::new(move |s| ns(single(s).map(|m| m.max_ns)))),
    ];
    if section.cells().any(|s| s.view.batched.is_some()) {
        let per_read = |s: &Shown<'_>| ns(s.view.batched.as_ref().map(|b| b.median_ns));
        columns.insert(0, ("per read*", Box::new(per_read)));
    }
    let rows: Vec<&Row<'_>> = section.rows.iter().collect();
    grid(out, section, &rows, &columns, width);
}

/// CPU time per sleep and missed periods, where something sleeps.
pub(super) fn cost_of_waiting(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    for section in sections(data) {
        if section.probe == TIMER_EVENTS {
            continue; // Their own table has both.
        }
        let costs = |r: &&Row<'_>| r.by_load.iter().flatten().any(has_cost);
        let rows: Vec<&Row<'_>> = section.rows.iter().filter(costs).collect();
        if rows.is_empty() {
            continue;
        }
        let title = format!(
            "CPU time per sleep, and periods missed: {}",
            section.title()
        );
        heading(out, &wrap(&plain(&title), width, "", ""), paint);
        let missed = |s: &Shown<'_>| {
            let missed = s.cell.missed_periods;
            missed.map_or_else(|| NONE.to_owned(), count)
        };
        let mut columns: Vec<Column> = vec![
            ("CPU", Box::new(|s| ns(s.cell.cpu_per_operation_ns()))),
            ("missed", Box::new(missed)),
        ];
        if section.cells().any(|s| missed_any(&s)) {
            let filled = |s: &Shown<'_>| {
                let filled = s.view.filled.as_ref();
                ns(filled.and_then(|f| supported(f, 0.99, f.p99_ns)))
            };
            columns.push(("p99\u{2020}", Box::new(filled)));
        }
        grid(out, &section, &rows, &columns, width);
    }
}

/// Whether something slept: a busy loop uses CPU time, but not for that.
fn has_cost(s: &Shown<'_>) -> bool {
    let cost = s.cell.missed_periods.is_some() || s.cell.cpu_per_operation_ns().is_some();
    cost && s.view.stalls.is_none()
}

/// Whether verdicts see other quantiles of this cell than the tables of latency.
pub(super) fn missed_any(s: &Shown<'_>) -> bool {
    s.cell.missed_periods.is_some_and(|n| n > 0) && s.view.filled.is_some()
}

/// A column's name, and what it shows of a cell.
type Column = (&'static str, Box<dyn Fn(&Shown<'_>) -> String>);

/// Rows of numbers, the columns once for each load; as many loads side by side
/// as fit, and where not even one does, as many columns.
fn grid(
    out: &mut String,
    section: &Section<'_>,
    rows: &[&Row<'_>],
    columns: &[Column],
    width: usize,
) {
    let labels = rows.iter().map(|r| label(r).chars().count());
    let label_width = labels.fold(HEADING.len(), usize::max);
    let room = width.saturating_sub(label_width);
    let load_width = |i: usize| plain(load_title(section.loads[i])).chars().count();
    // Columns that stand together have one more space before the first.
    let needs = |i: usize, some: &[Column]| {
        let numbers = some.iter().enumerate().map(|(c, column)| {
            let title = if c == 0 { load_width(i) } else { 0 };
            (column.0.chars().count().max(title) + 1).max(NUMBER)
        });
        numbers.sum::<usize>() + 1
    };
    let mut loads = 0..section.loads.len();
    while let Some(first) = loads.next() {
        let mut some = vec![first];
        let mut used = needs(first, columns);
        if used > room {
            for piece in pieces(columns, |piece| needs(first, piece) <= room) {
                block(out, section, rows, &some, piece);
            }
            continue;
        }
        while let Some(next) = loads.clone().next()
            && used + needs(next, columns) <= room
        {
            used += needs(next, columns);
            some.extend(loads.next());
        }
        block(out, section, rows, &some, columns);
    }
}

/// The longest runs of columns that fit, of one column at least.
fn pieces(columns: &[Column], fits: impl Fn(&[Column]) -> bool) -> Vec<&[Column]> {
    let mut pieces = Vec::new();
    let mut rest = columns;
    while !rest.is_empty() {
        let longest = (1..=rest.len()).rev().find(|n| fits(&rest[..*n]));
        let (piece, left) = rest.split_at(longest.unwrap_or(1));
        pieces.push(piece);
        rest = left;
    }
    pieces
}

/// One table: some loads with the same columns.
fn block(
    out: &mut String,
    section: &Section<'_>,
    rows: &[&Row<'_>],
    loads: &[usize],
    columns: &[Column],
) {
    let mut heads = vec![format!("\n{HEADING}")];
    for &i in loads {
        let load = plain(load_title(section.loads[i]));
        heads.extend(columns.iter().enumerate().map(|(n, c)| match n {
            0 => format!("{load}\n{}", c.0),
            _ => format!("\n{}", c.0),
        }));
    }
    let lines = rows.iter().map(|row| {
        let mut cells = vec![label(row)];
        for &i in loads {
            let shown = row.by_load[i].as_ref();
            cells.extend(
                columns
                    .iter()
                    .map(|c| shown.map_or_else(|| NONE.to_owned(), &c.1)),
            );
        }
        cells
    });
    out.push_str(&aligned(heads, lines, Some(columns.len())));
}

/// Method and variant; timer slack, the usual variant, by its value alone.
pub(super) fn label(row: &Row<'_>) -> String {
    plain(&row.label().replace(", slack ", ", "))
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
    if any(|s| s.view.plotted().is_none()) {
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
            "{NONE} under missed: no periodic grid, so nothing to miss."
        ));
    }
    if any(missed_any) {
        notes.push(
            "\u{2020} with the missed periods filled in, which verdicts and findings go by; the tables of latency are as measured."
                .to_owned(),
        );
    }
    if any(|s| s.view.timer.is_some()) {
        notes.push(timer_events::NOTE.to_owned());
    }
    if !notes.is_empty() {
        out.push('\n');
        out.push_str(&wrap(&notes.join(" "), width, "", ""));
        out.push('\n');
    }
}

/// A table without frames. With `group`, all columns but the first hold
/// numbers, aligned right, and every `group` of them stand apart.
pub(super) fn aligned(
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
