//! Tables of one section.

use maud::{Markup, html as markup};
use tompion_record::{Summary, format_ns};

use super::verdict::figure;
use crate::data::{CellView, Shown};
use crate::disturbed::{Disturbed, Reason, cause_in_words, known_by};
use crate::figures::{NONE, count, real, supported};
use crate::sections::{Row, Section, load_title};

/// Columns beside the methods that a sheet of paper has room for; further loads have a
/// table of their own below.
const MOST_COLUMNS: usize = 12;

/// Median, p99 and maximum, a group of columns for each load.
pub(super) fn short(section: &Section<'_>) -> Markup {
    let batched = section.cells().any(|s| s.view.batched.is_some());
    // Verdicts see another p99 than the one as measured where periods were missed.
    let missed = section
        .cells()
        .any(|s| s.view.filled.is_some() && s.cell.missed_periods.is_some_and(|n| n > 0));
    let columns = 3 + usize::from(batched) + usize::from(missed);
    let loads: Vec<usize> = (0..section.loads.len()).collect();
    markup! {
        div.parts {
            @for loads in loads.chunks((MOST_COLUMNS / columns).max(1)) {
                (beside(section, loads, columns, batched, missed))
            }
        }
    }
}

/// The columns of these loads.
fn beside(
    section: &Section<'_>,
    loads: &[usize],
    columns: usize,
    batched: bool,
    missed: bool,
) -> Markup {
    markup! {
        div.scroll tabindex="0" {
            table.numbers {
                thead {
                    tr {
                        th rowspan="2" { "Method" }
                        @for i in loads { th.group colspan=(columns) { (load_title(section.loads[*i])) } }
                    }
                    tr {
                        @for _ in loads {
                            @if batched { th.first { "per read" } th { "median" } } @else { th.first { "median" } }
                            th { "p99" }
                            @if missed { th { "p99, missed filled in" } }
                            th { "max" }
                        }
                    }
                }
                tbody {
                    @for row in &section.rows {
                        tr {
                            (name(row))
                            @for shown in loads.iter().map(|i| row.by_load[*i]) {
                                @let view = shown.map(|s| s.view);
                                @let single = view.and_then(|v| v.measured.as_ref());
                                @if batched {
                                    td.first { (figure(view.and_then(|v| v.batched.as_ref()).map(|b| b.median_ns))) }
                                }
                                td.first[!batched] { (view.and_then(CellView::median).as_deref().unwrap_or(NONE)) }
                                td { (figure(single.and_then(|m| supported(m, 0.99, m.p99_ns)))) }
                                @if missed {
                                    td { (figure(view.and_then(|v| v.filled.as_ref()).and_then(|f| supported(f, 0.99, f.p99_ns)))) }
                                }
                                td { (figure(single.map(|m| m.max_ns))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn name(row: &Row<'_>) -> Markup {
    markup! {
        th scope="row" {
            (if row.method.is_empty() { NONE } else { row.method })
            @if !row.variant.is_empty() { span.variant { (row.variant) } }
        }
    }
}

/// A column of the full table: its heading and what to print of a cell. A
/// column that is empty throughout is left out.
type Column = (&'static str, fn(&Shown<'_>) -> Option<String>);

/// So many columns are of the values themselves; what stands behind them has a table of
/// its own, because paper is narrow.
const VALUES: usize = 13;

/// The one column of words.
const BY: &str = "disturbed by";

const COLUMNS: [Column; 27] = [
    ("samples", |s| single(s).map(|m| count(m.samples))),
    ("median", |s| s.view.median()),
    ("95 % interval", |s| {
        let i = s.view.median_interval?;
        let shown = !s.view.plots_batches();
        shown.then(|| format!("[{}, {}]", format_ns(i.low), format_ns(i.high)))
    }),
    ("per read (batches)", |s| {
        s.view.batched.as_ref().map(|b| format_ns(b.median_ns))
    }),
    ("MAD", |s| ns(s, |m| m.median_absolute_deviation_ns)),
    ("½ IQR", |s| ns(s, |m| m.half_interquartile_range_ns)),
    ("mean", |s| ns(s, |m| m.mean_ns)),
    ("min", |s| ns(s, |m| m.min_ns)),
    ("p90", |s| quantile(s, 0.9, |m| m.p90_ns)),
    ("p99", |s| quantile(s, 0.99, |m| m.p99_ns)),
    ("p99.9", |s| quantile(s, 0.999, |m| m.p99_9_ns)),
    ("p99.99", |s| quantile(s, 0.9999, |m| m.p99_99_ns)),
    ("max", |s| ns(s, |m| m.max_ns)),
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
    ("p99, missed filled in", |s| {
        let f = s.view.filled.as_ref()?;
        supported(f, 0.99, f.p99_ns).map(format_ns)
    }),
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

fn quantile(s: &Shown<'_>, q: f64, of: fn(&Summary) -> f64) -> Option<String> {
    single(s)
        .and_then(|m| supported(m, q, of(m)))
        .map(format_ns)
}

/// The smallest over blocks of one property of the clock's steps.
fn steps(s: &Shown<'_>, of: fn(&tompion_record::Granularity) -> f64) -> Option<f64> {
    let all = s
        .cell
        .measurements
        .iter()
        .filter_map(|m| m.granularity.as_ref());
    all.map(of).reduce(f64::min)
}

/// A table of those of the columns that any cell fills.
fn statistics(section: &Section<'_>, columns: &[Column]) -> Markup {
    let columns: Vec<&Column> = columns
        .iter()
        .filter(|c| section.cells().any(|s| c.1(&s).is_some()))
        .collect();
    markup! {
        @if !columns.is_empty() {
            div.scroll tabindex="0" {
                table.numbers.full {
                    thead { tr { th { "Method" } @for c in &columns { th { (c.0) } } } }
                    @for (i, load) in section.loads.iter().enumerate() {
                        tbody {
                            tr.group { th colspan=(columns.len() + 1) { span { (load_title(load)) } } }
                            @for row in &section.rows {
                                @if let Some(shown) = &row.by_load[i] {
                                    tr {
                                        (name(row))
                                        @for c in &columns { td class=[(c.0 == BY).then_some("words")] { (c.1(shown).as_deref().unwrap_or(NONE)) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Every statistic of every cell, load by load.
pub(super) fn full(section: &Section<'_>) -> Markup {
    let (values, behind) = COLUMNS.split_at(VALUES);
    markup! {
        details {
            summary { "All statistics" }
            div.parts { (statistics(section, values)) (statistics(section, behind)) }
            p.small {
                "MAD is the median absolute deviation from the median, unscaled. ½ IQR is half the interquartile range, which "
                "Kirova et al. 2019 print under the name MAD; both are given, named apart. Quantiles follow definition 7 of Hyndman and Fan 1996. "
                "A dash stands for a quantile with less than one sample beyond it. Intervals are resampled over whole blocks; those of a single block over stretches longer than its samples resemble each other, or by ranks where they do not. "
                "Samples in a row resemble each other: autocorrelation is the time, in samples, over which they do, and the effective samples are how many independent ones would tell as much. "
                "Disturbed samples are those that something else overlapped; they count in all columns but those named undisturbed."
            }
        }
    }
}
