//! What was measured, section by section, and the loads beside it.

use std::fmt::Write as _;

use tompion_record::{Summary, factor};

use super::{plain, table};
use crate::data::{ReportData, Shown};
use crate::figures::{NONE, count, ns, real, supported};
use crate::holds;
use crate::loads::summaries;
use crate::sections::{Section, TIMER_EVENTS, load_title};
use crate::timer_events::columns;

/// A table a section.
pub(super) fn sections(out: &mut String, data: &ReportData) {
    let all = crate::sections::sections(data);
    for section in &all {
        cells(out, section);
        if section.probe == TIMER_EVENTS {
            timer_events(out, section);
        }
    }
    smallest_periods(out, data);
}

fn cells(out: &mut String, section: &Section<'_>) {
    let _ = writeln!(out, "## {}\n", plain(&section.title()));
    let single =
        |s: &Shown<'_>, of: fn(&Summary) -> Option<f64>| ns(s.view.measured.as_ref().and_then(of));
    let batched = section.cells().any(|s| s.view.batched.is_some());
    let mut heads = vec!["Method", "load", "samples", "median", "p99", "max"];
    if batched {
        heads.push("per read");
    }
    let mut rows = Vec::new();
    for row in &section.rows {
        for (load, shown) in section.loads.iter().zip(&row.by_load) {
            let Some(s) = shown else { continue };
            let samples = s.view.measured.as_ref().map_or(0, |m| m.samples);
            let mut cells = vec![
                row.label(),
                load_title(load).to_owned(),
                count(samples),
                s.view.median().unwrap_or_else(|| NONE.to_owned()),
                single(s, |m| supported(m, 0.99, m.p99_ns)),
                single(s, |m| Some(m.max_ns)),
            ];
            if batched {
                cells.push(ns(s.view.batched.as_ref().map(|b| b.median_ns)));
            }
            rows.push(cells);
        }
    }
    table(out, &heads, &rows);
    for s in section.cells() {
        if let Some(stalls) = &s.view.stalls {
            let load = load_title(s.cell.factors.level(factor::LOAD));
            let _ = writeln!(out, "- {}: {}", plain(load), plain(&stalls.in_words()));
        }
    }
    out.push('\n');
}

/// The paper's figures of timer events, in microseconds.
fn timer_events(out: &mut String, section: &Section<'_>) {
    let columns = columns(section);
    if columns.is_empty() {
        return;
    }
    let _ = writeln!(out, "### Intervals and time error, in µs\n");
    let mut heads = vec!["Mechanism", "load"];
    heads.extend(columns.iter().map(|c| c.title.as_str()));
    let mut rows = Vec::new();
    for (i, load) in section.loads.iter().enumerate() {
        for row in &section.rows {
            let Some(shown) = &row.by_load[i] else {
                continue;
            };
            let mut cells = vec![row.label(), load_title(load).to_owned()];
            cells.extend(
                columns
                    .iter()
                    .map(|c| (c.of)(shown).unwrap_or_else(|| NONE.to_owned())),
            );
            rows.push(cells);
        }
    }
    table(out, &heads, &rows);
}

fn smallest_periods(out: &mut String, data: &ReportData) {
    let found = holds::rows(data);
    if found.is_empty() {
        return;
    }
    let _ = writeln!(out, "## Smallest period held\n\n{}\n", plain(holds::NOTE));
    let rows: Vec<Vec<String>> = found
        .into_iter()
        .map(|r| {
            vec![
                r.mechanism,
                r.load,
                r.smallest,
                r.not_held,
                r.tried.to_string(),
            ]
        })
        .collect();
    table(
        out,
        &["Mechanism", "load", "held", "not held", "periods tried"],
        &rows,
    );
}

/// The proof that each load ran.
pub(super) fn loads(out: &mut String, data: &ReportData) {
    let loads = summaries(data);
    if loads.is_empty() {
        return;
    }
    out.push_str("## Did the loads run?\n\n");
    let rows: Vec<Vec<String>> = loads
        .iter()
        .map(|l| {
            let with = if l.is_part { "with " } else { "" };
            let operations = l.operations.as_ref();
            vec![
                format!("{with}{}", load_title(&l.load)),
                l.asked.clone(),
                operations.map_or_else(
                    || NONE.to_owned(),
                    |(rate, what)| format!("{} × {what}", real(*rate)),
                ),
                l.bytes_per_second
                    .map_or_else(|| NONE.to_owned(), |rate| real(rate / 1e6)),
                real(l.busy_cpus),
                real(l.context_switches_per_second),
                real(l.interrupts_per_second),
            ]
        })
        .collect();
    let heads = [
        "Load",
        "asked for",
        "operations/s",
        "MB/s",
        "CPUs kept busy",
        "context switches/s",
        "interrupts/s",
    ];
    table(out, &heads, &rows);
}
