//! What the first sheet of a page tells of the verdicts: a table of them, and a picture of
//! lateness with its limits, both by load; of several platforms or placements by these.

use std::rc::Rc;

use tompion_assess::verdict::{LoadVerdict, Outcome, ProfileVerdict};
use tompion_model::format_ns;

use crate::blocks::{Column, Entry, Figure, Judgement, Key, Row, Sign, Table, word};
use crate::data::ReportData;
use crate::figures::quantile_name;
use crate::grid::load_title;
use crate::plot::limits::{self, Mark, Panel};
use crate::verdicts::{self, Judged};

/// Panels of a picture.
pub(crate) const PANELS: usize = 4;

/// Columns of verdicts that stand beside a picture; more are rows.
const COLUMNS: usize = 4;

/// What a picture has a sign for.
const SIGNS: [Outcome; 5] = [
    Outcome::Pass,
    Outcome::WithRemedy,
    Outcome::NearLimit,
    Outcome::Inconclusive,
    Outcome::Fail,
];

/// Rows of a sheet.
const ROWS: usize = 14;

/// The verdicts of a run in a grid: uses, and what each was judged under.
pub(crate) struct Verdicts<'a> {
    /// One of each use, for its names and its limit.
    uses: Vec<&'a ProfileVerdict>,
    /// Loads, or platforms and placements: each with what was judged of each use.
    places: Vec<(String, Vec<Option<Cell<'a>>>)>,
    /// What they are.
    by: &'static str,
}

/// A use in one place.
#[derive(Clone, Copy)]
struct Cell<'a> {
    outcome: Outcome,
    /// Under the load; of several the worst.
    judged: Option<&'a LoadVerdict>,
}

/// The verdicts of a run; nothing where none was judged.
pub(crate) fn verdicts(data: &ReportData) -> Option<Verdicts<'_>> {
    let profiles = &data.assessment().profiles;
    if let Some(found) = verdicts::by_place(profiles) {
        let places = found.places.into_iter().enumerate().map(|(i, place)| {
            let at = found.uses.iter().map(|of_use| of_use.at[i]);
            (place, at.map(|p| p.map(overall)).collect())
        });
        return Some(Verdicts {
            places: places.collect(),
            uses: found.uses.iter().map(verdicts::OfUse::first).collect(),
            by: "platform",
        });
    }
    let loads = verdicts::loads(profiles);
    let of_load = |load: &&str| {
        let cells = profiles.iter().map(|p| under(p, load));
        (load_title(load).to_owned(), cells.collect())
    };
    (!loads.is_empty()).then(|| Verdicts {
        uses: profiles.iter().collect(),
        places: loads.iter().map(of_load).collect(),
        by: "load",
    })
}

/// A use wherever it was judged in one place.
fn overall(p: &ProfileVerdict) -> Cell<'_> {
    Cell {
        outcome: p.outcome,
        judged: worst(p),
    }
}

/// A use under one load.
fn under<'a>(p: &'a ProfileVerdict, load: &str) -> Option<Cell<'a>> {
    let judged = p.under(load)?;
    Some(Cell {
        outcome: judged.outcome,
        judged: Some(judged),
    })
}

/// The load that decides a verdict: the one that comes closest to its limit, or exceeds it most.
pub(crate) fn worst(p: &ProfileVerdict) -> Option<&LoadVerdict> {
    let by_how_much = |v: &&LoadVerdict| v.estimate_ns / v.limit_ns.max(1.0);
    let deciding = p.by_load.iter().filter(|v| v.outcome == p.outcome);
    deciding.max_by(|a, b| by_how_much(a).total_cmp(&by_how_much(b)))
}

