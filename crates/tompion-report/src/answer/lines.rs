//! Lines that the answer has for one machine and for several.

use tompion_assess::parts::{Part, Seen};
use tompion_assess::verdict::{LateUnder, Lateness, ProfileVerdict};
use tompion_model::{AT_REST, Environment, format_duration, format_ns, level_in_words};

use crate::data::ReportData;
use crate::figures::{plain, quantile_name};
use crate::limitations::{QuotaEffect, cpu_quota, early_end};
use crate::screen::{Paint, wrap};

/// Lines that it has at most.
pub const LINES: usize = 40;

/// Lines that follow it: where page and run lie.
pub const PLACES: usize = 3;

/// Loads that have a column; further ones are in the report.
pub const MOST_LOADS: usize = 3;

/// Columns of the name of a use or of a sleep.
pub const NAME: usize = 27;
/// Columns of a verdict or a latency.
pub const CELL: usize = 12;

/// Which machine, and how it was measured.
pub fn head(data: &ReportData, width: usize) -> Vec<String> {
    let record = data.record();
    let header = &record.header;
    let mut facts = vec![header.tool.clone()];
    facts.extend(machine(&header.environment));
    let ends = record.trials.iter().map(|t| t.started_ns + t.duration_ns);
    let seconds = ends.max().unwrap_or(0) / 1_000_000_000;
    facts.push(format!("{seconds} s, seed {}", header.design.seed));
    facts.retain(|fact| !fact.is_empty());
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        let fact = plain(&fact);
        match lines.last_mut() {
            Some(line) if line.chars().count() + fact.chars().count() + 3 <= width => {
                line.push_str("   ");
                line.push_str(&fact);
            }
            _ => lines.push(cut(&fact, width)),
        }
    }
    lines
}

/// The question of the screen, with its answer.
pub fn trust(verdict: &str, why: &str, width: usize, paint: &Paint) -> Vec<String> {
    let line = format!("Can you trust time here?   {verdict}: {why}");
    let wrapped = wrap(&line, width, "", "    ");
    let painted = wrapped.lines().map(|line| match verdict {
        "YES" => paint.good(line),
        _ => paint.warn(line),
    });
    painted.collect()
}

/// What the latencies of a table are.
pub fn late_title(lateness: &Lateness) -> String {
    format!(
        "Late by, {} ({} period)",
        quantile_name(lateness.quantile),
        level_in_words(&format_duration(lateness.period_ns))
    )
}

/// The name of a use, as rows have it.
pub fn use_title(p: &ProfileVerdict) -> String {
    plain(p.title.strip_prefix("a ").unwrap_or(&p.title))
}

/// All of it as text.
pub fn joined(lines: Vec<String>) -> String {
    let ended = lines
        .into_iter()
        .map(|line| line.trim_end().to_owned() + "\n");
    ended.collect()
}

/// What must not be overlooked.
pub fn alerts(data: &ReportData, width: usize) -> Vec<String> {
    let record = data.record();
    let mut alerts = Vec::new();
    if let Some(how) = crate::environment::emulation(&record.header.environment) {
        alerts.push(format!("EMULATED: {how}"));
    }
    if let Some(end) = early_end(data) {
        alerts.push(format!("{}: {}", end.title.to_uppercase(), end.measured));
    }
    let mistakes = record.mistakes().into_iter();
    alerts.extend(mistakes.map(|told| format!("WRITTEN WRONGLY: {told}")));
    if let Some((QuotaEffect::Felt, sentence)) = cpu_quota(data) {
        alerts.push(format!("CPU QUOTA: {sentence}"));
    }
    let short = |text: &String| cut(&plain(text), 2 * width - 4);
    let wrapped = alerts
        .iter()
        .map(|text| wrap(&short(text), width, "", "  "));
    let lines = wrapped.collect::<Vec<_>>().join("\n");
    lines.lines().map(str::to_owned).collect()
}

/// Clock, host, kernel, and what else goes on here.
pub fn parts(data: &ReportData, width: usize) -> Vec<String> {
    let Some(seen) = Seen::of_run(data.record()) else {
        return Vec::new();
    };
    let row = |part: &Part| {
        let (name, state) = (part.name, part.state.word());
        let sentence = plain(&part.sentence);
        // A space at least, after the longest word too.
        let mut line = format!("{name:<8}{state:<5} {sentence}");
        // Whole clauses, of which the first matter most.
        while line.chars().count() > width
            && let Some((most, _)) = line.rsplit_once("; ")
        {
            line = most.to_owned();
        }
        cut(&line, width)
    };
    tompion_assess::parts::parts(&seen)
        .iter()
        .map(row)
        .collect()
}

/// Under a load, in words.
pub fn under(load: &str) -> String {
    match load {
        AT_REST => "at rest".to_owned(),
        load => format!("under {} load", plain(load)),
    }
}

/// A latency of the table; what has too few samples has none.
pub fn late_in_words(late: &LateUnder) -> String {
    late.late_ns.map_or_else(|| "too few".to_owned(), format_ns)
}

/// A name, right-aligned cells, and what follows them.
pub fn table_row(name: &str, cells: impl Iterator<Item = String>, last: &str) -> String {
    let spaces = |text: &str, columns: usize| " ".repeat(columns.saturating_sub(columns_of(text)));
    let name = cut(name, NAME);
    let mut line = format!("{name}{}", spaces(&name, NAME));
    for cell in cells {
        line.push_str(&format!(" {}{cell}", spaces(&cell, CELL)));
    }
    // Spaces at the end would be beyond the last column where the row is painted.
    if !last.is_empty() {
        line.push(' ');
        line.push_str(last);
    }
    line
}

/// Columns that a text takes: some characters take two.
fn columns_of(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// At most `width` columns; what was cut is seen.
pub fn cut(text: &str, width: usize) -> String {
    if columns_of(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if columns_of(&kept) > width.saturating_sub(1) {
            kept.pop();
            break;
        }
    }
    kept + "\u{2026}"
}

/// The machine in a few facts.
fn machine(environment: &Environment) -> Vec<String> {
    let hypervisor = environment.virtualization.hypervisor.as_deref();
    let mut what = match hypervisor {
        Some(hypervisor) => format!("{hypervisor} guest"),
        None => "no hypervisor seen".to_owned(),
    };
    if let Some(kind) = &environment.container.kind {
        what = format!("{kind} in {what}");
    }
    let cpus = environment.machine.cpus_online.unwrap_or(0);
    let cpus = match cpus {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let model = environment.machine.cpu_model.as_deref().unwrap_or("");
    let kernel = environment.kernel.release.as_deref().unwrap_or("");
    let clocksource = environment.clock.clocksource.as_deref();
    let mut facts = vec![
        what,
        format!("{cpus} {model}").trim_end().to_owned(),
        format!("Linux {kernel}"),
    ];
    facts.extend(clocksource.map(|c| format!("clocksource {c}")));
    facts
}
