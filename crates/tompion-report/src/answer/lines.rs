//! Lines that the answer has for one machine and for several.

use tompion_assess::parts::{Part, Seen};
use tompion_assess::verdict::{LateUnder, Lateness, LoadVerdict, ProfileVerdict};
use tompion_model::{Environment, format_duration, format_ns, level_in_words};

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
/// Columns of a limit, which follows the cells of a use.
pub const LIMIT: usize = 14;

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

/// A period in more characters is rounded.
const LONG: usize = 7;

/// What the latencies of a table are.
pub fn late_title(lateness: &Lateness) -> String {
    let exact = level_in_words(&format_duration(lateness.period_ns));
    // A period such as 1/128 s has no short one.
    let period = match exact.chars().count() > LONG {
        true => format_ns(lateness.period_ns as f64),
        false => exact,
    };
    let quantile = quantile_name(lateness.quantile);
    let title = format!("Late by, {quantile} ({period} period)");
    match columns_of(&title) > NAME {
        true => format!("Late by, {quantile} ({period})"),
        false => title,
    }
}

/// The limit of a use, as its row has it: where its figure has many digits, these come nearer to the cell before.
pub fn limit_in_words(judged: &LoadVerdict) -> String {
    // Limits are round numbers: `40 µs`.
    let exact = format_ns(judged.limit_ns);
    let limit = match exact.split_once(' ') {
        Some((figure, unit)) if figure.contains('.') => {
            let figure = figure.trim_end_matches('0').trim_end_matches('.');
            format!("{figure} {unit}")
        }
        _ => exact,
    };
    let limit = format!("{limit:>6}");
    let told = format!("{:<5} {limit}", quantile_name(judged.quantile));
    format!("{told:>0$}", LIMIT - 1)
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
    // Of one machine the line of what goes on here says it.
    if let Some((QuotaEffect::Felt, sentence)) = cpu_quota(data)
        && Seen::of_run(record).is_none()
    {
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
        fitted(format!("{name:<8}{state:<5} {sentence}"), width)
    };
    tompion_assess::parts::parts(&seen)
        .iter()
        .map(row)
        .collect()
}

/// Without what there is no room for: whole clauses, of which the first matter most, then what stands in brackets.
fn fitted(mut line: String, width: usize) -> String {
    while columns_of(&line) > width
        && let Some((most, _)) = line.rsplit_once("; ")
    {
        line = most.to_owned();
    }
    if columns_of(&line) > width
        && let Some((before, (_, behind))) = line
            .split_once(" (")
            .and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
    {
        line = format!("{before}{behind}");
    }
    cut(&line, width)
}

/// A latency of the table: of blocks that disagree from which to which; what has too few samples has none.
pub fn late_in_words(late: &LateUnder) -> String {
    match (late.late_ns, late.range_ns) {
        (None, _) => "too few".to_owned(),
        (Some(_), Some([low, high])) => range_in_few_words(low, high),
        (Some(ns), None) => format_ns(ns),
    }
}

/// A line of the table of latencies.
pub struct LateLine {
    /// The line.
    pub text: String,
    /// Whether a range stands in it, for blocks that disagree.
    pub has_range: bool,
}

impl LateLine {
    /// The heading of the table.
    pub fn heading(text: String) -> Self {
        let has_range = false;
        Self { text, has_range }
    }
}

/// A line of the table of latencies: what was not measured has a dash.
pub fn late_line(name: &str, cells: &[Option<LateUnder>], widths: Widths) -> LateLine {
    let in_words =
        |cell: &Option<LateUnder>| cell.as_ref().map_or_else(|| "-".to_owned(), late_in_words);
    LateLine {
        text: table_row(name, cells.iter().map(in_words), widths, ""),
        has_range: cells.iter().flatten().any(LateUnder::is_range),
    }
}

/// In the unit of the second, for example `0.07-3.9 ms`: no wider than a cell.
fn range_in_few_words(low_ns: f64, high_ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "\u{b5}s"), (1.0, "ns")];
    let (scale, unit) = units
        .into_iter()
        .find(|(ns, _)| high_ns >= *ns)
        .unwrap_or((1.0, "ns"));
    let digits = |ns: f64| match ns / scale {
        x if x >= 9.95 => format!("{x:.0}"),
        x if x >= 0.995 => format!("{x:.1}"),
        x if x >= 0.005 => format!("{x:.2}"),
        _ => "0".to_owned(),
    };
    format!("{}-{} {unit}", digits(low_ns), digits(high_ns))
}

/// Columns of both tables: of the name of a row, and of each cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    pub name: usize,
    pub cell: usize,
}

