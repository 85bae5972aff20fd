//! Samples over time with a bold median line, as in Kirova 2019's raw plots:
//! one figure a method, one panel a load and variant.

use super::Drawn;
use super::axes::{decades, time_tick};
use super::frame::Axis;
use super::panels::{Cloud, Rows};
use super::theme::Look;
use crate::series::TrialSeries;

/// Panels side by side before a new row begins.
pub(crate) const PANELS_PER_ROW: usize = 4;

/// Height of one row of panels.
const ROW: i32 = 182;
/// Room for tick labels left of the first panel.
const LEFT: i32 = 66;

/// One cell over time.
pub(crate) struct Panel<'a> {
    /// Load and variant.
    pub title: String,
    /// Its median in words.
    pub figure: String,
    /// How it is drawn.
    pub look: Look,
    /// Its blocks.
    pub series: &'a [TrialSeries],
    /// Its median in nanoseconds; a panel without one is empty.
    pub median_ns: Option<f64>,
}

/// Draws the panels of one method, `columns` of them in a row; all share the
/// axis of values.
pub(crate) fn draw(panels: &[Panel<'_>], columns: usize, what: &str, label: &str) -> Drawn {
    let rows = Rows {
        columns: columns.clamp(1, PANELS_PER_ROW),
        high: ROW,
        left: LEFT,
        shared_labels: true,
    };
    let values = decades(panels.iter().flat_map(|p| p.series).flat_map(|s| {
        s.columns
            .iter()
            .flat_map(|c| [c.min.1, c.max.1])
            .map(|ps| ps as f64 / 1000.0)
    }));
    rows.draw(panels.len(), what, label, |area, tools, i, first| {
        let panel = &panels[i];
        let indent = if first { LEFT } else { 0 };
        Cloud::heading(area, (&panel.title, &panel.figure), indent)?;
        tools.tell(vec![format!("{}: {}", panel.title, panel.figure)]);
        let tick = |ns: &f64| if first { time_tick(ns) } else { String::new() };
        let y = Axis {
            room: indent,
            ..Axis::log(&values, "ns", &tick)
        };
        let cloud = Cloud {
            look: panel.look,
            series: panel.series,
            axis: values.clone(),
            unit_ps: 1e3,
            middle: panel.median_ns,
            zero: None,
        };
        cloud.draw(area, tools, y)
    })
}
