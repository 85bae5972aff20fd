//! Lines that the answer has for one machine and for several.

use tompion_assess::parts::{Part, Seen};
use tompion_assess::verdict::{LateUnder, Lateness, LoadVerdict, Outcome, ProfileVerdict};
use tompion_model::{Environment, format_duration, format_ns, level_in_words};

use super::steps::{Step, by_number, numbers, to_do};
use crate::data::ReportData;
use crate::figures::{plain, plural, quantile_name};
use crate::limitations::{QuotaEffect, cpu_quota, early_end};
use crate::screen::{Paint, wrap};

/// Lines that it has at most.
pub const LINES: usize = 40;

/// Lines that follow it: where page and run lie.
pub const PLACES: usize = 3;

/// Columns of the name of a use or of a sleep.
pub const NAME: usize = 27;
/// Columns of a verdict or a latency.
pub const CELL: usize = 12;

/// Uses that have a line before anything else gives way.
const USES: usize = 9;

/// What the figures of both tables are.
const LATE_BY: &str = "Late by: how late a sleep ends at a random moment; missed periods count. By FAIL: the same, \
                       at the quantile of the limit.";

/// What a screen says between its opening and its end.
pub struct Body<'a> {
    /// How late sleeps are: a heading and rows.
    pub late: Vec<String>,
    /// How many uses there are.
    pub uses: usize,
    /// A heading and the uses, in so many lines at most.
    pub fit: Box<dyn Fn(usize) -> Vec<String> + 'a>,
    /// What to do.
    pub steps: &'a [Step],
    /// What is said where there is nothing to do.
    pub nothing: &'a str,
    /// How much is decided, and what is left out.
    pub end: Vec<String>,
}

/// The screen, in at most [`LINES`] lines: where these do not hold all of it, first what explains the figures gives
/// way, then remedies in the table of latencies, then uses.
pub fn lay_out(opening: Vec<String>, body: Body<'_>, width: usize, paint: &Paint) -> String {
    let Body {
        mut late,
        uses,
        fit,
        steps,
        nothing,
        end,
    } = body;
    let explained = wrap(LATE_BY, width, "", "  ");
    let mut explained: Vec<String> = match late.is_empty() {
        true => Vec::new(),
        false => explained.lines().map(|line| paint.dim(line)).collect(),
    };
    let least = to_do(steps, nothing, width, 0, paint).len();
    // An empty line precedes each of the tables and the end.
    let room = |late: &[String], explained: &[String]| {
        let late = late.len() + usize::from(!late.is_empty());
        let taken = opening.len() + late + least + explained.len() + end.len() + 1 + PLACES;
        LINES.saturating_sub(taken + 1)
    };
    let needed = 1 + uses.min(USES) + usize::from(uses > USES);
    if room(&late, &explained) < needed {
        explained.clear();
    }
    while room(&late, &explained) < needed && late.len() > 2 {
        late.pop();
    }
    let fit = fit(room(&late, &explained).max(3));
    let mut lines = opening;
    for table in [late, fit] {
        if !table.is_empty() {
            lines.push(String::new());
            lines.extend(table);
        }
    }
    let last = explained.len() + end.len() + 1;
    let room = LINES.saturating_sub(lines.len() + last + PLACES);
    lines.extend(to_do(steps, nothing, width, room, paint));
    lines.push(String::new());
    lines.extend(explained);
    lines.extend(end);
    joined(lines)
}

/// What both begin with: the machine, whether time can be trusted, why not, what must not be overlooked, and the parts
/// of one machine.
pub fn opening(
    data: &ReportData,
    (verdict, why): &(&str, String),
    cause: &str,
    width: usize,
    paint: &Paint,
) -> Vec<String> {
    let mut lines = head(data, width);
    lines.push(String::new());
    lines.extend(trust(verdict, why, width, paint));
    let cause = wrap(cause, width, "", "  ");
    lines.extend(cause.lines().map(|line| paint.bold(line)));
    let alerts = alerts(data, width);
    lines.extend(alerts.iter().map(|line| paint.warn(line)));
    let parts = parts(data, width);
    if !parts.is_empty() {
        lines.push(String::new());
        lines.extend(parts);
    }
    lines
}

/// The uses in at most `room` lines with their heading: where these do not hold all, what fails first, then what is
/// open, and how many more there are.
pub fn uses_in<T>(
    heading: String,
    uses: &[T],
    room: usize,
    outcome: impl Fn(&T) -> Outcome,
    row: impl Fn(&T) -> String,
) -> Vec<String> {
    let mut lines = vec![heading];
    if uses.len() < room {
        lines.extend(uses.iter().map(row));
        return lines;
    }
    let mut sorted: Vec<&T> = uses.iter().collect();
    sorted.sort_by_key(|of_use| std::cmp::Reverse(outcome(of_use)));
    let shown = room.saturating_sub(2);
    lines.extend(sorted.iter().take(shown).map(|of_use| row(of_use)));
    let more = uses.len() - shown;
    let noun = plural(more as u64, "more use", "more uses");
    lines.push(format!("and {more} {noun}: tompion report"));
    lines
}

/// How many uses are fit: as they are, and with which steps.
#[derive(Default)]
pub struct Fit {
    /// As they are.
    pub as_it_is: usize,
    /// These and those with a remedy.
    pub all: usize,
    remedies: Vec<String>,
}