impl Verdicts<'_> {
    /// A row for each use with a column for each place; turned where there are many places, of
    /// which it then has the first. How many are left out comes second.
    pub(crate) fn table(&self) -> (Table, usize) {
        if self.places.len() > COLUMNS {
            let rows =
                self.places.iter().take(ROWS).map(|(place, cells)| {
                    Row::new(place.clone(), cells.iter().map(entry).collect())
                });
            let columns = self.uses.iter().map(|p| Column::words(p.name.clone()));
            let table = Table::of(
                crate::figures::capital(self.by),
                columns.collect(),
                rows.collect(),
            );
            return (table, self.places.len().saturating_sub(ROWS));
        }
        let row = |(i, p): (usize, &&ProfileVerdict)| {
            let limit = Entry::from(p.by_load.first().map(limit));
            let entries = self.places.iter().map(|(_, cells)| entry(&cells[i]));
            Row::new(
                p.title.clone(),
                [limit].into_iter().chain(entries).collect(),
            )
        };
        let places = self.places.iter().map(|(place, _)| Column::words(place));
        let columns = [Column::words("limit")].into_iter().chain(places);
        let rows = self.uses.iter().enumerate().map(row);
        (Table::of("Use", columns.collect(), rows.collect()), 0)
    }

    /// Pictures of all places, so many panels in each.
    pub(crate) fn pictures<'f>(&self) -> Vec<Figure<'f>> {
        let names: Rc<[String]> = self.uses.iter().map(|p| p.title.clone()).collect();
        let panel = |(place, cells): &(String, Vec<Option<Cell<'_>>>)| Panel {
            title: place.clone(),
            marks: cells
                .iter()
                .zip(names.iter())
                .map(|(cell, name)| mark(cell.as_ref()?, name, place))
                .collect(),
        };
        let panels: Vec<Panel> = self.places.iter().map(panel).collect();
        let values = limits::range(panels.iter());
        let all = panels.len().div_ceil(PANELS);
        let figure = |(i, panels): (usize, &[Panel])| {
            let (panels, values, names) = (panels.to_vec(), values.clone(), Rc::clone(&names));
            let mut title = format!("The judged quantile of lateness, by {}", self.by);
            if all > 1 {
                title = format!("{title}, {} of {all}", i + 1);
            }
            let verdict = |outcome| {
                let (sign, look) = limits::sign(outcome);
                let (_, words) = word(outcome).split_once(' ').unwrap_or_default();
                (sign, look, words)
            };
            let shown = |outcome: &Outcome| {
                let mut marks = panels.iter().flat_map(|p: &Panel| p.marks.iter().flatten());
                marks.any(|m| m.outcome == *outcome)
            };
            let mut keys: Vec<Key> = SIGNS
                .into_iter()
                .filter(shown)
                .map(verdict)
                .map(|(sign, look, words)| Key::of(sign, look, words))
                .collect();
            keys.push(Key::of(Sign::Bar, limits::sign(Outcome::Pass).1, "limit"));
            Figure {
                label: format!(
                    "Lateness by {} with the limit of each use: {title}",
                    self.by
                ),
                title,
                draw: Box::new(move |label| limits::draw(&names, &panels, &values, label)),
                keys,
                values: None,
                notes: Vec::new(),
                wide: false,
            }
        };
        panels.chunks(PANELS).enumerate().map(figure).collect()
    }
}

/// For example `p99.9 ≤ 5.00 ms`.
fn limit(v: &LoadVerdict) -> String {
    format!("{} ≤ {}", quantile_name(v.quantile), format_ns(v.limit_ns))
}

fn entry(cell: &Option<Cell<'_>>) -> Entry {
    cell.as_ref().map_or(Entry::None, |cell| {
        Entry::Verdict(Judgement {
            outcome: cell.outcome,
            value: None,
            notes: Vec::new(),
        })
    })
}

fn mark(cell: &Cell<'_>, name: &str, place: &str) -> Option<Mark> {
    let v = cell.judged?;
    let judged = Judged::of(v);
    let beyond = matches!(judged, Judged::Beyond(..)) && cell.outcome == Outcome::Fail;
    let with = v.remedy.as_ref();
    let with = with.filter(|_| cell.outcome == Outcome::WithRemedy);
    let value = match judged {
        _ if let Some(with) = with => format!(
            "{} {} with {}, {} as it is",
            quantile_name(v.quantile),
            format_ns(with.estimate_ns),
            with.name,
            format_ns(v.estimate_ns)
        ),
        Judged::Value(quantile, value) => format!("{quantile} {value}"),
        Judged::Beyond(quantile, limit) => format!("{quantile} > {limit}"),
        Judged::TooFew(_) => "too few samples".to_owned(),
    };
    let (_, verdict) = word(cell.outcome).split_once(' ').unwrap_or_default();
    Some(Mark {
        outcome: cell.outcome,
        limit_ns: v.limit_ns,
        // What passes stands where it does so.
        late_ns: with
            .map(|with| with.estimate_ns)
            .or(v.supported_estimate_ns())
            .filter(|ns| ns.is_finite()),
        beyond,
        interval_ns: v
            .supported_estimate_ns()
            .filter(|_| with.is_none())
            .and(v.low_ns.zip(v.high_ns)),
        told: format!(
            "{name}, {place}: {value}, limit {}: {verdict}",
            format_ns(v.limit_ns)
        ),
    })
}
