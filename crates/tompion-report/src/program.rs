//! What held a running program up, for a terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use tompion_cause::describe_cause;
use tompion_record::{ProgramStalls, format_ns};

use crate::causes::by_name;
use crate::figures::{NONE, count, plain};

/// Rows printed of each table; `--json` has all.
const MOST: usize = 10;

/// Tables for a terminal of `width` columns.
pub fn program_text(found: &ProgramStalls, width: usize) -> String {
    let mut out = format!(
        "{} [{}] was watched for {}{}.\n",
        plain(&found.name),
        found.pid,
        format_ns(found.wall_ns as f64),
        if found.ended { ", until it ended" } else { "" },
    );
    let switches = found
        .evidence
        .iter()
        .find(|e| e.name.contains("context switches of the threads"));
    match switches.and_then(|e| e.missing.as_deref()) {
        Some(why) => out.push_str(&format!(
            "Its switches could not be recorded ({}): what it lost is known from counters alone.\n",
            plain(why)
        )),
        None => out.push_str(&format!(
            "Its threads lost {} together, in {} stalls: they could have run, and did not.\n",
            format_ns(found.lost_ns as f64),
            count(found.stalls)
        )),
    }
    if !found.causes.is_empty() {
        let rows = by_name(&found.causes).into_iter().take(MOST).map(|c| {
            vec![
                plain(&describe_cause(c.cause, c.by.as_deref())),
                format_ns(c.ns as f64),
                format!("{:.1} %", 100.0 * c.ns as f64 / found.lost_ns.max(1) as f64),
                count(c.parts),
                format_ns(c.longest_ns as f64),
            ]
        });
        out.push_str(&table(
            &["Cause", "lost", "share", "times", "longest"],
            rows,
        ));
    }
    let rows = found.threads.iter().take(MOST).map(|t| {
        vec![
            format!("{} [{}]", plain(&t.name), t.tid),
            format_ns(t.cpu_time_ns as f64),
            t.run_delay_ns
                .map_or_else(|| NONE.to_owned(), |ns| format_ns(ns as f64)),
            format_ns(t.lost_ns as f64),
            count(t.stalls),
            format_ns(t.longest_ns as f64),
        ]
    });
    out.push_str(&table(
        &[
            "Thread",
            "CPU time",
            "run delay",
            "lost",
            "stalls",
            "longest",
        ],
        rows,
    ));
    if !found.longest.is_empty() {
        out.push_str("\nThe longest, from the beginning of the watch:\n");
    }
    for stall in found.longest.iter().take(MOST) {
        let head = format!("{:>9.3} s  [{}]  ", stall.at_ns as f64 / 1e9, stall.tid);
        let indent = " ".repeat(head.len());
        let options = textwrap::Options::new(width.max(60))
            .initial_indent(&head)
            .subsequent_indent(&indent);
        out.push_str(&textwrap::fill(&plain(&stall.because), options));
        out.push('\n');
    }
    let missing: Vec<String> = found
        .evidence
        .iter()
        .filter_map(|e| Some(format!("{} ({})", e.name, e.missing.as_deref()?)))
        .collect();
    if !missing.is_empty() {
        out.push_str(&format!(
            "\nEvidence not to be had: {}.\n",
            plain(&missing.join("; "))
        ));
    }
    out.push_str(&format!(
        "Watching took {:.1} % of one CPU.\n",
        100.0 * found.own_cpu_share
    ));
    out
}

/// Aligned columns; numbers to the right.
fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heads.iter().map(Cell::new));
    rows.for_each(|row| {
        table.add_row(row);
    });
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 0 } else { 2 }, 0));
        if i > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("\n{}\n", table.trim_fmt())
}
