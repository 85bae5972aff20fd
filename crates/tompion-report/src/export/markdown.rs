//! The report as Markdown for a ticket: verdict, what hurts, tables; no plots.

use std::fmt::Write as _;

use tompion_record::{Summary, factor, format_ns};
use tompion_verdict::Outcome;

use crate::clock_right::clocks;
use crate::data::{ReportData, Shown};
use crate::environment::groups;
use crate::figures::{NONE, interval, ns, percent, rounded, shell_words, supported, times};
use crate::ladder::ladder;
use crate::limitations::limitations;
use crate::packet_budget::{RATES, READS_PER_PACKET, bit_rate, budgets};
use crate::sections::{Section, factors_in_words, load_title, sections};
use crate::time_lost::ranked;
use crate::verdicts::{self, Judged};

/// Lines of a ranking.
const MOST: usize = 12;

/// The report of a run as Markdown (GitHub's tables).
pub fn markdown(data: &ReportData) -> String {
    let header = &data.record().header;
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n", plain(&data.assessment().headline));
    let mut facts = vec![header.started_at.clone(), header.tool.clone()];
    if !header.environment.hostname.is_empty() {
        facts.insert(0, header.environment.hostname.clone());
    }
    let _ = writeln!(out, "{}\n", plain(&facts.join(", ")));
    for note in &data.record().notes {
        let _ = writeln!(out, "{}\n", plain(note));
    }
    profiles(&mut out, data);
    hurts(&mut out, data);
    advice(&mut out, data);
    among(&mut out, data);
    budget(&mut out, data);
    clock(&mut out, data);
    for section in &sections(data) {
        cells(&mut out, section);
    }
    machine(&mut out, data);
    list(&mut out, "Limitations", &limitations(data));
    let _ = writeln!(
        out,
        "## Run it again\n\n    {}\n\nSeed {}.",
        shell_words(&header.command_line).replace('\n', " "),
        header.design.seed
    );
    out
}

/// Text that Markdown does not take for markup.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            c if c.is_control() => out.push('\u{fffd}'),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A table; the first column stands left, the others right.
fn table(out: &mut String, heads: &[&str], rows: &[Vec<String>]) {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(heads.iter().map(|h| plain(h)).collect()));
    let rule = (0..heads.len()).map(|i| if i == 0 { "---" } else { "---:" }.to_owned());
    out.push_str(&line(rule.collect()));
    for row in rows {
        out.push_str(&line(row.iter().map(|c| plain(c)).collect()));
    }
    out.push('\n');
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = writeln!(out, "## {title}\n");
        for item in items {
            let _ = writeln!(out, "- {}", plain(item));
        }
        out.push('\n');
    }
}

fn profiles(out: &mut String, data: &ReportData) {
    let profiles = &data.assessment().profiles;
    if profiles.is_empty() {
        return;
    }
    let loads = verdicts::loads(profiles);
    let word = |o: Outcome| match o {
        Outcome::Pass => "✓ pass",
        Outcome::Fail => "✗ fail",
        Outcome::Inconclusive => "? inconclusive",
    };
    out.push_str("## Is time good enough here?\n\n");
    let mut heads = vec!["Use", "Requirement", "Overall"];
    heads.extend(loads.iter().map(|l| load_title(l)));
    let rows: Vec<Vec<String>> = profiles
        .iter()
        .map(|p| {
            let mut row = vec![
                p.title.clone(),
                p.requirement.clone(),
                word(p.outcome).to_owned(),
            ];
            row.extend(verdicts::by_load(p, &loads).map(|v| {
                v.map_or_else(
                    || NONE.to_owned(),
                    |v| {
                        let why = match Judged::of(v) {
                            Judged::Value(q, value) => format!("{q} {value}"),
                            Judged::Beyond(q, limit) => format!("{q} > {limit}"),
                            Judged::TooFew(n) => format!("{n} more samples needed"),
                        };
                        format!("{}, {why}", word(v.outcome))
                    },
                )
            }));
            row
        })
        .collect();
    table(out, &heads, &rows);
}

