//! The report as Markdown for a ticket: verdict, what hurts, tables; no plots.

mod measured;

use std::fmt::Write as _;

use tompion_record::format_ns;
use tompion_verdict::{Outcome, ProfileVerdict};

use crate::clock_right::clocks;
use crate::data::ReportData;
use crate::environment::{emulation, groups};
use crate::figures::{NONE, ns, percent, shell_words, times};
use crate::ladder::ladder;
use crate::limitations::{QuotaEffect, cpu_quota, early_end, limitations};
use crate::opening::Opening;
use crate::packet_budget::{RATES, READS_PER_PACKET, bit_rate, budgets};
use crate::platforms;
use crate::precision::{interval, rounded};
use crate::sections::{factors_in_words, load_title};
use crate::side_by_side;
use crate::time_lost::ranked;
use crate::verdicts::{self, Judged};

/// Lines of a ranking.
const MOST: usize = 12;

/// The report of a run as Markdown (GitHub's tables).
pub fn markdown(data: &ReportData) -> String {
    let header = &data.record().header;
    let mut out = String::new();
    let opening = Opening::of(data);
    let _ = writeln!(out, "# {}\n", plain(&opening.answer[0]));
    for sentence in opening.answer[1..].iter().chain(&opening.without_verdict) {
        let _ = writeln!(out, "{}\n", plain(sentence));
    }
    for (title, sentence) in warnings(data) {
        let _ = writeln!(out, "**{}**: {}\n", plain(title), plain(&sentence));
    }
    let mut facts = vec![header.started_at.clone(), header.tool.clone()];
    if !header.environment.hostname.is_empty() {
        facts.insert(0, header.environment.hostname.clone());
    }
    let _ = writeln!(out, "{}\n", plain(&facts.join(", ")));
    for note in &data.record().notes {
        let _ = writeln!(out, "{}\n", plain(&note.text));
    }
    platforms(&mut out, data);
    profiles(&mut out, data);
    hurts(&mut out, data);
    advice(&mut out, data);
    among(&mut out, data);
    budget(&mut out, data);
    clock(&mut out, data);
    measured::sections(&mut out, data);
    measured::loads(&mut out, data);
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

/// The platforms of a lab.
fn platforms(out: &mut String, data: &ReportData) {
    if let Some(found) = side_by_side::of_report(data) {
        let _ = writeln!(
            out,
            "## Platforms side by side\n\n{}\n",
            side_by_side::LEGEND
        );
        for of_cell in &found.tables {
            let _ = writeln!(out, "### {}\n", plain(&of_cell.title));
            let heads: Vec<&str> = found.heads.iter().map(String::as_str).collect();
            table(out, &heads, &of_cell.rows);
        }
    }
    let Some(summary) = platforms::of_report(data) else {
        return;
    };
    out.push_str("## Platforms by their maxima\n\n");
    for of_cell in platforms::tables(&summary) {
        let _ = writeln!(out, "### {}\n", plain(&of_cell.title));
        let rows: Vec<Vec<String>> = of_cell.rows.into_iter().map(Vec::from).collect();
        table(out, &platforms::HEADS, &rows);
    }
    for sentence in platforms::legend(&summary) {
        let _ = writeln!(out, "- {}", plain(&sentence));
    }
    out.push('\n');
}

/// What stands above everything on the page.
fn warnings(data: &ReportData) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    all.extend(early_end(data));
    all.extend(emulation(&data.record().header.environment).map(|how| ("Emulated machine", how)));
    if let Some((QuotaEffect::Felt, sentence)) = cpu_quota(data) {
        all.push(("CPU quota", sentence));
    }
    all
}

fn word(o: Outcome) -> &'static str {
    match o {
        Outcome::Pass => "✓ pass",
        Outcome::Fail => "✗ fail",
        Outcome::Inconclusive => "? inconclusive",
    }
}

fn profiles(out: &mut String, data: &ReportData) {
    let profiles = &data.assessment().profiles;
    if profiles.is_empty() {
        return;
    }
    out.push_str("## Is time good enough here?\n\n");
    if let Some(found) = verdicts::by_place(profiles) {
        let places = found.places.iter().map(String::as_str);
        let heads: Vec<&str> = std::iter::once("Use").chain(places).collect();
        let overall = |p: &Option<&ProfileVerdict>| p.map_or(NONE, |p| word(p.outcome)).to_owned();
        let rows = found.uses.iter().map(|of_use| {
            let title = std::iter::once(of_use.first().title.clone());
            title.chain(of_use.at.iter().map(overall)).collect()
        });
        table(out, &heads, &rows.collect::<Vec<_>>());
        out.push_str("### Each by itself\n\n");
    }
    let loads = verdicts::loads(profiles);
    let mut heads = vec!["Use", "Requirement", "Overall"];
    heads.extend(loads.iter().map(|l| load_title(l)));
    let rows: Vec<Vec<String>> = profiles
        .iter()
        .map(|p| {
            let mut row = vec![p.title(), p.requirement.clone(), word(p.outcome).to_owned()];
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
                let here = if r.own { " (this run)" } else { "" };
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
            let mut row = vec![format!("{}, {}", b.place(), b.way)];
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
