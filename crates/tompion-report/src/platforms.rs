//! The platforms of a lab by the statistics of Perneel 2015, in words that terminal, page
//! and Markdown share.

use crate::grid::Titles;
use tompion_assess::compare::{
    PlatformGroup, PlatformMaxima, PlatformSummary, Ranks, platform_summary,
};
use tompion_model::{factor, format_ns};
use tompion_stats::{GROWTH_LIMIT, GrowthVerdict, Interval};

use crate::data::ReportData;
use crate::documents::words::confidence;
use crate::figures::{NONE, real, signed_ns, times};
use crate::grid::factors_in_words;

/// Level of the tests in a report.
const LEVEL: f64 = 0.05;

/// Heads of the columns; the first is that of the platforms.
pub(crate) const HEADS: [&str; 8] = [
    "Platform",
    "rank",
    "greatest",
    "middle of maxima",
    "adds",
    "adds, in the middle",
    "twice the time",
    "bounded",
];

/// One cell on all platforms, ready to be printed.
#[derive(Debug)]
pub(crate) struct PlatformTable {
    /// Placement, load and probe in words.
    pub title: String,
    /// As [`HEADS`].
    pub rows: Vec<[String; 8]>,
}

/// The platforms of a report's run; `None` where there are less than two.
pub(crate) fn of_report(data: &ReportData) -> Option<PlatformSummary> {
    let summary = platform_summary(data.record(), None, &[], LEVEL).ok()?;
    let several = summary.groups.iter().any(|g| g.platforms.len() > 1);
    several.then_some(summary)
}

/// The tables, one a cell.
pub(crate) fn tables(summary: &PlatformSummary, titles: Titles) -> Vec<PlatformTable> {
    let one = |group: &PlatformGroup| PlatformTable {
        title: title(group, titles),
        rows: group.platforms.iter().map(row).collect(),
    };
    summary.groups.iter().map(one).collect()
}

fn title(group: &PlatformGroup, titles: Titles) -> String {
    let probe = group.cell.level(factor::PROBE);
    format!("{}: {}", titles(probe), factors_in_words(&group.cell))
}

fn row(p: &PlatformMaxima) -> [String; 8] {
    let m = &p.maxima;
    let within = |value: String, interval: Option<Interval>| match interval {
        Some(i) => format!("{value} [{}, {}]", format_ns(i.low), format_ns(i.high)),
        None => value,
    };
    let shift = p.added.and_then(|a| a.shift);
    let signed = |(ns, i, _): (f64, Interval, f64)| {
        format!(
            "{} [{}, {}]",
            signed_ns(ns),
            signed_ns(i.low),
            signed_ns(i.high)
        )
    };
    let growth = m.growth.ratio.map(|ratio| match m.growth.interval {
        Some(i) => format!("{} [{}, {}]", times(ratio), real(i.low), real(i.high)),
        None => times(ratio),
    });
    let none = || NONE.to_owned();
    [
        p.platform.clone(),
        ranks(p.rank),
        format!("{} of {}", format_ns(m.greatest), m.replicates),
        within(format_ns(m.median), m.interval),
        p.added.map_or_else(none, |a| signed_ns(a.greatest)),
        shift.map_or_else(none, signed),
        growth.unwrap_or_else(none),
        bounded(m.growth.verdict).to_owned(),
    ]
}

/// One rank, or the range of those that a platform may have.
fn ranks(rank: Ranks) -> String {
    match rank.best == rank.worst {
        true => rank.best.to_string(),
        false => format!("{}\u{2013}{}", rank.best, rank.worst),
    }
}

fn bounded(verdict: GrowthVerdict) -> &'static str {
    match verdict {
        GrowthVerdict::LevelsOff => "as far as seen",
        GrowthVerdict::Grows => "no, still grows",
        GrowthVerdict::Undecided => "not decided",
        GrowthVerdict::TooFew => "too few replicates",
    }
}

/// What a reader must know of the columns.
pub(crate) fn legend(summary: &PlatformSummary) -> Vec<String> {
    let n = summary.groups.iter().flat_map(|g| &g.platforms);
    let n = n.map(|p| p.maxima.replicates).max().unwrap_or(0);
    let confidence = confidence(summary.level);
    let reference = match &summary.reference {
        Some(name) => format!(
            "adds: the greatest less that of {name}, the figure of Perneel 2015; in the middle: of the \
             differences of maxima within replicates, with its {confidence} interval."
        ),
        None => "The bare machine was not measured: nothing to take off.".to_owned(),
    };
    let limit = format!("{:.0} %", 100.0 * (GROWTH_LIMIT - 1.0));
    let mut all = summary.cautions.clone();
    all.extend([
        format!(
            "greatest: the largest value of all replicates. A maximum is no stable statistic: it \
             has no interval, it grows with the time watched, and one more replicate of an \
             unchanged machine would exceed the greatest of {n} with a probability of 1 in {}. \
             middle of maxima: the median of one maximum a replicate, with its {confidence} \
             interval.",
            n + 1
        ),
        reference,
        format!(
            "twice the time: how many times larger the expected maximum is when twice as long is \
             watched. bounded: as far as seen, where that is surely less than {limit}; no, where it \
             is surely more. Neither proves or refutes a bound: what is rarer than the time \
             watched was not seen."
        ),
        format!(
            "rank: by the maxima within replicates (permutation, Holm within a cell, level {}); a \
             range where platforms are not told apart.",
            summary.level
        ),
    ]);
    let emulated = summary.groups.iter().flat_map(|g| &g.platforms);
    if emulated.into_iter().any(|p| p.emulated) {
        all.push(
            "What is called emulated ran on an imitated processor and is no evidence about \
             hardware."
                .to_owned(),
        );
    }
    all
}

#[cfg(test)]
mod tests;
