//! What held a running program up.

use tompion_cause::describe_cause;
use tompion_model::{CauseTotal, ProgramStalls, ProgramThread, format_ns};

use crate::blocks::{Block, Column, Content, Entry, Row, Table};
use crate::causes::by_name;
use crate::figures::count;
use crate::screen::printed;

/// Rows printed of each table; `--json` has all.
const MOST: usize = 10;

/// Attaching that takes longer than this is mentioned.
const NAMED_ATTACH_NS: u64 = 500_000_000;

/// Evidence without which lost time is not known.
const SWITCHES: &str = "context switches of the threads";

/// Tables for a terminal of `width` columns.
pub fn program_text(found: &ProgramStalls, width: usize) -> String {
    printed(width.max(60), false, &blocks(found))
}

fn blocks(found: &ProgramStalls) -> Vec<Block<'_>> {
    let attaching = match found.attach_ns {
        short if short < NAMED_ATTACH_NS => String::new(),
        ns => format!(", after {} of attaching", format_ns(ns as f64)),
    };
    let watched = format!(
        "{} [{}] was watched for {}{attaching}{}.",
        found.name,
        found.pid,
        format_ns(found.wall_ns as f64),
        if found.ended { ", until it ended" } else { "" },
    );
    let mut blocks: Vec<Block<'_>> = vec![
        Content::Text(watched).into(),
        Content::Text(summary(found)).into(),
    ];
    if found.unwatched_threads > 0 && found.lost_ns.is_some() {
        let what = format!(
            "The switches of {} of its {} threads could not be recorded; what those lost is not \
             counted.",
            count(found.unwatched_threads),
            count(found.threads.len() as u64)
        );
        blocks.push(Content::Text(what).into());
    }
    blocks.extend(causes(found));
    blocks.push(threads(found));
    if let more @ 1.. = found.threads.len().saturating_sub(MOST) {
        blocks.push(Content::Text(format!("and {more} more threads")).into());
    }
    if !found.longest.is_empty() {
        let title = "The longest, from the beginning of the watch:".to_owned();
        blocks.push(Content::Subheading(title).into());
        let longest = found.longest.iter().take(MOST).map(|stall| {
            let at = stall.at_ns as f64 / 1e9;
            format!("{at:>7.3} s  [{}]  {}", stall.tid, stall.because)
        });
        blocks.push(Content::List(longest.collect()).into());
    }
    let missing: Vec<String> = found
        .evidence
        .iter()
        .filter_map(|e| Some(format!("{} ({})", e.name, e.missing.as_deref()?)))
        .collect();
    if !missing.is_empty() {
        let what = format!("Evidence that was not available: {}.", missing.join("; "));
        blocks.push(Content::Text(what).into());
    }
    let cost = 100.0 * found.own_cpu_share;
    blocks.push(Content::Text(format!("Watching took {cost:.1} % of one CPU.")).into());
    blocks
}

fn causes<'a>(found: &ProgramStalls) -> Option<Block<'a>> {
    let lost_ns = found.lost_ns.unwrap_or(0).max(1) as f64;
    let row = |c: CauseTotal| {
        let entries = [
            format_ns(c.ns as f64),
            format!("{:.1} %", 100.0 * c.ns as f64 / lost_ns),
            count(c.parts),
            format_ns(c.longest_ns as f64),
        ];
        Row::of(describe_cause(c.cause, c.by.as_deref()), entries)
    };
    let rows: Vec<Row> = by_name(&found.causes)
        .into_iter()
        .take(MOST)
        .map(row)
        .collect();
    let columns = Column::all(["lost", "share", "times", "longest"]);
    (!rows.is_empty()).then(|| table("Cause", columns, rows))
}

fn threads<'a>(found: &ProgramStalls) -> Block<'a> {
    let length = |ns: Option<u64>| Entry::from(ns.map(|ns| format_ns(ns as f64)));
    let row = |t: &ProgramThread| {
        let entries = vec![
            Entry::Text(format_ns(t.cpu_time_ns as f64)),
            length(t.run_delay_ns),
            length(t.lost_ns),
            t.stalls.map(count).into(),
            length(t.longest_ns),
        ];
        Row::new(format!("{} [{}]", t.name, t.tid), entries)
    };
    let columns = Column::all(["CPU time", "run delay", "lost", "stalls", "longest"]);
    table(
        "Thread",
        columns,
        found.threads.iter().take(MOST).map(row).collect(),
    )
}

fn table<'a>(head: &str, columns: Vec<Column>, rows: Vec<Row>) -> Block<'a> {
    Content::Table(Table::of(head, columns, rows)).into()
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
        why
    )
}

#[cfg(test)]
mod tests {
    use tompion_model::{EvidenceItem, ProgramStall};

    use super::*;
    use crate::figures::NONE;

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
