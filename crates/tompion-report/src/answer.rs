//! The answer on one screen: whether time can be trusted here, for what, why not, and what to do.
//!
//! At most [`LINES`] lines; none is lost at 80 columns.

use tompion_assess::parts::{Part, Seen, parts};
use tompion_assess::verdict::remedies::REMEDIES;
use tompion_assess::verdict::{
    LateUnder, Lateness, LatenessRow, LoadVerdict, Outcome, ProfileVerdict, lateness,
};
use tompion_assess::wall_clock::wall_clock;
use tompion_model::{Environment, format_duration, format_ns, level_in_words};

use crate::data::ReportData;
use crate::figures::{plain, quantile_name};
use crate::grid::all_loads;
use crate::limitations::{QuotaEffect, cpu_quota, early_end};
use crate::screen::{Paint, wrap};
use crate::verdicts;

/// Lines that it has at most.
pub const LINES: usize = 40;

/// Lines that follow it: where page and run lie.
const PLACES: usize = 3;

/// Loads that have a column; further ones are in the report.
const MOST_LOADS: usize = 3;

/// Columns of the name of a use or of a sleep.
const NAME: usize = 27;
/// Columns of a verdict or a latency.
const CELL: usize = 12;

/// The answer that a run gives, for a terminal of `width` columns (80 to 100 are used), without where
/// the page lies.
pub fn answer(data: &ReportData, width: usize, color: bool) -> String {
    Answer::of(data).text(width, color)
}

/// What is said, before it is laid out.
pub(crate) struct Answer<'a> {
    data: &'a ReportData,
    /// The loads shown, in reading order.
    loads: Vec<String>,
    lateness: Option<Lateness>,
    advice: Vec<Step>,
}

/// Something to do.
struct Step {
    /// The remedy as verdicts name it; nothing for what helps the clock.
    remedy: Option<String>,
    what: String,
    /// What it was shown to do, and what it costs.
    effect: String,
}

impl<'a> Answer<'a> {
    pub(crate) fn of(data: &'a ReportData) -> Self {
        let profiles = &data.assessment().profiles;
        let mut loads = verdicts::loads(profiles);
        if loads.is_empty() {
            loads = all_loads(data);
        }
        let loads = loads.into_iter().map(str::to_owned).collect();
        let lateness = match data.record().platforms.is_empty() {
            true => lateness(data.cells()),
            false => None,
        };
        let advice = steps(data, lateness.as_ref());
        Self {
            data,
            loads,
            lateness,
            advice,
        }
    }

    fn text(&self, width: usize, color: bool) -> String {
        let width = width.clamp(80, 100);
        let paint = Paint { color };
        let mut lines = self.head(width);
        lines.push(String::new());
        let (verdict, why) = self.verdict();
        let line = format!("Can you trust time here?   {verdict}: {why}");
        let indent = " ".repeat(27);
        let wrapped = wrap(&line, width, "", &indent);
        lines.extend(wrapped.lines().map(|line| match verdict {
            "YES" => paint.good(line),
            _ => paint.warn(line),
        }));
        lines.extend(self.alerts(width).iter().map(|line| paint.warn(line)));
        let parts = self.parts(width);
        if !parts.is_empty() {
            lines.push(String::new());
            lines.extend(parts);
        }
        lines.extend(self.late(&paint));
        lines.extend(self.fit(&paint));
        let mut last = vec![String::new()];
        if self.lateness.is_some() {
            let text = "Late by: how late a sleep ends at a random moment; missed periods count.";
            last.push(paint.dim(text));
        }
        let decided = wrap(&self.decided(), width, "", "  ");
        last.extend(decided.lines().map(str::to_owned));
        let room = LINES.saturating_sub(lines.len() + last.len() + PLACES);
        lines.extend(self.to_do(width, room, &paint));
        lines.extend(last);
        lines
            .into_iter()
            .map(|line| line.trim_end().to_owned() + "\n")
            .collect()
    }

