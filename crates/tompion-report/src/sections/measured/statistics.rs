//! Every statistic of every cell, load by load.

use tompion_model::{Granularity, Summary, format_ns};
use tompion_stats::Interval;

use super::{Of, below_loads};
use crate::blocks::{Block, Column, Content, Entry, Media};
use crate::data::Shown;
use crate::disturbed::{Disturbed, Reason, cause_in_words, known_by};
use crate::figures::{NONE, count, real, supported};
use crate::grid::Grid;

/// Its heading and what to print of a cell. A column that is empty throughout is left out.
type Statistic = (&'static str, fn(&Shown<'_>) -> Option<String>);

/// Of the values themselves.
const VALUES: &[Statistic] = &[
    ("samples", |s| single(s).map(|m| count(m.samples))),
    ("median", |s| s.view.median()),
    (INTERVAL, |s| interval(s)?.ok()),
    ("per read (batches)", |s| {
        let batched = s.view.batched.is_some();
        batched.then(|| s.view.read_median()).flatten()
    }),
    ("MAD", |s| ns(s, |m| m.median_absolute_deviation_ns)),
    ("½ IQR", |s| ns(s, |m| m.half_interquartile_range_ns)),
    ("mean", |s| ns(s, |m| m.mean_ns)),
    ("min", |s| ns(s, |m| m.min_ns)),
    ("p90", |s| s.view.quantile(0.9, |m| m.p90_ns)),
    ("p99", |s| s.view.quantile(0.99, |m| m.p99_ns)),
    ("p99.9", |s| s.view.quantile(0.999, |m| m.p99_9_ns)),
    ("p99.99", |s| s.view.quantile(0.9999, |m| m.p99_99_ns)),
    ("max", |s| ns(s, |m| m.max_ns)),
];

/// Of what stands behind them; a table of its own, because paper is narrow.
const BEHIND: &[Statistic] = &[
    ("autocorrelation", |s| {
        let time = s.view.dependence.time();
        time.map(|t| format!("{} samples", real(t)))
    }),
    ("effective samples", |s| {
        let n = s.view.dependence.effective_samples();
        n.map(|n| count(n as u64))
    }),
    ("disturbed", |s| watched(s).map(|d| count(d.marked()))),
    ("undisturbed median", |s| {
        without(s).map(|m| format_ns(m.median_ns))
    }),
    ("undisturbed p99", |s| {
        without(s)
            .and_then(|m| supported(m, 0.99, m.p99_ns))
            .map(format_ns)
    }),
    ("undisturbed max", |s| {
        without(s).map(|m| format_ns(m.max_ns))
    }),
    (BY, |s| {
        let of = |r: &Reason| {
            let cause = cause_in_words(r.cause);
            format!("{cause} {} ({})", count(r.samples), known_by(r.source))
        };
        let all: Vec<String> = s.view.disturbed.reasons().iter().map(of).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }),
    ("missed periods", |s| s.cell.missed_periods.map(count)),
    ("p99 corrected", |s| s.view.corrected_p99()),
    ("CPU per sleep", |s| {
        let sleeps = s.view.stalls.is_none();
        let cost = s.cell.cpu_per_operation_ns();
        cost.filter(|_| sleeps).map(format_ns)
    }),
    ("floor", |s| s.cell.floor_ns().map(format_ns)),
    ("smallest step", |s| {
        steps(s, |g| g.smallest_step_ns).map(format_ns)
    }),
    ("common step", |s| {
        steps(s, |g| g.common_step_ns).map(format_ns)
    }),
    ("steps backwards", |s| {
        let all = s.cell.measurements.iter().filter_map(|m| m.granularity);
        all.map(|g| g.backward_steps)
            .reduce(|a, b| a + b)
            .map(count)
    }),
];

/// The one column of words.
const BY: &str = "disturbed by";

/// The one column whose entries have remarks.
const INTERVAL: &str = "95 % interval";

/// That of the median of single operations, or why there is none; `None` where there is no median.
fn interval(s: &Shown<'_>) -> Option<Result<String, String>> {
    if s.view.plots_batches() {
        return None;
    }
    let none = s.view.no_median_interval.clone().map(Err);
    let told = |i: Interval| format!("[{}, {}]", format_ns(i.low), format_ns(i.high));
    s.view.median_interval.map(|i| Ok(told(i))).or(none)
}

/// The same in a table.
fn interval_or_remark(s: &Shown<'_>) -> Entry {
    match interval(s) {
        None => Entry::None,
        Some(Ok(interval)) => Entry::Text(interval),
        Some(Err(why)) => Entry::Remarked(NONE.to_owned(), why),
    }
}

/// What was found where disturbances were looked for.
fn watched<'a>(s: &Shown<'a>) -> Option<&'a Disturbed> {
    s.view.disturbed.observed.then_some(&s.view.disturbed)
}

/// The figures without disturbed samples.
fn without<'a>(s: &Shown<'a>) -> Option<&'a Summary> {
    s.view.undisturbed.as_ref()
}

fn single<'a>(s: &Shown<'a>) -> Option<&'a Summary> {
    s.view.measured.as_ref()
}

fn ns(s: &Shown<'_>, of: fn(&Summary) -> f64) -> Option<String> {
    single(s).map(|m| format_ns(of(m)))
}

/// The smallest over blocks of one property of the clock's steps.
fn steps(s: &Shown<'_>, of: fn(&Granularity) -> f64) -> Option<f64> {
    let all = s.cell.measurements.iter();
    all.filter_map(|m| m.granularity.as_ref())
        .map(of)
        .reduce(f64::min)
}

/// All of them, folded.
pub(in crate::sections) fn statistics<'a>(grid: &Grid<'_>) -> Block<'a> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for all in [VALUES, BEHIND] {
        let has_entry = |(title, of): &Statistic, s: &Shown<'_>| match *title {
            INTERVAL => interval(s).is_some(),
            _ => of(s).is_some(),
        };
        let filled = |c: &&Statistic| grid.cells().any(|s| has_entry(c, &s));
        let column = |(title, of): &Statistic| {
            let of = *of;
            let entries = || Box::new(move |s: &Shown<'_>| of(s).into()) as Of;
            match *title {
                BY => (Column::words(*title), entries()),
                INTERVAL => (Column::of(INTERVAL), Box::new(interval_or_remark) as Of),
                title => (Column::of(title), entries()),
            }
        };
        let columns: Vec<(Column, Of)> = all.iter().filter(filled).map(column).collect();
        if !columns.is_empty() {
            blocks.push(Content::Table(below_loads(grid, "Method", columns)).into());
        }
    }
    blocks.push(
        Content::Note(
            "MAD is the median absolute deviation from the median, unscaled. ½ IQR is half the interquartile range, which \
             Kirova et al. 2019 print under the name MAD; both are given, named apart. Quantiles follow definition 7 of Hyndman and Fan 1996. \
             A dash stands for a quantile with less than one sample beyond it. Figures are those of the mean of the blocks' distributions, of which each weighs the same; where blocks disagree, from which of theirs to which. \
             Intervals are over blocks; that of a single block is over stretches of it that are longer than its samples resemble each other. \
             Samples in a row resemble each other: autocorrelation is the time, in samples, over which they do, and the effective samples are how many independent ones would tell as much. \
             Disturbed samples are those that something else overlapped; they count in all columns but those named undisturbed."
                .to_owned(),
        )
        .into(),
    );
    let fold = Content::fold("All statistics", false, blocks);
    fold.on(Media::PAGE)
}
