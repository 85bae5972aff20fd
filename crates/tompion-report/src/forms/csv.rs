//! `csv`: one row a cell, for spreadsheets.

use std::borrow::Cow;
use std::collections::BTreeSet;

use tompion_model::Summary;

use super::{Form, Make};
use crate::data::{ReportData, Shown};
use crate::precision::LEVEL;

pub(super) static ENTRY: Form = Form {
    name: "csv",
    about: "One row per combination of method, load and other factors, for spreadsheets",
    make: Make::Text(csv),
};

/// A column after the factors: its name and its value.
type Column = (&'static str, fn(&Shown<'_>) -> Option<f64>);

fn measured(s: &Shown<'_>, of: fn(&Summary) -> f64) -> Option<f64> {
    s.view.measured.as_ref().map(of)
}

const COLUMNS: [Column; 23] = [
    ("blocks", |s| Some(s.cell.blocks.len() as f64)),
    ("samples", |s| measured(s, |m| m.samples as f64)),
    ("median_ns", |s| measured(s, |m| m.median_ns)),
    ("median_low_ns", |s| interval(s).map(|i| i.low)),
    ("median_high_ns", |s| interval(s).map(|i| i.high)),
    ("median_blocks_low_ns", |s| range(s).map(|r| r.low)),
    ("median_blocks_high_ns", |s| range(s).map(|r| r.high)),
    ("mean_ns", |s| measured(s, |m| m.mean_ns)),
    ("median_absolute_deviation_ns", |s| {
        measured(s, |m| m.median_absolute_deviation_ns)
    }),
    ("half_interquartile_range_ns", |s| {
        measured(s, |m| m.half_interquartile_range_ns)
    }),
    ("min_ns", |s| measured(s, |m| m.min_ns)),
    ("p90_ns", |s| quantile(s, 0.9, |m| m.p90_ns)),
    ("p99_ns", |s| quantile(s, 0.99, |m| m.p99_ns)),
    ("p99_9_ns", |s| quantile(s, 0.999, |m| m.p99_9_ns)),
    ("p99_99_ns", |s| quantile(s, 0.9999, |m| m.p99_99_ns)),
    ("max_ns", |s| measured(s, |m| m.max_ns)),
    ("batched_median_ns", |s| {
        s.view.batched.as_ref().map(|b| b.median_ns)
    }),
    ("missed_periods", |s| {
        s.cell.missed_periods.map(|n| n as f64)
    }),
    ("missed_filled_p99_ns", |s| {
        let f = s.view.filled.as_ref()?;
        crate::figures::supported(f, 0.99, f.p99_ns)
    }),
    ("disturbed_samples", |s| {
        let d = &s.view.disturbed;
        d.observed.then(|| d.marked() as f64)
    }),
    ("cpu_per_operation_ns", |s| s.cell.cpu_per_operation_ns()),
    ("stalls_observed_ns", |s| {
        s.view.stalls.as_ref().map(|v| v.total.observed_ns as f64)
    }),
    ("stalls_lost_ns", |s| {
        s.view.stalls.as_ref().map(|v| v.total.lost_ns as f64)
    }),
];

fn interval(s: &Shown<'_>) -> Option<tompion_stats::Interval> {
    s.view.median_interval.filter(|_| !s.view.plots_batches())
}

/// Of blocks whose medians disagree.
fn range(s: &Shown<'_>) -> Option<tompion_stats::BlockRange> {
    let range = s.view.over_blocks.range(0.5);
    range.filter(|_| !s.view.plots_batches())
}

/// Empty where no sample lies beyond the quantile.
fn quantile(s: &Shown<'_>, q: f64, of: fn(&Summary) -> f64) -> Option<f64> {
    let m = s.view.measured.as_ref()?;
    crate::figures::supported(m, q, of(m))
}

/// What a formula begins with, in the wide forms of it, too.
const BEGINS: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

/// A text that no spreadsheet takes for a formula: with an apostrophe before what would begin
/// one, as spreadsheets themselves write it. Some part columns at semicolons or tabs, whatever the file says.
fn harmless(text: &str) -> Cow<'_, str> {
    // A number; `-inf` and `+nan` are words to a spreadsheet.
    let is_number = text.parse::<f64>().is_ok() && text.contains(|c: char| c.is_ascii_digit());
    if is_number {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 1);
    let mut begins = true;
    for c in text.chars() {
        if begins && BEGINS.contains(&c) {
            shown.push('\'');
        }
        shown.push(c);
        // What they leave out before a formula keeps none from being one.
        begins = matches!(c, ';' | '\t') || (begins && (c.is_whitespace() || "\"'".contains(c)));
    }
    shown.into()
}

/// The cells as comma-separated values with a heading (RFC 4180): every factor of the
/// run is a column, units are in the names, absent values are empty. The interval of
/// the median has the confidence 0.95.
pub fn csv(data: &ReportData) -> String {
    debug_assert!((LEVEL - 0.95).abs() < f64::EPSILON);
    let factors: BTreeSet<&str> = data
        .cells()
        .iter()
        .flat_map(|c| c.factors.iter().map(|f| f.0))
        .collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let heads = factors.iter().copied().chain(COLUMNS.iter().map(|c| c.0));
    let mut written = writer.write_record(heads.map(|head| harmless(head).into_owned()));
    for s in data.shown() {
        let levels = factors
            .iter()
            .map(|f| harmless(s.cell.factors.level(f)).into_owned());
        let numbers = COLUMNS
            .iter()
            .map(|c| c.1(&s).map_or_else(String::new, |x| x.to_string()));
        written = written.and_then(|()| writer.write_record(levels.chain(numbers)));
    }
    // Writing into memory fails only where the rows differ in length, which they do not.
    written.expect("all rows have the same columns");
    let bytes = writer.into_inner().expect("memory can be written");
    String::from_utf8(bytes).expect("made of text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_would_be_a_formula_is_a_text() {
        for formula in [
            "=1+1",
            "+x",
            "-x()",
            "@SUM(A1)",
            "=cmd|' /C calc'!A0",
            "-inf",
            "+NaN",
        ] {
            assert_eq!(harmless(formula), format!("'{formula}"));
        }
        // Where a spreadsheet parts columns otherwise than the file does.
        assert_eq!(harmless("x;=1+1"), "x;'=1+1");
        assert_eq!(
            harmless("a;\"=HYPERLINK(1); =1+1"),
            "a;\"'=HYPERLINK(1); '=1+1"
        );
        assert_eq!(harmless(" \"=1"), " \"'=1");
        assert_eq!(harmless("\t=1"), "'\t'=1");
        assert_eq!(harmless("＝1+1"), "'＝1+1");
        for text in ["usleep", "-1", "+2.5", "", "1ms", "a=b", "x-y"] {
            assert_eq!(harmless(text), text);
        }
    }
}