impl Fit {
    /// Of uses by what they come to: the outcome, and the remedies that are taken.
    pub fn of<'v>(uses: impl Iterator<Item = (Outcome, Vec<&'v LoadVerdict>)>) -> Self {
        let mut fit = Self::default();
        for (outcome, judged) in uses {
            fit.as_it_is += usize::from(outcome == Outcome::Pass);
            fit.all += usize::from(matches!(outcome, Outcome::Pass | Outcome::WithRemedy));
            if outcome == Outcome::WithRemedy {
                fit.remedies
                    .extend(judged.into_iter().filter_map(taken).map(str::to_owned));
            }
        }
        fit
    }

    /// ` (7 with steps 1 and 2)`; nothing where none is needed.
    pub fn with_steps(&self, steps: &[Step]) -> String {
        let numbers = numbers(steps, self.remedies.iter().map(String::as_str));
        let with = by_number(&numbers).unwrap_or_else(|| "a remedy".to_owned());
        match self.all > self.as_it_is {
            true => format!(" ({} with {with})", self.all),
            false => String::new(),
        }
    }
}

/// The remedy with which a verdict passes.
pub fn taken(judged: &LoadVerdict) -> Option<&str> {
    let remedy = judged.remedy.as_ref();
    let taken = remedy.filter(|_| judged.outcome == Outcome::WithRemedy);
    taken.map(|r| r.name.as_str())
}

/// Up to which limit uses fail, where all that do have tighter limits than those that do not.
pub fn tightest(profiles: &[&ProfileVerdict]) -> Option<String> {
    let limits = |fails: bool| {
        let of = profiles.iter().filter(move |p| {
            let name = &p.name;
            let everywhere = profiles.iter().filter(|other| other.name == *name);
            let mut judged = everywhere.flat_map(|p| &p.by_load);
            judged.any(|l| l.outcome == Outcome::Fail) == fails
        });
        of.filter_map(|p| Some(p.by_load.first()?.limit_ns))
    };
    let most = limits(true).reduce(f64::max)?;
    let least = limits(false).reduce(f64::min)?;
    let is_few = limits(true).count() < limits(false).count();
    let only = if is_few { "only " } else { "" };
    (most < least).then(|| format!("{only}limits of {} and less fail", format_ns(most)))
}

/// A verdict by its outcome, with how late it is where that is what counts.
pub fn with_figure(judged: &LoadVerdict) -> String {
    let late = judged.supported_estimate_ns().map(format_ns);
    match (judged.outcome, late) {
        (Outcome::Fail, Some(late)) => format!("FAIL {late}"),
        (Outcome::NearLimit, Some(late)) => format!("near {late}"),
        (outcome, _) => outcome.in_words().to_owned(),
    }
}

/// Which machine, and how it was measured.
fn head(data: &ReportData, width: usize) -> Vec<String> {
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
fn trust(verdict: &str, why: &str, width: usize, paint: &Paint) -> Vec<String> {
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
fn joined(lines: Vec<String>) -> String {
    let ended = lines
        .into_iter()
        .map(|line| line.trim_end().to_owned() + "\n");
    ended.collect()
}

/// What must not be overlooked.
fn alerts(data: &ReportData, width: usize) -> Vec<String> {
    let record = data.record();
    let mut alerts = Vec::new();
    if let Some(how) = crate::environment::emulation(&record.header.environment) {
        alerts.push(format!("EMULATED: {how}"));
    }
    if let Some((title, sentence)) = early_end(data) {
        alerts.push(format!("{}: {sentence}", title.to_uppercase()));
    }
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
fn parts(data: &ReportData, width: usize) -> Vec<String> {
    let Some(seen) = Seen::of_run(data.record()) else {
        return Vec::new();
    };
    let row = |part: &Part| {
        let (name, state) = (part.name, part.state.word());
        cut(
            &format!("{name:<8}{state:<6}{}", plain(&part.sentence)),
            width,
        )
    };
    tompion_assess::parts::parts(&seen)
        .iter()
        .map(row)
        .collect()
}

/// Under a load, in words.
pub fn under(load: &str) -> String {
    match load {
        "idle" => "at rest".to_owned(),
        load => format!("under {} load", plain(load)),
    }
}

/// A latency of the table; what has too few samples has none.
pub fn late_in_words(late: &LateUnder) -> String {
    late.late_ns.map_or_else(|| "too few".to_owned(), format_ns)
}

/// A name, right-aligned cells, and what follows them.
pub fn table_row(name: &str, cells: impl Iterator<Item = String>, last: &str) -> String {
    let mut line = format!("{:<NAME$}", cut(name, NAME));
    for cell in cells {
        line.push_str(&format!(" {cell:>CELL$}"));
    }
    // Spaces at the end would be beyond the last column where the row is painted.
    if !last.is_empty() {
        line.push_str("  ");
        line.push_str(last);
    }
    line
}

/// At most `width` characters; what was cut is seen.
pub fn cut(text: &str, width: usize) -> String {
    match text.chars().count() <= width {
        true => text.to_owned(),
        false => {
            let kept: String = text.chars().take(width.saturating_sub(1)).collect();
            kept + "\u{2026}"
        }
    }
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
