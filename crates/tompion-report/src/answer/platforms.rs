//! The answer of a lab: a column for each platform (and placement) in place of each load.
//!
//! A use is fit for a platform if it is under every load that was measured there: its cell is the worst of
//! them. How late sleeps are has a line for each load.

use std::collections::{BTreeSet, HashMap};

use tompion_assess::blame::Culprit;
use tompion_assess::verdict::{Lateness, Outcome, ProfileVerdict, lateness_of};
use tompion_model::{AT_REST, Cell, factor};

use super::cause::{self, Machines};
use super::fit::{Fit, clock_is_off, taken, tightest, trusted, with_figure};
use super::layout::{Body, lay_out, opening, uses_in};
use super::lines::{
    CELL, LateLine, MOST_LOADS, NAME, Widths, cut, late_line, late_title, parts, table_row,
    use_title,
};
use super::steps::{Shown, Step, steps, with};
use crate::data::ReportData;
use crate::figures::{plain, plural};
use crate::grid::under;
use crate::screen::{Paint, wrap};
use crate::summary::worst;
use crate::verdicts::{self, ByPlace, OfUse};

/// Platforms that the verdict counts the uses of.
const MOST_COUNTED: usize = 4;

/// What is said of several platforms, before it is laid out.
pub struct Platforms<'a> {
    data: &'a ReportData,
    by_place: ByPlace<'a>,
    /// One a place.
    lateness: Vec<Option<Lateness>>,
    culprits: Vec<Vec<Culprit>>,
    advice: Vec<Step>,
}

impl<'a> Platforms<'a> {
    /// `None` where the run has one machine, or judged nothing.
    pub fn of(data: &'a ReportData) -> Option<Self> {
        let profiles = &data.assessment().profiles;
        let by_place = verdicts::by_place(profiles)?;
        let at = |i: usize| by_place.uses.iter().filter_map(move |of_use| of_use.at[i]);
        let places = || 0..by_place.places.len();
        let by_scene = by_scene(data.cells());
        let late = |i| lateness_of(by_scene.get(&scene_of(at(i).next()?))?);
        let lateness: Vec<Option<Lateness>> = places().map(late).collect();
        let machines = Machines::of(data);
        let culprits = places().map(|i| machines.at_fault(&at(i).collect::<Vec<_>>()));
        let culprits: Vec<Vec<Culprit>> = culprits.collect();
        let shown = |i: usize| Shown {
            place: Some(&by_place.places[i]),
            lateness: lateness[i].as_ref(),
            profiles: at(i).collect(),
            culprits: culprits[i].clone(),
        };
        let advice = steps(data, &places().map(shown).collect::<Vec<_>>());
        Some(Self {
            data,
            by_place,
            lateness,
            culprits,
            advice,
        })
    }

    /// What to do.
    pub fn into_steps(self) -> Vec<Step> {
        self.advice
    }

    pub fn text(&self, width: usize, paint: &Paint, below: usize) -> String {
        // As many columns as there is room for.
        let columns = ((width - NAME) / (CELL + 1)).min(self.by_place.places.len());
        let shown = self.by_place.places.iter().take(columns);
        let titles = self.by_place.uses.iter().map(|u| use_title(u.first()));
        let cells = Columns {
            n: columns,
            each: Widths::within(width, shown.map(String::as_str), titles, 0),
        };
        let opening = opening(self.data, &self.verdict(), &self.cause(), width, paint);
        let is_fault = |found: &Vec<Culprit>| found.iter().any(Culprit::is_fault);
        let body = Body {
            parts: parts(self.data, width),
            late: self.late(cells, paint),
            uses: self.by_place.uses.len(),
            fit: Box::new(move |room| self.fit(cells, room, paint)),
            steps: &self.advice,
            nothing: match self.culprits.iter().any(is_fault) {
                true => "nothing that this run knows of.",
                false => "nothing to do.",
            },
            end: self.end(cells, width),
            legend: Vec::new(),
            below,
        };
        lay_out(opening, body, width, paint)
    }

    /// Whose fault it is, and where, in a line.
    pub fn cause(&self) -> String {
        let places = self.by_place.places.iter().map(String::as_str);
        let found = self.culprits.iter().map(Vec::as_slice);
        cause::line_of_places(&places.zip(found).collect::<Vec<_>>(), &self.advice)
    }