    /// Which machine, and how it was measured.
    fn head(&self, width: usize) -> Vec<String> {
        let record = self.data.record();
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

    /// One word, and the reasons.
    pub(crate) fn verdict(&self) -> (&'static str, String) {
        let profiles = &self.data.assessment().profiles;
        if profiles.iter().all(|p| p.by_load.is_empty()) {
            return (
                "NOT KNOWN",
                "no sleep was measured at the period of a use".to_owned(),
            );
        }
        let clock = wall_clock(&self.data.record().header.environment);
        let clock_is_off = clock.is_some_and(|c| c.in_step == Some(false));
        let count = |load: &str, which: fn(Outcome) -> bool| {
            let under =
                |p: &&ProfileVerdict| p.by_load.iter().any(|l| l.load == load && which(l.outcome));
            profiles.iter().filter(under).count()
        };
        let fit = |load: &str| count(load, |o| matches!(o, Outcome::Pass | Outcome::WithRemedy));
        let n = profiles.len();
        let mut clauses = Vec::new();
        if clock_is_off {
            clauses.push("the clock is not synchronised".to_owned());
        }
        let of_load = |(i, load): (usize, &String)| {
            let uses = if i == 0 { " uses" } else { "" };
            format!("{} of {n}{uses} {}", fit(load), under(load))
        };
        let fits: Vec<String> = self.loads.iter().enumerate().map(of_load).collect();
        clauses.push(format!("fit for {}", fits.join(", ")));
        if self.loads == ["idle"] {
            clauses.push("measured at rest only".to_owned());
        }
        let fit_in_all = self.loads.iter().all(|load| fit(load) == n);
        let fit_in_none = self.loads.iter().all(|load| fit(load) == 0);
        let word = match (fit_in_all, fit_in_none) {
            (true, _) if !clock_is_off => "YES",
            (_, true) => "NO",
            _ => "PARTLY",
        };
        (word, clauses.join("; "))
    }

    /// What must not be overlooked.
    fn alerts(&self, width: usize) -> Vec<String> {
        let record = self.data.record();
        let mut alerts = Vec::new();
        if let Some(how) = crate::environment::emulation(&record.header.environment) {
            alerts.push(format!("EMULATED: {how}"));
        }
        if let Some((title, sentence)) = early_end(self.data) {
            alerts.push(format!("{}: {sentence}", title.to_uppercase()));
        }
        if let Some((QuotaEffect::Felt, sentence)) = cpu_quota(self.data) {
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
    fn parts(&self, width: usize) -> Vec<String> {
        let Some(seen) = Seen::of_run(self.data.record()) else {
            return Vec::new();
        };
        let row = |part: &Part| {
            let (name, state) = (part.name, part.state.word());
            cut(
                &format!("{name:<8}{state:<6}{}", plain(&part.sentence)),
                width,
            )
        };
        parts(&seen).iter().map(row).collect()
    }

    /// How late sleeps are, as they are and with remedies.
    fn late(&self, paint: &Paint) -> Vec<String> {
        let Some(lateness) = &self.lateness else {
            return Vec::new();
        };
        let title = format!(
            "Late by, {} ({} period)",
            quantile_name(lateness.quantile),
            level_in_words(&format_duration(lateness.period_ns))
        );
        let mut lines = vec![String::new(), self.heading(&title, "", paint)];
        for row in &lateness.rows {
            let cells = self.shown().map(|load| {
                let at = lateness.loads.iter().position(|l| l == load);
                let under = at.and_then(|i| row.by_load[i]);
                under.map_or_else(|| "-".to_owned(), |u| late_in_words(&u))
            });
            lines.push(table_row(&row.name, cells, ""));
        }
        lines
    }

    /// What time is good enough for.
    fn fit(&self, paint: &Paint) -> Vec<String> {
        let profiles = &self.data.assessment().profiles;
        let mut lines = vec![String::new(), self.heading("Fit for", "limit", paint)];
        if verdicts::by_place(profiles).is_some() {
            lines.pop();
            lines.push("Several platforms: each by itself in the report.".to_owned());
            return lines;
        }
        for p in profiles {
            let cells = self.shown().map(|load| {
                let found = p.by_load.iter().find(|l| l.load == *load);
                found.map_or_else(
                    || Outcome::NotMeasured.in_words().to_owned(),
                    |l| self.in_words(l),
                )
            });
            let limit = p
                .by_load
                .first()
                .map(|l| format!("{:<6} {}", quantile_name(l.quantile), format_ns(l.limit_ns)));
            let title = p.title.strip_prefix("a ").unwrap_or(&p.title);
            let limit = limit.unwrap_or_default();
            lines.push(table_row(&plain(title), cells, &limit));
        }
        lines
    }

    fn in_words(&self, verdict: &LoadVerdict) -> String {
        match (&verdict.outcome, &verdict.remedy) {
            (Outcome::WithRemedy, Some(remedy)) => {
                let is_it = |s: &Step| s.remedy.as_deref() == Some(remedy.name.as_str());
                match self.advice.iter().position(is_it) {
                    Some(i) => format!("with {}", i + 1),
                    None => "with remedy".to_owned(),
                }
            }
            (outcome, _) => outcome.in_words().to_owned(),
        }
    }

    fn to_do(&self, width: usize, room: usize, paint: &Paint) -> Vec<String> {
        if self.advice.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![String::new(), paint.bold("Do now")];
        let numbered = |(i, step): (usize, &Step)| {
            let first = format!("  {}  ", i + 1);
            let what = wrap(&plain(&step.what), width, &first, "     ");
            let effect = wrap(&plain(&step.effect), width, "     ", "     ");
            [what, effect].join("\n")
        };
        let whole: Vec<String> = self.advice.iter().enumerate().map(numbered).collect();
        let whole: Vec<&str> = whole.iter().flat_map(|step| step.lines()).collect();
        if lines.len() + whole.len() <= room {
            lines.extend(whole.into_iter().map(str::to_owned));
            return lines;
        }
        // Verdicts name them by number: each has a line at least.
        let short =
            |(i, step): (usize, &Step)| cut(&format!("  {}  {}", i + 1, plain(&step.what)), width);
        lines.extend(self.advice.iter().enumerate().map(short));
        if lines.len() < room {
            lines.push("     What they gain and cost: tompion report".to_owned());
        }
        lines
    }

    /// How many verdicts there are, over how long passes were watched, and what would bring the others.
    fn decided(&self) -> String {
        let profiles = &self.data.assessment().profiles;
        let all = profiles.len() * self.loads.len();
        let decided = profiles.iter().flat_map(|p| &p.by_load);
        let decided = decided.filter(|l| l.outcome.is_decided()).count();
        let more = self.loads.len().saturating_sub(MOST_LOADS);
        let more = match more {
            0 => String::new(),
            n => format!(" {n} more loads are in the report."),
        };
        let watched = verdicts::all_watched(profiles)
            .map(|watched| format!("; passes were watched for {watched}"));
        let missing =
            verdicts::longer(self.data).map(|longer| format!(" For the others: {longer}."));
        format!(
            "Decided {decided} of {all}{}.{}{more}",
            watched.unwrap_or_default(),
            missing.unwrap_or_default()
        )
    }

    fn shown(&self) -> impl Iterator<Item = &String> {
        self.loads.iter().take(MOST_LOADS)
    }

    fn heading(&self, title: &str, last: &str, paint: &Paint) -> String {
        let loads = self.shown().map(|load| cut(&plain(load), CELL));
        paint.bold(&table_row(title, loads, last))
    }
}

/// Under a load, in words.
fn under(load: &str) -> String {
    match load {
        "idle" => "at rest".to_owned(),
        load => format!("under load {}", plain(load)),
    }
}

fn late_in_words(late: &LateUnder) -> String {
    late.late_ns.map_or_else(|| "too few".to_owned(), format_ns)
}

fn table_row(name: &str, cells: impl Iterator<Item = String>, last: &str) -> String {
    let mut line = format!("{:<NAME$}", cut(name, NAME));
    for cell in cells {
        line.push_str(&format!(" {cell:>CELL$}"));
    }
    line.push_str("  ");
    line.push_str(last);
    line
}

fn cut(text: &str, width: usize) -> String {
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

/// What to do: what brings the clock in step, then the remedies that verdicts take or that were shown
/// to help.
fn steps(data: &ReportData, lateness: Option<&Lateness>) -> Vec<Step> {
    let clock = wall_clock(&data.record().header.environment);
    let clock = clock.filter(|c| c.in_step == Some(false));
    let clock = clock.and_then(|clock| {
        let remedy = clock.remedy?;
        let off = clock.error_at_most_ns.map(|ns| format_ns(ns as f64));
        let now = off.map_or_else(|| "no bound".to_owned(), |off| format!("at most {off}"));
        Some(Step {
            remedy: None,
            what: match &remedy.steps[..] {
                [] => remedy.what.clone(),
                [one] => one.clone(),
                [one, two] => format!("{one}, then {two}"),
                [one, two, more @ ..] => {
                    format!("{one}, then {two}; {} more steps: tompion env", more.len())
                }
            },
            effect: format!("{}; clock error now: {now}", remedy.what),
        })
    });
    let profiles = &data.assessment().profiles;
    let is_taken = |name: &str| {
        let all = profiles.iter().flat_map(|p| &p.by_load);
        let mut taken = all.filter(|l| l.outcome == Outcome::WithRemedy);
        taken.any(|l| l.remedy.as_ref().is_some_and(|r| r.name == name))
    };
    let remedies = lateness.into_iter().flat_map(|lateness| {
        let before = &lateness.rows[0];
        let helps = |row: &&LatenessRow| {
            row.by_load.iter().flatten().any(|u| u.helps) || is_taken(&row.name)
        };
        lateness.rows[1..]
            .iter()
            .filter(helps)
            .map(move |row| Step {
                remedy: Some(row.name.clone()),
                what: format!("{}: {}", row.name, row.how.unwrap_or_default()),
                effect: effect(lateness, before, row),
            })
    });
    let mut steps: Vec<Step> = clock.into_iter().chain(remedies).collect();
    // Those of periods that the table of lateness does not have.
    for remedy in REMEDIES.iter().filter(|r| is_taken(r.name)) {
        if !steps
            .iter()
            .any(|s| s.remedy.as_deref() == Some(remedy.name))
        {
            steps.push(Step {
                remedy: Some(remedy.name.to_owned()),
                what: format!("{}: {}", remedy.name, remedy.words.how),
                effect: format!("costs: {}", remedy.words.price),
            });
        }
    }
    steps
}

/// What a remedy was shown to do under each load, and what it costs.
fn effect(lateness: &Lateness, before: &LatenessRow, after: &LatenessRow) -> String {
    let each = lateness.loads.iter().enumerate().filter_map(|(i, load)| {
        let (before, after) = (before.by_load[i]?, after.by_load[i]?);
        let [from, to] = [before.late_ns?, after.late_ns?].map(format_ns);
        after.helps.then(|| format!("{load} {from} \u{2192} {to}"))
    });
    let each: Vec<String> = each.collect();
    let price = after.price.unwrap_or_default();
    match each.is_empty() {
        true => format!("costs: {price}"),
        false => format!(
            "{} {}; costs: {price}",
            quantile_name(lateness.quantile),
            each.join(", ")
        ),
    }
}
