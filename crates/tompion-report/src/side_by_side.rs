//! The platforms of a lab by their medians, cell by cell. Told, not tested: which
//! differences are sure is for `tompion compare`.

use tompion_record::{Factors, factor, format_ns};

use crate::data::{ReportData, Shown};
use crate::figures::{NONE, ns, supported, times};
use crate::sections::{STALLS, factors_in_words, probe_title};

/// The platform that others stand beside, where it was measured.
const REFERENCE: &str = "host";

/// Heads of the columns; the last one only where there is a [`REFERENCE`].
const HEADS: [&str; 5] = ["Platform", "median", "95 % interval", "p99", "host = 1"];

/// What the columns are, and where to read on.
pub(crate) const LEGEND: &str = "Medians of all samples of a platform, with their interval \
     over replicates; host = 1: how many times the host's median. Which differences are sure: \
     `tompion compare RUN --by platform`. Stalls have no median worth telling: see their maxima.";

/// All platforms in one cell after the other.
#[derive(Debug)]
pub(crate) struct SideBySide {
    /// Heads of the columns.
    pub heads: Vec<&'static str>,
    /// One a cell.
    pub tables: Vec<CellTable>,
}

/// One cell on all platforms, ready to be printed.
#[derive(Debug)]
pub(crate) struct CellTable {
    /// Probe, placement, method and load in words.
    pub title: String,
    /// A platform each; as many columns as heads.
    pub rows: Vec<Vec<String>>,
}

/// The platforms of a report's run; `None` where there are less than two.
pub(crate) fn of_report(data: &ReportData) -> Option<SideBySide> {
    let has_reference = data.shown().any(|s| platform(&s) == Some(REFERENCE));
    let mut cells: Vec<(Factors, Vec<Shown<'_>>)> = Vec::new();
    for shown in data.shown() {
        let factors = &shown.cell.factors;
        if factors.level(factor::PROBE) == STALLS || platform(&shown).is_none() {
            continue;
        }
        let cell = factors.clone().without(factor::PLATFORM);
        match cells.iter_mut().find(|(known, _)| *known == cell) {
            Some((_, platforms)) => platforms.push(shown),
            None => cells.push((cell, vec![shown])),
        }
    }
    cells.retain(|(_, platforms)| platforms.len() > 1);
    let heads = HEADS.len() - usize::from(!has_reference);
    let tables = cells.iter().map(|(cell, platforms)| {
        let probe = probe_title(cell.level(factor::PROBE));
        let reference = platforms.iter().find(|s| platform(s) == Some(REFERENCE));
        let reference = reference.and_then(median_ns);
        CellTable {
            title: format!("{probe}: {}", factors_in_words(cell)),
            rows: platforms.iter().map(|s| row(s, reference, heads)).collect(),
        }
    });
    let tables: Vec<CellTable> = tables.collect();
    (!tables.is_empty()).then_some(SideBySide {
        heads: HEADS[..heads].to_vec(),
        tables,
    })
}

fn platform<'a>(shown: &Shown<'a>) -> Option<&'a str> {
    shown.cell.factors.get(factor::PLATFORM)
}

fn median_ns(shown: &Shown<'_>) -> Option<f64> {
    Some(shown.view.plotted()?.median_ns)
}

fn row(shown: &Shown<'_>, reference: Option<f64>, heads: usize) -> Vec<String> {
    let none = || NONE.to_owned();
    let summary = shown.view.plotted();
    let p99 = summary.and_then(|s| supported(s, 0.99, s.p99_ns));
    let interval = shown.view.median_interval;
    let ratio = median_ns(shown).zip(reference).filter(|(_, r)| *r > 0.0);
    let mut row = vec![
        platform(shown).unwrap_or_default().to_owned(),
        ns(median_ns(shown)),
        interval.map_or_else(none, |i| {
            format!("[{}, {}]", format_ns(i.low), format_ns(i.high))
        }),
        ns(p99),
        ratio.map_or_else(none, |(own, r)| times(own / r)),
    ];
    row.truncate(heads);
    row
}