    /// One word, and the reasons.
    pub fn verdict(&self) -> (&'static str, String) {
        let uses = &self.by_place.uses;
        let fit = |place: usize| {
            let judged = uses.iter().filter_map(|of_use| of_use.at[place]);
            Fit::of(judged.map(|p| (p.outcome, p.by_load.iter().collect())))
        };
        let fits: Vec<Fit> = (0..self.by_place.places.len()).map(fit).collect();
        let n = uses.len();
        let clock_is_off = clock_is_off(self.data);
        let mut clauses = Vec::new();
        if clock_is_off {
            clauses.push("the clock is not synchronised".to_owned());
        }
        let named = self.by_place.places.iter().zip(&fits).enumerate();
        let named = named.take(MOST_COUNTED).map(|(i, (place, fit))| {
            let of = if i == 0 {
                format!(" of {n} {}", plural(n as u64, "use", "uses"))
            } else {
                String::new()
            };
            let with = fit.with_steps(&self.advice);
            format!("{}{of} on {}{with}", fit.as_it_is, plain(place))
        });
        let mut counted: Vec<String> = named.collect();
        let more = fits.len().saturating_sub(MOST_COUNTED);
        if more > 0 {
            let others = || fits[MOST_COUNTED..].iter().map(|fit| fit.as_it_is);
            let (least, most) = (others().min().unwrap_or(0), others().max().unwrap_or(0));
            let range = match least < most {
                true => format!("{least} to {most}"),
                false => least.to_string(),
            };
            counted.push(format!("{range} on {more} more"));
        }
        clauses.push(format!("fit for {}", counted.join(", ")));
        let judged = uses.iter().flat_map(|of_use| of_use.at.iter().flatten());
        clauses.extend(tightest(&judged.copied().collect::<Vec<_>>()));
        match &self.by_place.loads[..] {
            [AT_REST] => clauses.push("measured at rest only".to_owned()),
            [load] => clauses.push(format!("measured {} only", under(load))),
            loads => clauses.push(format!("each in the worst of {} loads", loads.len())),
        }
        (trusted(&fits, n, clock_is_off), clauses.join("; "))
    }

    /// How late the sleep as it is ends, a line for each load.
    fn late(&self, columns: Columns, paint: &Paint) -> Vec<LateLine> {
        let Some(first) = self.lateness.iter().take(columns.n).flatten().next() else {
            return Vec::new();
        };
        let heading = self.heading(&late_title(first), columns, paint);
        let rows = self.by_place.loads.iter().take(MOST_LOADS).map(|load| {
            let at_each = self.lateness.iter().take(columns.n).map(|lateness| {
                let of_period = lateness.as_ref().filter(|l| l.period_ns == first.period_ns);
                of_period.and_then(|l| {
                    let at = l.loads.iter().position(|known| known == load)?;
                    l.rows.first()?.by_load[at]
                })
            });
            late_line(&under(load), &at_each.collect::<Vec<_>>(), columns.each)
        });
        std::iter::once(LateLine::heading(heading))
            .chain(rows)
            .collect()
    }