impl Widths {
    /// What the longest of these names of cells takes, and of what is left beside them and `last` what the longest name of a row
    /// takes.
    pub fn within<'n>(
        width: usize,
        cells: impl Iterator<Item = &'n str>,
        rows: impl Iterator<Item = String>,
        last: usize,
    ) -> Self {
        let each: Vec<usize> = cells.map(|name| columns_of(&plain(name))).collect();
        let n = each.len();
        let room = width.saturating_sub(NAME + last) / n.max(1);
        let longest = each.into_iter().max().unwrap_or(0);
        let cell = longest.min(room.saturating_sub(1)).max(CELL);
        let left = width.saturating_sub(n * (cell + 1) + last);
        let name = rows.map(|row| columns_of(&row)).max().unwrap_or(0);
        let name = name.min(left).max(NAME);
        Self { name, cell }
    }
}

/// A name, right-aligned cells, and what follows them.
pub fn table_row(
    name: &str,
    cells: impl Iterator<Item = String>,
    widths: Widths,
    last: &str,
) -> String {
    let spaces = |text: &str, all: usize| " ".repeat(all.saturating_sub(columns_of(text)));
    let name = cut(name, widths.name);
    let mut line = format!("{name}{}", spaces(&name, widths.name));
    for cell in cells {
        line.push_str(&format!(" {}{cell}", spaces(&cell, widths.cell)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_no_wider_than_a_cell() {
        let of = |low_ns, high_ns| {
            let told = range_in_few_words(low_ns, high_ns);
            assert!(columns_of(&told) <= CELL, "{told}");
            told
        };
        assert_eq!(of(67e3, 3.9e6), "0.07-3.9 ms");
        assert_eq!(of(193e3, 410e3), "193-410 \u{b5}s");
        assert_eq!(of(999e3, 999e6), "1.0-999 ms");
        assert_eq!(of(40e3, 999e6), "0.04-999 ms");
        assert_eq!(of(2.0, 1.5e9), "0-1.5 s");
        assert_eq!(of(0.2, 0.5), "0.20-0.50 ns");
    }

    #[test]
    fn blocks_that_disagree_have_no_number_alone() {
        let late = |late_ns, range_ns| LateUnder {
            late_ns,
            range_ns,
            gain: None,
            helps: false,
        };
        assert_eq!(late_in_words(&late(Some(93e3), None)), format_ns(93e3));
        let range = Some([67e3, 3.9e6]);
        assert_eq!(late_in_words(&late(Some(93e3), range)), "0.07-3.9 ms");
        assert_eq!(late_in_words(&late(None, range)), "too few");
    }

    #[test]
    fn where_there_is_no_room_clauses_give_way_then_brackets_then_the_end() {
        let line = "Here warn other programs ran (12 %): 3.5 of 20 s; most: cc1; then sh";
        for (width, kept) in [
            (80, line),
            (
                65,
                "Here warn other programs ran (12 %): 3.5 of 20 s; most: cc1",
            ),
            (50, "Here warn other programs ran (12 %): 3.5 of 20 s"),
            (45, "Here warn other programs ran: 3.5 of 20 s"),
            (20, "Here warn other pro\u{2026}"),
        ] {
            assert_eq!(fitted(line.to_owned(), width), kept, "{width}");
        }
    }

    #[test]
    fn cells_are_as_wide_as_names_where_there_is_room() {
        let within = |names: &[&str], width, row: usize| {
            let rows = std::iter::once("x".repeat(row));
            Widths::within(width, names.iter().copied(), rows, LIMIT)
        };
        let of = |names: &[&str], width| within(names, width, 1).cell;
        let three = ["idle", "cpu:level=90,cpus=1", "network"];
        assert_eq!(of(&["idle", "busy", "network"], 100), CELL);
        assert_eq!(of(&three, 100), 18);
        assert_eq!(of(&three, 80), CELL);
        assert_eq!(of(&three, 200), 19);
        assert_eq!(of(&[], 80), CELL);
        // What they leave is for long names of uses.
        let usual = ["idle", "busy", "network"];
        for (width, row, name) in [(80, 40, NAME), (100, 40, 40), (100, 99, 47), (100, 9, NAME)] {
            assert_eq!(within(&usual, width, row).name, name, "{width}, {row}");
        }
    }

    #[test]
    fn a_limit_stands_apart_from_the_cell_before_it_where_its_figure_is_short() {
        let of = |limit_ns| {
            limit_in_words(&LoadVerdict {
                limit_ns,
                quantile: 0.999,
                ..LoadVerdict::default()
            })
        };
        assert_eq!(of(40e3), " p99.9  40 \u{b5}s");
        assert_eq!(of(1.2e3), " p99.9 1.2 \u{b5}s");
        assert_eq!(of(781_250.0), " p99.9 781 \u{b5}s");
        assert_eq!(of(1.25e6), "p99.9 1.25 ms");
    }
}
