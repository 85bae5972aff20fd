//! The answer on one screen: whether time can be trusted here, for what, why not, and what to do.
//!
//! At most [`LINES`] lines; none is lost at 80 columns.

mod cause;
mod fit;
mod layout;
mod lines;
mod platforms;
mod steps;

use tompion_assess::blame::Culprit;
use tompion_assess::verdict::{Lateness, LoadVerdict, Outcome, ProfileVerdict, lateness};
use tompion_model::AT_REST;

use crate::data::ReportData;
use crate::figures::{plain, plural};
use crate::grid::{all_loads, under};
use crate::screen::{Paint, wrap};
use crate::verdicts;
use fit::{Fit, clock_is_off, taken, tightest, trusted, with_figure};
use layout::{Body, lay_out, opening, uses_in};
pub use lines::LINES;
use lines::{
    LIMIT, LateLine, MOST_LOADS, Widths, cut, late_line, late_title, limit_in_words, parts,
    table_row, use_title,
};
use platforms::Platforms;
use steps::{Shown, Step, numbers, steps, with};

/// The answer that a run gives, for a terminal of `width` columns (80 to 100 are used), without where
/// the page lies; it leaves room for `below` lines more.
pub fn answer(data: &ReportData, width: usize, color: bool, below: usize) -> String {
    let (width, paint) = (width.clamp(80, 100), Paint { color });
    match Platforms::of(data) {
        Some(platforms) => platforms.text(width, &paint, below),
        None => Answer::of(data).text(width, &paint, below),
    }
}

/// What it says, for other forms.
pub(crate) struct Said {
    /// Its verdict in one word.
    pub verdict: &'static str,
    /// And the reasons.
    pub why: String,
    /// Whose fault it is, in a line; empty where nothing tells.
    pub cause: String,
    /// What to do, in the order of its numbers.
    pub steps: Vec<Step>,
}

impl Said {
    /// Of a run.
    pub fn of(data: &ReportData) -> Self {
        let ((verdict, why), cause, steps) = match Platforms::of(data) {
            Some(all) => (all.verdict(), all.cause(), all.into_steps()),
            None => {
                let answer = Answer::of(data);
                (answer.verdict(), answer.cause(), answer.advice)
            }
        };
        Self {
            verdict,
            why,
            cause,
            steps,
        }
    }
}

/// Why several uses may fail by the same figure.
const TOO_SHORT: &str =
    "A period shorter than any sleep measured is judged by the shortest of these.";

/// What is said of one machine, before it is laid out.
struct Answer<'a> {
    data: &'a ReportData,
    /// The loads shown, in reading order.
    loads: Vec<String>,
    lateness: Option<Lateness>,
    culprits: Vec<Culprit>,
    advice: Vec<Step>,
}

impl<'a> Answer<'a> {
    fn of(data: &'a ReportData) -> Self {
        let profiles = &data.assessment().profiles;
        let mut loads = verdicts::loads(profiles);
        if loads.is_empty() {
            loads = all_loads(data);
        }
        let loads = loads.into_iter().map(str::to_owned).collect();
        let lateness = lateness(data.cells());
        let culprits = cause::of_run(data);
        let shown = Shown {
            place: None,
            lateness: lateness.as_ref(),
            profiles: profiles.iter().collect(),
            culprits: culprits.clone(),
        };
        let advice = steps(data, &[shown]);
        Self {
            data,
            loads,
            lateness,
            culprits,
            advice,
        }
    }

    fn text(&self, width: usize, paint: &Paint, below: usize) -> String {
        let opening = opening(self.data, &self.verdict(), &self.cause(), width, paint);
        let decided = wrap(&self.decided(), width, "", "  ");
        let profiles = &self.data.assessment().profiles;
        let titles = profiles.iter().map(use_title);
        let widths = Widths::within(width, self.shown().map(String::as_str), titles, LIMIT);
        let body = Body {
            parts: parts(self.data, width),
            late: self.late(widths, paint),
            uses: profiles.len(),
            fit: Box::new(move |room| self.fit(widths, room, paint)),
            steps: &self.advice,
            nothing: self.nothing(),
            end: decided.lines().map(str::to_owned).collect(),
            legend: self.legend(),
            below,
        };
        lay_out(opening, body, width, paint)
    }

    fn cause(&self) -> String {
        cause::line(self.data, &self.culprits, &self.advice)
    }

