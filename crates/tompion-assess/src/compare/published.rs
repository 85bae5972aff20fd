//! A run beside published figures. A paper gives one number where a run has
//! replicates, so that nothing is tested: the numbers stand side by side, with what
//! makes them hard to compare.

use std::collections::BTreeMap;

use tompion_model::{Factors, Summary, factor};
use tompion_papers::published::{
    Counterpart, Fit, Quality, Statistic, Table, counterparts_of_cell, tables_of,
};

use crate::compare::pair::median;
use crate::compare::{Error, Replicates, Result, Side};

/// A run beside the figures of a paper or of one of its tables.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Name of the run.
    pub run: String,
    /// Name of what it stands beside, for example `kirova-2019`.
    pub published: String,
    /// The paper.
    pub citation: String,
    /// One row for each cell and statistic that both have.
    pub rows: Vec<BesideRow>,
    /// What to know before comparing.
    pub caveats: Vec<String>,
}

/// One statistic of one cell beside every published figure of it.
#[derive(Clone, Debug)]
pub struct BesideRow {
    /// The cell.
    pub cell: Factors,
    /// The statistic, as a run's summaries name it.
    pub statistic: &'static str,
    /// The run's own, in nanoseconds.
    pub own_ns: f64,
    /// Published figures, the smallest first.
    pub published: Vec<PublishedFigure>,
    /// How the cell differs from what was published.
    pub notes: Vec<&'static str>,
}

/// One published figure.
#[derive(Clone, Debug)]
pub struct PublishedFigure {
    /// Table, row and column.
    pub source: String,
    /// What it ran on, or the levels of its row.
    pub label: String,
    /// In nanoseconds.
    pub ns: f64,
    /// Whether the function and the load are the same, as far as the paper tells.
    pub same: bool,
    /// Why the figure is marked; `None` for a sound one.
    pub marked: Option<String>,
}

/// Sets a run beside the paper or table of that name.
pub fn beside(side: &Side, name: &str) -> Result<Beside> {
    let tables = tables_of(name);
    let Some(first) = tables.first() else {
        let mut known: Vec<&str> = Vec::new();
        for table in tompion_papers::published::tables() {
            if !known.contains(&table.paper.as_str()) {
                known.push(&table.paper);
            }
        }
        return Err(Error::Wish(format!(
            "published:{name}: no such paper or table; known papers are {}, and `tompion published` lists their tables",
            known.join(", ")
        )));
    };
    let mut rows = Vec::new();
    for (cell, replicates) in &side.cells {
        let found = counterparts_of_cell(name, |factor| cell.get(factor));
        let mut by_statistic: BTreeMap<&'static str, Vec<Counterpart>> = BTreeMap::new();
        for counterpart in found {
            let name = counterpart.statistic.summary_name();
            by_statistic.entry(name).or_default().push(counterpart);
        }
        for (statistic, counterparts) in by_statistic {
            if let Some(own_ns) = own(cell, replicates, counterparts[0].statistic) {
                rows.push(row(cell, statistic, own_ns, counterparts));
            }
        }
    }
    if rows.is_empty() {
        return Err(Error::Wish(format!(
            "{}: no cell has a counterpart in {name}; docs/published.md lists what has",
            side.name
        )));
    }
    Ok(Beside {
        run: side.name.clone(),
        published: name.to_owned(),
        citation: first.paper().citation(),
        caveats: caveats(&tables, &rows),
        rows,
    })
}

fn row(
    cell: &Factors,
    statistic: &'static str,
    own_ns: f64,
    counterparts: Vec<Counterpart>,
) -> BesideRow {
    let mut notes: Vec<&'static str> = Vec::new();
    for note in counterparts.iter().flat_map(|c| &c.notes) {
        if !notes.contains(note) {
            notes.push(note);
        }
    }
    let mut published: Vec<PublishedFigure> = counterparts
        .iter()
        .map(|c| PublishedFigure {
            source: c.figure.to_string(),
            label: label(c),
            ns: c.value_ns,
            same: c.fit == Fit::Same,
            marked: match c.figure.value.quality() {
                Quality::Sound => None,
                Quality::Marked(why) => Some(why.to_owned()),
            },
        })
        .collect();
    published.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    BesideRow {
        cell: cell.clone(),
        statistic,
        own_ns,
        published,
        notes,
    }
}

/// What a figure's row says beyond function and load, which the cell has too.
fn label(c: &Counterpart) -> String {
    match c.figure.row.level("platform") {
        Some(platform) => {
            let more = c
                .figure
                .table
                .factors
                .iter()
                .filter(|f| !["platform", "function", "load"].contains(&f.name.as_str()));
            let more = more.filter_map(|f| c.figure.row.level(&f.name));
            let words: Vec<&str> = std::iter::once(platform).chain(more).collect();
            words.join(" ")
        }
        None => c.figure.table.label(c.figure.row),
    }
}

/// The run's own statistic over all trials: medians of the trials', extremes of all.
fn own(cell: &Factors, replicates: &Replicates, statistic: Statistic) -> Option<f64> {
    let of = |f: fn(&Summary) -> f64| -> Vec<f64> {
        let summaries = replicates.trials.iter().filter_map(|t| t.summary.as_ref());
        summaries.map(f).collect()
    };
    match statistic {
        Statistic::Minimum => of(|s| s.min_ns).into_iter().reduce(f64::min),
        Statistic::Maximum => of(|s| s.max_ns).into_iter().reduce(f64::max),
        Statistic::Median => median(&of(|s| s.median_ns)),
        Statistic::HalfInterquartileRange => median(&of(|s| s.half_interquartile_range_ns)),
        // Where each event arms the next, the interval is the period and the value:
        // their scatter is the same. On a grid it is not.
        Statistic::UncorrectedStandardDeviation if cell.level(factor::FORM) == "rearmed" => {
            median(&of(|s| {
                let n = s.samples as f64;
                s.standard_deviation_ns
                    .map_or(0.0, |sd| sd * ((n - 1.0) / n).sqrt())
            }))
        }
        Statistic::UncorrectedStandardDeviation => None,
    }
}

/// Caveats of the tables that have a part in it, each once.
fn caveats(tables: &[&'static Table], rows: &[BesideRow]) -> Vec<String> {
    let sources = || rows.iter().flat_map(|r| &r.published).map(|p| &p.source);
    let mut found = vec![
        "A paper gives one number for each of its cells, and other machines, kernels and years: differences are shown, not tested.".to_owned(),
    ];
    for table in tables {
        let id = format!("{} ", table.id);
        if !sources().any(|s| s.starts_with(&id)) {
            continue;
        }
        for caveat in &table.caveats {
            if !found.contains(caveat) {
                found.push(caveat.clone());
            }
        }
    }
    found
}
