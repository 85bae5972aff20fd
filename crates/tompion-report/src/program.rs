//! What held a running program up, for a terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use tompion_cause::describe_cause;
use tompion_record::{ProgramStalls, format_ns};

use crate::causes::by_name;
use crate::figures::{NONE, count, plain};

/// Rows printed of each table; `--json` has all.
const MOST: usize = 10;

/// Attaching that takes longer than this is told.
const TOLD_ATTACH_NS: u64 = 500_000_000;

/// Evidence without which lost time is not known.
const SWITCHES: &str = "context switches of the threads";

/// Tables for a terminal of `width` columns.
pub fn program_text(found: &ProgramStalls, width: usize) -> String {
    let width = width.max(60);
    let mut out = wrapped(
        &format!(
            "{} [{}] was watched for {}{}{}.",
            plain(&found.name),
            found.pid,
            format_ns(found.wall_ns as f64),
            if found.attach_ns < TOLD_ATTACH_NS {
                String::new()
            } else {
                format!(", after {} of attaching", format_ns(found.attach_ns as f64))
            },
            if found.ended { ", until it ended" } else { "" },
        ),
        width,
    );
    out.push_str(&wrapped(&summary(found), width));
    if found.unwatched_threads > 0 && found.lost_ns.is_some() {
        let what = format!(
            "The switches of {} of its {} threads could not be recorded; what those lost is not \
             counted.",
            count(found.unwatched_threads),
            count(found.threads.len() as u64)
        );
        out.push_str(&wrapped(&what, width));
    }
    if !found.causes.is_empty() {
        let lost_ns = found.lost_ns.unwrap_or(0).max(1) as f64;
        let rows = by_name(&found.causes).into_iter().take(MOST).map(|c| {
            vec![
                plain(&describe_cause(c.cause, c.by.as_deref())),
                format_ns(c.ns as f64),
                format!("{:.1} %", 100.0 * c.ns as f64 / lost_ns),
                count(c.parts),
                format_ns(c.longest_ns as f64),
            ]
        });
        out.push_str(&table(
            &["Cause", "lost", "share", "times", "longest"],
            rows,
        ));
    }
    let length = |ns: Option<u64>| ns.map_or_else(|| NONE.to_owned(), |ns| format_ns(ns as f64));
    let rows = found.threads.iter().take(MOST).map(|t| {
        vec![
            format!("{} [{}]", plain(&t.name), t.tid),
            format_ns(t.cpu_time_ns as f64),
            length(t.run_delay_ns),
            length(t.lost_ns),
            t.stalls.map_or_else(|| NONE.to_owned(), count),
            length(t.longest_ns),
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
    if found.threads.len() > MOST {
        out.push_str(&format!(
            "and {} more threads\n",
            found.threads.len() - MOST
        ));
    }
    if !found.longest.is_empty() {
        out.push_str("\nThe longest, from the beginning of the watch:\n");
    }
    for stall in found.longest.iter().take(MOST) {
        let head = format!("{:>9.3} s  [{}]  ", stall.at_ns as f64 / 1e9, stall.tid);
        let indent = " ".repeat(head.len());
        let options = textwrap::Options::new(width)
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
        let what = format!("Evidence not to be had: {}.", plain(&missing.join("; ")));
        out.push('\n');
        out.push_str(&wrapped(&what, width));
    }
    out.push_str(&format!(
        "Watching took {:.1} % of one CPU.\n",
        100.0 * found.own_cpu_share
    ));
    out
}

/// What is known of the lost time as a whole.
fn summary(found: &ProgramStalls) -> String {
    if let Some((lost_ns, stalls)) = found.lost_ns.zip(found.stalls) {
        return format!(
            "Its threads lost {} together, in {} stalls: they could have run, and did not, or \
             were stopped.",
            format_ns(lost_ns as f64),
            count(stalls)
        );
    }
    let mut evidence = found.evidence.iter();
    let why = evidence
        .find(|e| e.name == SWITCHES)
        .and_then(|e| e.missing.as_deref())
        .unwrap_or("no thread was there to be watched");
    let delay = match found.run_delay_ns {
        Some(ns) => format!(
            "its threads could have run for {} together, and did not",
            format_ns(ns as f64)
        ),
        None => "the kernel does not count how long its threads could have run".to_owned(),
    };
    let throttled = match found.throttled_ns {
        Some(ns) => format!(
            "; its control group stood still for want of CPU quota for {}, all CPUs added",
            format_ns(ns as f64)
        ),
        None => String::new(),
    };
    format!(
        "Its switches could not be recorded ({}): what it lost, and why, is not known. By the \
         kernel's counters {delay}{throttled}.",
        plain(why)
    )
}

fn wrapped(text: &str, width: usize) -> String {
    format!("{}\n", textwrap::fill(text, width))
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

#[cfg(test)]
mod tests {
    use tompion_record::{EvidenceItem, ProgramStall, ProgramThread};

    use super::*;

    fn evidence(name: &str, missing: Option<&str>) -> EvidenceItem {
        EvidenceItem {
            name: name.to_owned(),
            missing: missing.map(str::to_owned),
        }
    }

    fn found() -> ProgramStalls {
        ProgramStalls {
            pid: 7,
            name: "db".to_owned(),
            wall_ns: 3_000_000_000,
            lost_ns: Some(40_000_000),
            stalls: Some(8),
            run_delay_ns: Some(2_380_000_000),
            throttled_ns: Some(0),
            threads: vec![ProgramThread {
                tid: 7,
                name: "db".to_owned(),
                cpu_time_ns: 1_000_000,
                run_delay_ns: Some(2_380_000_000),
                lost_ns: Some(40_000_000),
                stalls: Some(8),
                longest_ns: Some(6_000_000),
            }],
            ..ProgramStalls::default()
        }
    }

    /// As one line, however it was wrapped.
    fn joined(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_not_known_is_a_dash_and_not_a_zero() {
        let mut found = found();
        found.evidence = vec![evidence(SWITCHES, Some("not permitted"))];
        (found.lost_ns, found.stalls, found.unwatched_threads) = (None, None, 1);
        let thread = &mut found.threads[0];
        (thread.lost_ns, thread.stalls, thread.longest_ns) = (None, None, None);
        let text = program_text(&found, 80);
        let row = text.lines().find(|l| l.starts_with("db [7]  ")).unwrap();
        assert_eq!(row.matches(NONE).count(), 3, "{row}");
        let told = joined(&text);
        assert!(
            told.contains("could not be recorded (not permitted)"),
            "{text}"
        );
        assert!(
            told.contains("could have run for 2.38 s together"),
            "{text}"
        );
        assert!(told.contains("for want of CPU quota for 0 ns"), "{text}");
        assert!(!told.contains("lost 0 ns"), "{text}");
    }

    #[test]
    fn some_threads_that_could_not_be_watched_are_counted() {
        let mut found = found();
        found.unwatched_threads = 1;
        found.attach_ns = 2_000_000_000;
        let text = joined(&program_text(&found, 80));
        assert!(
            text.contains("was watched for 3.00 s, after 2.00 s of attaching."),
            "{text}"
        );
        assert!(
            text.contains("lost 40.0 ms together, in 8 stalls"),
            "{text}"
        );
        assert!(
            text.contains("The switches of 1 of its 1 threads could not be"),
            "{text}"
        );
    }

    #[test]
    fn every_line_of_words_keeps_to_the_width() {
        let mut found = found();
        let names = ["page faults of the threads", "events of the CPUs", SWITCHES];
        let why = Some("some were lost for want of room");
        found.evidence = names.iter().map(|n| evidence(n, why)).collect();
        found.longest = vec![ProgramStall {
            tid: 7,
            at_ns: 0,
            ns: 1,
            because: "preempted by another for 1.00 ms, ".repeat(5),
        }];
        for lost in [Some(1), None] {
            (found.lost_ns, found.stalls) = (lost, lost);
            let text = program_text(&found, 80);
            assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        }
    }
}