    /// What is said where there is nothing to do.
    fn nothing(&self) -> &'static str {
        let profiles = &self.data.assessment().profiles;
        let passes = |l: &LoadVerdict| l.outcome == Outcome::Pass;
        let mut judged = profiles.iter().flat_map(|p| &p.by_load);
        match (
            judged.all(passes),
            self.culprits.iter().any(Culprit::is_fault),
        ) {
            (true, false) => "nothing to do.",
            (_, true) => "nothing that this run knows of; tompion advise tries more remedies.",
            (false, false) => {
                "nothing to do; for tighter limits tompion advise tries more remedies."
            }
        }
    }

    /// One word, and the reasons.
    fn verdict(&self) -> (&'static str, String) {
        let profiles = &self.data.assessment().profiles;
        if profiles.iter().all(|p| p.by_load.is_empty()) {
            return (
                "NOT KNOWN",
                "no sleep was measured at the period of a use".to_owned(),
            );
        }
        let clock_is_off = clock_is_off(self.data);
        let n = self.measured();
        let fit = |load: &String| {
            let under = |p: &'a ProfileVerdict| p.under(load);
            let judged = profiles.iter().filter_map(under);
            Fit::of(judged.map(|l| (l.outcome, vec![l])))
        };
        let fits: Vec<Fit> = self.loads.iter().map(fit).collect();
        let mut clauses = Vec::new();
        if clock_is_off {
            clauses.push("the clock is not synchronised".to_owned());
        }
        let of_load = |(i, (load, fit)): (usize, (&String, &Fit))| {
            let of = if i == 0 {
                format!(" of {n} {}", plural(n as u64, "use", "uses"))
            } else {
                String::new()
            };
            let with = fit.with_steps_and_open(&self.advice);
            format!("{}{of} {}{with}", fit.as_it_is, under(load))
        };
        let by_load = self.loads.iter().zip(&fits);
        let (known, open): (Vec<_>, Vec<_>) = by_load.partition(|(_, fit)| fit.known > 0);
        let each: Vec<String> = known.into_iter().enumerate().map(of_load).collect();
        let open: Vec<String> = open.into_iter().map(|(load, _)| under(load)).collect();
        match (each.is_empty(), open.is_empty()) {
            (true, _) => clauses.push(format!(
                "no answer yet for any of {n} {}",
                plural(n as u64, "use", "uses")
            )),
            (false, true) => clauses.push(format!("fit for {}", each.join(", "))),
            (false, false) => clauses.extend([
                format!("fit for {}", each.join(", ")),
                format!("no answer yet {}", open.join(" and ")),
            ]),
        }
        clauses.extend(self.not_measured());
        clauses.extend(tightest(&profiles.iter().collect::<Vec<_>>()));
        if self.loads == [AT_REST] {
            clauses.push("measured at rest only".to_owned());
        }
        (
            trusted(&fits, profiles.len(), clock_is_off),
            clauses.join("; "),
        )
    }

    /// How many uses were judged under any load.
    fn measured(&self) -> usize {
        let profiles = self.data.assessment().profiles.iter();
        profiles.filter(|p| !p.by_load.is_empty()).count()
    }

    /// Those that were not.
    fn not_measured(&self) -> Option<String> {
        let profiles = self.data.assessment().profiles.iter();
        let without: Vec<String> = profiles
            .filter(|p| p.by_load.is_empty())
            .map(use_title)
            .collect();
        match &without[..] {
            [] => None,
            [one] => Some(format!("{one} not measured")),
            [one, other] => Some(format!("{one} and {other} not measured")),
            all => Some(format!("{} uses not measured", all.len())),
        }
    }

    /// How late sleeps are, as they are and with remedies.
    fn late(&self, widths: Widths, paint: &Paint) -> Vec<LateLine> {
        let Some(lateness) = &self.lateness else {
            return Vec::new();
        };
        let heading = self.heading(&late_title(lateness), widths, "", paint);
        let rows = lateness.rows.iter().map(|row| {
            let under = self.shown().map(|load| {
                let at = lateness.loads.iter().position(|l| l == load);
                at.and_then(|i| row.by_load[i])
            });
            late_line(&row.name, &under.collect::<Vec<_>>(), widths)
        });
        std::iter::once(LateLine::heading(heading))
            .chain(rows)
            .collect()
    }

    /// What time is good enough for, a line each for as many uses as there is room for.
    fn fit(&self, widths: Widths, room: usize, paint: &Paint) -> Vec<String> {
        let row = |p: &ProfileVerdict| {
            let cells = self.shown().map(|load| {
                let found = p.under(load);
                found.map_or_else(
                    || Outcome::NotMeasured.in_words().to_owned(),
                    |l| self.in_words(l),
                )
            });
            let limit = p.by_load.first().map(limit_in_words);
            table_row(&use_title(p), cells, widths, &limit.unwrap_or_default())
        };
        let heading = self.heading("Fit for", widths, " limit", paint);
        let profiles = &self.data.assessment().profiles;
        uses_in(heading, profiles, room, |p| p.outcome, row)
    }

    fn in_words(&self, judged: &LoadVerdict) -> String {
        match taken(judged) {
            Some(_) => with(&self.advice, taken(judged).into_iter()),
            None => match self.open_step(judged) {
                Some(step) => format!("FAIL ({step}?)"),
                None => with_figure(judged),
            },
        }
    }

    /// The number of the step with which a verdict that fails may pass: it was tried, and is not decided.
    fn open_step(&self, judged: &LoadVerdict) -> Option<usize> {
        let remedy = judged.remedy.as_ref();
        let open = remedy.filter(|r| judged.outcome == Outcome::Fail && !r.outcome.is_decided());
        let numbers = numbers(&self.advice, open.map(|r| r.name.as_str()).into_iter());
        numbers.first().copied()
    }

    /// What verdicts mean that do not speak for themselves, those first that say more; nothing where each does.
    fn legend(&self) -> Vec<String> {
        let shown = self.data.assessment().profiles.iter().flat_map(|p| {
            let shown = self.shown();
            shown.filter_map(|load| p.under(load))
        });
        let fails = shown.filter(|l| l.outcome == Outcome::Fail);
        let fails: Vec<&LoadVerdict> = fails.collect();
        let mut told = String::new();
        if let Some(step) = fails.iter().find_map(|l| self.open_step(l)) {
            told.push_str(&format!("FAIL ({step}?): with step {step} not decided. "));
        }
        let is_bare = |l: &&LoadVerdict| {
            self.open_step(l).is_none() && with_figure(l) == Outcome::Fail.in_words()
        };
        if fails.iter().any(is_bare) {
            told.push_str("FAIL alone: how late is not sure.");
        }
        // Of those that fail no other reason is told.
        let by_longer = fails.iter().any(|l| l.reason.is_some());
        let by_longer = by_longer.then_some(TOO_SHORT).map(str::to_owned);
        let told = Some(told.trim_end().to_owned()).filter(|told| !told.is_empty());
        told.into_iter().chain(by_longer).collect()
    }

    /// How many verdicts there are, what passes rest on, and what would bring the others.
    fn decided(&self) -> String {
        let profiles = &self.data.assessment().profiles;
        let uses = self.measured();
        let all = uses * self.loads.len();
        let decided = profiles.iter().flat_map(|p| &p.by_load);
        let decided = decided.filter(|l| l.outcome.is_decided()).count();
        let others = verdicts::longer(self.data);
        let others = others.map_or_else(String::new, |longer| format!("; others: {longer}"));
        let each =
            |n: usize, one: &str, several: &str| format!("{n} {}", plural(n as u64, one, several));
        let loads = self.loads.len();
        let of = format!(
            "{}, {}",
            each(uses, "use", "uses"),
            each(loads, "load", "loads")
        );
        let mut told = format!("Decided {decided} of {all} ({of}{others}).");
        if let Some(watched) = verdicts::all_watched(profiles) {
            told.push_str(&format!(" A pass rests on {watched}."));
        }
        if uses < profiles.len() {
            told.push_str(" A default check measures every use.");
        }
        let more = self.loads.len().saturating_sub(MOST_LOADS);
        if more > 0 {
            told.push_str(&format!(" {more} more loads are in the report."));
        }
        told
    }

    fn shown(&self) -> impl Iterator<Item = &String> {
        self.loads.iter().take(MOST_LOADS)
    }

    fn heading(&self, title: &str, widths: Widths, last: &str, paint: &Paint) -> String {
        let loads = self.shown().map(|load| cut(&plain(load), widths.cell));
        paint.bold(&table_row(title, loads, widths, last))
    }
}
