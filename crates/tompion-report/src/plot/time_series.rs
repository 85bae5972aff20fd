//! Samples over time with a bold median line, as in Kirova 2019's raw plots:
//! one figure a method, one panel a load and variant.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axes::{decades, text, time_tick};
use super::frame::{Area, Axis, Style, u};
use super::theme::{Ink, Look};
use super::{Drawn, Failure, Tools, canvas};
use crate::series::TrialSeries;

/// Panels side by side before a new row begins.
pub(crate) const PANELS_PER_ROW: usize = 4;

/// Width of a figure in SVG units.
const WIDTH: i32 = 1040;
/// Height of one row of panels.
const ROW: i32 = 182;
/// Room for tick labels left of the first panel.
const LEFT: i32 = 66;
/// Room below the last row.
const BOTTOM: i32 = 18;

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
    let columns = columns.clamp(1, PANELS_PER_ROW);
    let rows = panels.len().div_ceil(columns) as i32;
    let height = rows * ROW + BOTTOM;
    let values = decades(panels.iter().flat_map(|p| p.series).flat_map(|s| {
        s.columns
            .iter()
            .flat_map(|c| [c.min.1, c.max.1])
            .map(|ps| ps as f64 / 1000.0)
    }));
    let class = format!("time w{columns}");
    canvas(
        (WIDTH as u32, height as u32),
        label,
        &class,
        |root, tools| {
            let width = (WIDTH - LEFT) / columns as i32;
            for (i, panel) in panels.iter().enumerate() {
                let (row, column) = ((i / columns) as i32, (i % columns) as i32);
                let first = column == 0;
                let x = if first { 0 } else { LEFT + column * width };
                let w = if first { LEFT + width } else { width };
                let area = root.clone().shrink((u(x), u(row * ROW)), (u(w), u(ROW)));
                let indent = if first { LEFT } else { 0 };
                one(&area, tools, panel, &values, indent)?;
            }
            let style = text(Ink::Title, 11, HPos::Center, VPos::Center);
            let turned = style.transform(FontTransform::Rotate270);
            root.draw_text(what, &turned, (u(8), u(rows * ROW / 2)))?;
            let below = text(Ink::Title, 11, HPos::Center, VPos::Bottom);
            let caption = "measuring time, blocks end to end";
            root.draw_text(caption, &below, (u((WIDTH + LEFT) / 2), u(height - 2)))?;
            Ok(())
        },
    )
}

fn one(
    area: &Area<'_>,
    tools: &Tools,
    panel: &Panel<'_>,
    values: &Range<f64>,
    indent: i32,
) -> Result<(), Failure> {
    let title = text(Ink::Title, 12, HPos::Left, VPos::Top);
    let room = area.dim_in_pixel().0 as i32 - u(indent + 16);
    area.draw_text(
        &shortened(&panel.title, room),
        &title,
        (u(indent + 2), u(5)),
    )?;
    let below = text(Ink::Label, 11, HPos::Left, VPos::Top);
    area.draw_text(&panel.figure, &below, (u(indent + 2), u(20)))?;
    let span_ns: u64 = panel.series.iter().map(|s| s.span_ns).sum();
    let seconds = span_ns.max(1) as f64 / 1e9;
    let y_tick = |ns: &f64| match indent {
        0 => String::new(),
        _ => time_tick(ns),
    };
    let x_tick = |s: &f64| seconds_tick(*s, seconds);
    let style = Style {
        size: 11,
        tick: 2,
        top: 38,
        right: 14,
        bottom: 0,
    };
    let x = Axis {
        labels: 4,
        lines: false,
        room: 20,
        ..Axis::linear(0.0..seconds, "s", &x_tick)
    };
    let y = Axis {
        room: indent,
        ..Axis::log(values, "ns", &y_tick)
    };
    let chart = tools.frames.draw(area, &style, x, y)?;
    let area = chart.plotting_area();
    let value = |ps: i64| (ps as f64 / 1000.0).clamp(values.start, values.end);
    let mut starts = Vec::new();
    let mut start = 0u64;
    for s in panel.series {
        starts.push(start);
        start += s.span_ns;
    }
    let at = |start: u64, ns: u64| (start + ns) as f64 / 1e9;
    for &s in starts.iter().skip(1) {
        let x = at(s, 0);
        let line = vec![(x, values.start), (x, values.end)];
        area.draw(&PathElement::new(line, Ink::Border.color()))?;
    }
    let blocks = || panel.series.iter().zip(&starts);
    for (block, &start) in blocks() {
        for c in block.columns.iter().filter(|c| c.min.1 < c.max.1) {
            let x = at(start, c.min.0.midpoint(c.max.0));
            let line = vec![(x, value(c.min.1)), (x, value(c.max.1))];
            area.draw(&PathElement::new(line, Ink::Range(panel.look).color()))?;
        }
    }
    for (block, &start) in blocks() {
        for c in &block.columns {
            for p in c.points.iter().chain([&c.min, &c.max]) {
                let dot = (at(start, p.0), value(p.1));
                area.draw(&Circle::new(dot, 1, Ink::Dots(panel.look).color()))?;
            }
        }
    }
    if let Some(median) = panel.median_ns {
        let y = median.clamp(values.start, values.end);
        let ink = Ink::Median(panel.look).color();
        area.draw(&PathElement::new(vec![(0.0, y), (seconds, y)], ink))?;
    }
    Ok(())
}

/// As much of a title as has room, in units of the backend; 6.9 units a character of
/// size 12 in common faces.
pub(super) fn shortened(title: &str, room: i32) -> String {
    let most = (f64::from(room) / f64::from(u(1)) / 6.9) as usize;
    if title.chars().count() <= most {
        return title.to_owned();
    }
    let kept: String = title.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A time on an axis of this length; empty near its right end, where it would
/// run into the next panel.
pub(super) fn seconds_tick(s: f64, span: f64) -> String {
    if s > 0.94 * span {
        return String::new();
    }
    let (scale, unit) = match span {
        x if x < 2e-3 => (1e6, "µs"),
        x if x < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    // Ticks are round numbers; three digits are enough for them.
    let number = format!("{:.3}", s * scale);
    let number = number.trim_end_matches('0').trim_end_matches('.');
    if number == "0" {
        "0".to_owned()
    } else {
        format!("{number} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_title_ends_within_its_panel() {
        assert_eq!(shortened("cpu, slack 1 ns", u(200)), "cpu, slack 1 ns");
        assert_eq!(shortened("cpu, slack 1 ns", u(70)), "cpu, slac…");
    }

    #[test]
    fn ticks_have_units_and_no_idle_digits() {
        assert_eq!(seconds_tick(0.5, 4.0), "0.5 s");
        assert_eq!(seconds_tick(0.0, 4.0), "0");
        assert_eq!(seconds_tick(20.0, 45.0), "20 s");
        assert_eq!(seconds_tick(0.002, 0.01), "2 ms");
        assert_eq!(seconds_tick(0.000_3, 0.001), "300 µs");
        assert_eq!(seconds_tick(4.0, 4.1), "");
    }
}