fn hurts(out: &mut String, data: &ReportData) {
    let findings = &data.assessment().findings;
    let lines: Vec<String> = findings
        .iter()
        .map(|f| {
            format!(
                "{}: {} ({})",
                times(f.ratio),
                f.sentence,
                factors_in_words(&f.cell)
            )
        })
        .collect();
    list(out, "What hurts", &lines);
    let rows: Vec<Vec<String>> = ranked(data)
        .iter()
        .take(MOST)
        .map(|l| {
            vec![
                l.what.clone(),
                l.kind.word().to_owned(),
                l.load.clone(),
                percent(l.share),
                format_ns(l.longest_ns),
            ]
        })
        .collect();
    if !rows.is_empty() {
        out.push_str("## Time lost\n\n");
        table(
            out,
            &["Taken by", "while", "load", "of the time", "longest"],
            &rows,
        );
    }
}

fn advice(out: &mut String, data: &ReportData) {
    let lines: Vec<String> = data
        .assessment()
        .advice
        .iter()
        .map(|a| {
            let tried = if a.effective {
                ""
            } else {
                " (no effect shown)"
            };
            format!("{}{tried} How: {}. Price: {}.", a.sentence, a.how, a.price)
        })
        .collect();
    list(out, "Advice, tested in this run", &lines);
}

fn among(out: &mut String, data: &ReportData) {
    let Some(ladder) = ladder(data) else { return };
    let _ = writeln!(
        out,
        "## Among published machines\n\n{}\n",
        plain(&ladder.citation)
    );
    for panel in &ladder.panels {
        let _ = writeln!(
            out,
            "### {}, {}\n",
            plain(&panel.function),
            plain(&panel.load)
        );
        let rows: Vec<Vec<String>> = panel
            .rungs
            .iter()
            .map(|r| {
                let here = if r.own { " (this machine)" } else { "" };
                vec![
                    format!("{}{here}", r.label),
                    format_ns(r.median_ns),
                    ns(r.p99_ns),
                    format_ns(r.max_ns),
                ]
            })
            .collect();
        table(out, &["Platform", "median", "p99", "max"], &rows);
    }
    list(out, "Before comparing", &ladder.caveats);
}

fn budget(out: &mut String, data: &ReportData) {
    let budgets = budgets(data);
    if budgets.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "## Packet budget\n\nClock reads that fit into the time of a packet of 1500 bytes, and packets a second with {READS_PER_PACKET} reads and one sleep each.\n"
    );
    let mut heads = vec!["Load, functions"];
    heads.extend(RATES.iter().map(|r| r.0));
    heads.extend(["packets/s", "95 % interval", "as a rate"]);
    let rows: Vec<Vec<String>> = budgets
        .iter()
        .map(|b| {
            let mut row = vec![format!("{}, {}", load_title(&b.load), b.way)];
            row.extend(RATES.iter().map(|(_, ns)| {
                let fit = b.reads_that_fit(*ns);
                rounded(fit.value, fit.interval)
            }));
            let rate = b.packets_per_second();
            let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
            row.push(or_none(rate.map(|r| rounded(r.value, r.interval))));
            row.push(or_none(rate.and_then(|r| r.interval).map(interval)));
            row.push(or_none(rate.map(bit_rate)));
            row
        })
        .collect();
    table(out, &heads, &rows);
}

fn clock(out: &mut String, data: &ReportData) {
    let clocks = clocks(data);
    let _ = writeln!(
        out,
        "## Is the clock right?\n\n{}\n",
        plain(&clocks.answer())
    );
    for (label, value) in clocks.rows() {
        let _ = writeln!(out, "- {}: {}", plain(label), plain(&value));
    }
    out.push('\n');
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
                crate::figures::count(samples),
                single(s, |m| Some(m.median_ns)),
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

fn machine(out: &mut String, data: &ReportData) {
    out.push_str("## The machine\n\n");
    for group in groups(&data.record().header.environment) {
        let rows: Vec<String> = group
            .rows
            .iter()
            .map(|(label, value)| format!("{label}: {value}"))
            .collect();
        if !rows.is_empty() {
            let _ = writeln!(
                out,
                "- **{}**: {}",
                plain(&group.title),
                plain(&rows.join("; "))
            );
        }
    }
    out.push('\n');
    list(out, "Guards", &data.record().header.guards);
}
