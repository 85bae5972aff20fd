//! The difference from d over time, as in the figures of Adamczyk 2015: a
//! linear axis in microseconds, signed. One figure a mechanism.

use std::ops::Range;

use tompion_stats::Distribution;

use super::Drawn;
use super::frame::Axis;
use super::panels::{Cloud, Rows};
use super::theme::Look;
use crate::figures::{count, us};
use crate::series::TrialSeries;

/// Panels side by side; each has an axis of its own.
pub(crate) const PANELS_PER_ROW: usize = 3;

/// Height of one row of panels.
const ROW: i32 = 190;
/// Room for the name of the axis.
const LEFT: i32 = 16;
/// Room for a panel's tick labels.
const LABELS: i32 = 56;

/// A share of the values this small on either side may lie beyond the axis,
/// and then is drawn on its edge.
const BEYOND: f64 = 0.005;

/// One cell over time.
pub(crate) struct Panel<'a> {
    /// Load and variant.
    pub title: String,
    /// How it is drawn.
    pub look: Look,
    /// Its blocks, in picoseconds.
    pub series: &'a [TrialSeries],
    /// All of its values, in nanoseconds.
    pub values: &'a Distribution,
}

/// Draws the panels of one mechanism, `columns` of them in a row.
pub(crate) fn draw(panels: &[Panel<'_>], columns: usize, label: &str) -> Drawn {
    let rows = Rows {
        columns: columns.clamp(1, PANELS_PER_ROW),
        high: ROW,
        left: LEFT,
        shared_labels: false,
    };
    let what = "interval less d, µs";
    rows.draw(panels.len(), what, label, |area, tools, i, _| {
        let panel = &panels[i];
        let axis = axis(panel.values);
        let extent = extent(panel.values, &axis);
        Cloud::heading(area, (&panel.title, &extent), LABELS)?;
        tools.tell(vec![format!("{}: {extent}", panel.title)]);
        let y = Axis {
            room: LABELS,
            ..Axis::linear(axis.clone(), "us", &us_tick)
        };
        let cloud = Cloud {
            look: panel.look,
            series: panel.series,
            axis,
            unit_ps: 1e6,
            middle: panel.values.mean().map(|ns| ns / 1e3),
            zero: Some(0.0),
        };
        cloud.draw(area, tools, y)
    })
}

/// The axis in microseconds: zero and all but the rarest values, or all of
/// them where they lie close.
fn axis(values: &Distribution) -> Range<f64> {
    let at = |q| values.quantile(q).unwrap_or(0.0) / 1e3;
    let (low, high) = (at(BEYOND).min(0.0), at(1.0 - BEYOND).max(0.0));
    let bulk = (high - low).max(0.1);
    let near = |end: f64, extreme: f64| {
        if (extreme - end).abs() <= bulk {
            extreme
        } else {
            end
        }
    };
    let (low, high) = (near(low, at(0.0).min(0.0)), near(high, at(1.0).max(0.0)));
    let room = 0.06 * (high - low).max(0.1);
    low - room..high + room
}

/// The extremes, and how many values lie beyond the axis.
fn extent(values: &Distribution, axis: &Range<f64>) -> String {
    let (Some(least), Some(most)) = (values.min(), values.max()) else {
        return "no intervals".to_owned();
    };
    let signed = |ns: i64| {
        let sign = if ns > 0 { "+" } else { "" };
        format!("{sign}{}", us(ns as f64)).replace('-', "\u{2212}")
    };
    let above = values.count_above((axis.end * 1e3).floor() as i64);
    let from_low = values.count_above((axis.start * 1e3).ceil() as i64 - 1);
    let beyond = above + (values.len() - from_low);
    let extremes = format!("{} to {} µs", signed(least), signed(most));
    match beyond {
        0 => extremes,
        n => format!("{extremes}; {} beyond the axis", count(n)),
    }
}

fn us_tick(us: &f64) -> String {
    let digits = match us.abs() {
        a if a >= 10.0 || a == 0.0 => 0,
        a if a >= 1.0 => 1,
        _ => 2,
    };
    format!("{us:.digits$}").replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_extreme_is_told_and_does_not_flatten_the_rest() {
        let usual = (0..4_500).map(|i| 1_000 + i % 500);
        let d = Distribution::from_values(usual.clone().chain([20_000_000]));
        let a = axis(&d);
        assert!(a.start < 0.0 && a.end > 1.5 && a.end < 2.0, "{a:?}");
        assert_eq!(extent(&d, &a), "+1.000 to +20000.0 µs; 1 beyond the axis");
        let near = Distribution::from_values(usual.chain([-1_200]));
        assert_eq!(extent(&near, &axis(&near)), "\u{2212}1.200 to +1.499 µs");
    }
}