    /// What time is good enough for, a line each for as many uses as there is room for.
    fn fit(&self, columns: Columns, room: usize, paint: &Paint) -> Vec<String> {
        let row = |of_use: &OfUse<'_>| {
            let cells = of_use.at.iter().take(columns.n).map(|at| match at {
                Some(p) => self.in_words(p),
                None => Outcome::NotMeasured.in_words().to_owned(),
            });
            table_row(&use_title(of_use.first()), cells, columns.each, "")
        };
        let worst = |of_use: &OfUse<'_>| {
            let outcomes = of_use.at.iter().map(|at| at.map(|p| p.outcome));
            let worst = outcomes.map(|o| o.unwrap_or(Outcome::NotMeasured)).max();
            worst.unwrap_or(Outcome::NotMeasured)
        };
        let heading = self.heading("Fit for", columns, paint);
        uses_in(heading, &self.by_place.uses, room, worst, row)
    }

    fn in_words(&self, p: &ProfileVerdict) -> String {
        match p.outcome {
            Outcome::WithRemedy => with(&self.advice, p.by_load.iter().filter_map(taken)),
            // Of the load that decides.
            outcome => worst(p).map_or_else(|| outcome.in_words().to_owned(), with_figure),
        }
    }

    /// What columns are called, what is left out, and how much is decided.
    fn end(&self, columns: Columns, width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let names = self.by_place.places.iter().take(columns.n).enumerate();
        let numbered = names.filter(|(_, name)| is_long(name, columns));
        let numbered = numbered.map(|(i, name)| format!("[{}] {}", i + 1, plain(name)));
        let numbered: Vec<String> = numbered.collect();
        if !numbered.is_empty() {
            lines.push(cut(&numbered.join("   "), width));
        }
        let loads = self.by_place.loads.len();
        let uses = self.by_place.uses.len();
        let judged = self
            .by_place
            .uses
            .iter()
            .flat_map(|u| u.at.iter().flatten());
        let judged = judged.flat_map(|p| &p.by_load);
        let open = judged.clone().filter(|l| !l.outcome.is_decided());
        let is_starved = open.clone().any(|l| l.samples_missing > 0);
        let decided = judged.filter(|l| l.outcome.is_decided()).count();
        let all = uses * loads * self.by_place.places.len();
        let mut said = format!("Decided {decided} of {all}.");
        if is_starved {
            said.push_str(" For the others: longer cells in the plan, or more replicates.");
        }
        let beyond = |n: usize, one: &str, many: &str| {
            (n > 0).then(|| format!("{n} {}", plural(n as u64, one, many)))
        };
        let left_out = [
            beyond(
                self.by_place.places.len() - columns.n,
                "more platform",
                "more platforms",
            ),
            beyond(loads.saturating_sub(MOST_LOADS), "more load", "more loads"),
        ];
        let left_out: Vec<String> = left_out.into_iter().flatten().collect();
        if !left_out.is_empty() {
            said.push_str(&format!(" In the report: {}.", left_out.join(" and ")));
        }
        lines.extend(wrap(&said, width, "", "").lines().map(str::to_owned));
        lines
    }

    fn heading(&self, title: &str, columns: Columns, paint: &Paint) -> String {
        let names = self.by_place.places.iter().take(columns.n).enumerate();
        let names = names.map(|(i, name)| match is_long(name, columns) {
            true => format!("[{}]", i + 1),
            false => plain(name),
        });
        paint.bold(&table_row(title, names, columns.each, ""))
    }
}

/// Whether a column is too narrow for a name; two that are cut could be taken for one another.
fn is_long(place: &str, columns: Columns) -> bool {
    plain(place).chars().count() > columns.each.cell
}

/// The columns of both tables: how many, and how wide each is.
#[derive(Clone, Copy)]
struct Columns {
    n: usize,
    each: Widths,
}

/// Where a use was judged: the platform, where there are several, and placement and guest.
type Scene<'a> = (Option<&'a str>, String);

fn scene_of(judged: &ProfileVerdict) -> Scene<'_> {
    let placement = judged.placement.clone().unwrap_or_default();
    (judged.platform.as_deref(), placement)
}

/// The cells of each place that a use may have been judged in. A single platform goes without saying,
/// and so does a single placement.
fn by_scene(cells: &[Cell]) -> HashMap<Scene<'_>, Vec<&Cell>> {
    let mut found: HashMap<Scene<'_>, Vec<&Cell>> = HashMap::new();
    for cell in cells {
        let factors = &cell.factors;
        let guest = factors.get(factor::GUEST).map(|n| format!("guest {n}"));
        let placement = factors.get(factor::PLACEMENT).map(str::to_owned);
        let with = |placement: Option<String>| {
            let both: Vec<String> = placement.into_iter().chain(guest.clone()).collect();
            both.join(", ")
        };
        let platforms = BTreeSet::from([None, factors.get(factor::PLATFORM)]);
        let placements = BTreeSet::from([with(placement), with(None)]);
        for platform in platforms {
            for placement in &placements {
                let scene = (platform, placement.clone());
                found.entry(scene).or_default().push(cell);
            }
        }
    }
    found
}
