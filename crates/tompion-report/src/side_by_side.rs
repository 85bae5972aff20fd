//! The platforms of a lab by their medians, cell by cell, each held against the bare machine.

use std::collections::HashMap;

use crate::grid::Titles;
use tompion_assess::compare::{Found, Verdict, platform_medians};
use tompion_model::{Factors, factor, format_ns};
use tompion_probe::stalls;

use crate::blocks::Entry;
use crate::data::{ReportData, Shown};
use crate::documents::words::p_value;
use crate::figures::{NONE, count, supported, times};
use crate::grid::factors_in_words;
use crate::over_blocks::no_interval;

/// Level of the tests.
const LEVEL: f64 = 0.05;

/// What the columns are, and where to read on.
pub(crate) const LEGEND: &str = "Medians of the mean of a platform's replicates, with their interval \
     over replicates; then how many times that of the bare machine, and the p of their \
     difference by replicates (exact permutation, paired, adjusted by Holm's method over all pairs of \
     platforms within a probe, method and load; * below 0.05; 3 of 8: replicates that there are, \
     of those needed). All pairs and other figures: `tompion compare RUN --by platform`. Stalls \
     have no median worth telling, but maxima: `tompion lab summary RUN`.";

/// All platforms in one cell after the other.
pub(crate) struct SideBySide {
    /// Heads of the columns.
    pub heads: Vec<String>,
    /// One a cell.
    pub tables: Vec<CellTable>,
}

/// One cell on all platforms, ready to be printed.
pub(crate) struct CellTable {
    /// Probe, placement, method and load in words.
    pub title: String,
    /// A platform each; as many columns as heads.
    pub rows: Vec<Vec<Entry>>,
}

/// The bare machine of a run, and all platforms held against it.
struct Reference {
    name: String,
    side: usize,
    /// Of each platform by its name.
    sides: HashMap<String, usize>,
    /// What is said of each cell and two platforms.
    verdicts: HashMap<(Factors, (usize, usize)), Verdict>,
}

/// The platforms of a report's run; `None` where there are less than two.
pub(crate) fn of_report(data: &ReportData, title: Titles) -> Option<SideBySide> {
    let mut cells: Vec<(Factors, Vec<Shown<'_>>)> = Vec::new();
    let mut places: HashMap<Factors, usize> = HashMap::new();
    for shown in data.shown() {
        let factors = &shown.cell.factors;
        if factors.level(factor::PROBE) == stalls::NAME || platform(&shown).is_none() {
            continue;
        }
        let cell = factors.clone().without(factor::PLATFORM);
        match places.get(&cell) {
            Some(place) => cells[*place].1.push(shown),
            None => {
                places.insert(cell.clone(), cells.len());
                cells.push((cell, vec![shown]));
            }
        }
    }
    cells.retain(|(_, platforms)| platforms.len() > 1);
    if cells.is_empty() {
        return None;
    }
    let reference = platform_medians(data.record(), LEVEL).and_then(|(all, side)| {
        let side = side?;
        let name = all.sides[side].clone();
        let numbered = all.sides.into_iter().enumerate();
        let rows = all.rows.into_iter().rev();
        Some(Reference {
            name,
            side,
            sides: numbered.rev().map(|(i, name)| (name, i)).collect(),
            verdicts: rows
                .map(|row| ((row.cell, row.sides), row.verdict))
                .collect(),
        })
    });
    let mut heads: Vec<String> = ["Platform", "median", "95 % interval", "p99"]
        .map(str::to_owned)
        .into();
    if let Some(reference) = &reference {
        heads.extend([format!("{} = 1", reference.name), "p".to_owned()]);
    }
    heads.push("clocksource".to_owned());
    let tables = cells.iter().map(|(cell, platforms)| {
        let probe = title(cell.level(factor::PROBE));
        CellTable {
            title: format!("{probe}: {}", factors_in_words(cell)),
            rows: platforms
                .iter()
                .map(|shown| row(data, shown, cell, platforms, reference.as_ref()))
                .collect(),
        }
    });
    let tables = tables.collect();
    Some(SideBySide { heads, tables })
}

fn platform<'a>(shown: &Shown<'a>) -> Option<&'a str> {
    shown.cell.factors.get(factor::PLATFORM)
}

fn median_ns(shown: &Shown<'_>) -> Option<f64> {
    Some(shown.view.plotted()?.median_ns)
}

fn row(
    data: &ReportData,
    shown: &Shown<'_>,
    cell: &Factors,
    others: &[Shown<'_>],
    reference: Option<&Reference>,
) -> Vec<Entry> {
    let none = || NONE.to_owned();
    let name = platform(shown).unwrap_or_default();
    let summary = shown.view.plotted();
    let p99 = summary.and_then(|s| supported(s, 0.99, s.p99_ns));
    let view = shown.view;
    let interval = match (view.over_blocks.interval(0.5), median_ns(shown)) {
        (Some(Ok(i)), _) => Entry::Text(format!("[{}, {}]", format_ns(i.low), format_ns(i.high))),
        (Some(Err(why)), Some(_)) => Entry::Remarked(none(), no_interval(&why.to_string())),
        _ => Entry::None,
    };
    let mut row: Vec<Entry> = vec![
        name.to_owned().into(),
        view.plotted_median().into(),
        interval,
        p99.map(|p99| view.over_blocks.or_range(0.99, || format_ns(p99)))
            .into(),
    ];
    if let Some(reference) = reference {
        let bare = others.iter().find(|s| platform(s) == Some(&reference.name));
        let ratio = median_ns(shown)
            .zip(bare.and_then(median_ns))
            .filter(|(_, bare)| *bare > 0.0);
        row.push(ratio.map(|(own, bare)| times(own / bare)).into());
        row.push(reference.difference(cell, name).map(told).into());
    }
    let record = data.record().platforms.iter().find(|r| r.level == name);
    let seen = record.and_then(|r| r.environment.as_ref());
    let clock = seen.and_then(|seen| seen.clock.clocksource.clone());
    row.push(clock.into());
    row
}

impl Reference {
    /// What the comparison of a platform with the bare machine says of a cell.
    fn difference(&self, cell: &Factors, platform: &str) -> Option<&Verdict> {
        let other = *self.sides.get(platform)?;
        let sides = (other.min(self.side), other.max(self.side));
        self.verdicts.get(&(cell.clone(), sides))
    }
}

fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Found(Found { p_adjusted: p, .. }) if *p <= LEVEL => format!("{} *", p_value(*p)),
        Verdict::Found(found) | Verdict::Drifts(_, found) => p_value(found.p_adjusted),
        Verdict::TooFew { have, need, .. } => {
            format!(
                "{} of {}",
                count(have.0.min(have.1) as u64),
                count(*need as u64)
            )
        }
        Verdict::NoFigure => NONE.to_owned(),
    }
}
