//! The answer on one screen: whether time can be trusted here, for what, why not, and what to do.
//!
//! At most [`LINES`] lines; none is lost at 80 columns.

mod lines;
mod platforms;
mod steps;

use tompion_assess::verdict::{Lateness, LoadVerdict, Outcome, ProfileVerdict, lateness};
use tompion_assess::wall_clock::wall_clock;
use tompion_model::format_ns;

use crate::data::ReportData;
use crate::figures::{plain, quantile_name};
use crate::grid::all_loads;
use crate::screen::{Paint, wrap};
use crate::verdicts;
pub use lines::LINES;
use lines::{
    CELL, LATE_BY, PLACES, alerts, cut, head, joined, late_in_words, late_title, parts, table_row,
    trust, under, use_title,
};
use platforms::Platforms;
use steps::{Shown, Step, steps, to_do, with};

/// Loads that have a column; further ones are in the report.
const MOST_LOADS: usize = 3;

/// The answer that a run gives, for a terminal of `width` columns (80 to 100 are used), without where
/// the page lies.
pub fn answer(data: &ReportData, width: usize, color: bool) -> String {
    let (width, paint) = (width.clamp(80, 100), Paint { color });
    match Platforms::of(data) {
        Some(platforms) => platforms.text(width, &paint),
        None => Answer::of(data).text(width, &paint),
    }
}

/// Its verdict in one word, and the reasons.
pub(crate) fn verdict(data: &ReportData) -> (&'static str, String) {
    match Platforms::of(data) {
        Some(platforms) => platforms.verdict(),
        None => Answer::of(data).verdict(),
    }
}

/// What is said of one machine, before it is laid out.
struct Answer<'a> {
    data: &'a ReportData,
    /// The loads shown, in reading order.
    loads: Vec<String>,
    lateness: Option<Lateness>,
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
        let shown = Shown {
            place: None,
            lateness: lateness.as_ref(),
            profiles: profiles.iter().collect(),
        };
        let advice = steps(data, &[shown]);
        Self {
            data,
            loads,
            lateness,
            advice,
        }
    }

    fn text(&self, width: usize, paint: &Paint) -> String {
        let mut lines = head(self.data, width);
        lines.push(String::new());
        let (verdict, why) = self.verdict();
        lines.extend(trust(verdict, &why, width, paint));
        let alerts = alerts(self.data, width);
        lines.extend(alerts.iter().map(|line| paint.warn(line)));
        let parts = parts(self.data, width);
        if !parts.is_empty() {
            lines.push(String::new());
            lines.extend(parts);
        }
        lines.extend(self.late(paint));
        lines.extend(self.fit(paint));
        let mut last = vec![String::new()];
        if self.lateness.is_some() {
            last.push(paint.dim(LATE_BY));
        }
        let decided = wrap(&self.decided(), width, "", "  ");
        last.extend(decided.lines().map(str::to_owned));
        let room = LINES.saturating_sub(lines.len() + last.len() + PLACES);
        lines.extend(to_do(&self.advice, width, room, paint));
        lines.extend(last);
        joined(lines)
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

    /// How late sleeps are, as they are and with remedies.
    fn late(&self, paint: &Paint) -> Vec<String> {
        let Some(lateness) = &self.lateness else {
            return Vec::new();
        };
        let mut lines = vec![
            String::new(),
            self.heading(&late_title(lateness), "", paint),
        ];
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
            lines.push(table_row(&use_title(p), cells, &limit.unwrap_or_default()));
        }
        lines
    }

    fn in_words(&self, verdict: &LoadVerdict) -> String {
        match (&verdict.outcome, &verdict.remedy) {
            (Outcome::WithRemedy, Some(remedy)) => with(&self.advice, &[&remedy.name]),
            (outcome, _) => outcome.in_words().to_owned(),
        }
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
