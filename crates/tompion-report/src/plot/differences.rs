//! The difference from d over time, as in the figures of Adamczyk 2015: a
//! linear axis in microseconds, signed. One figure a mechanism.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use tompion_stats::Distribution;

use super::axes::text;
use super::frame::{Area, Axis, Style, u};
use super::theme::{Ink, Look};
use super::time_series::{seconds_tick, shortened};
use super::{Drawn, Failure, Tools, canvas};
use crate::figures::{count, us};
use crate::series::TrialSeries;

/// Panels side by side; each has an axis of its own.
pub(crate) const PANELS_PER_ROW: usize = 3;

const WIDTH: i32 = 1040;
const ROW: i32 = 190;
/// Room for the name of the axis.
const LEFT: i32 = 16;
/// Room for a panel's tick labels.
const LABELS: i32 = 56;
const BOTTOM: i32 = 18;

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
    let columns = columns.clamp(1, PANELS_PER_ROW);
    let rows = panels.len().div_ceil(columns) as i32;
    let height = rows * ROW + BOTTOM;
    let class = format!("time w{columns}");
    canvas(
        (WIDTH as u32, height as u32),
        label,
        &class,
        |root, tools| {
            let width = (WIDTH - LEFT) / columns as i32;
            for (i, panel) in panels.iter().enumerate() {
                let (row, column) = ((i / columns) as i32, (i % columns) as i32);
                let corner = (u(LEFT + column * width), u(row * ROW));
                let area = root.clone().shrink(corner, (u(width), u(ROW)));
                one(&area, tools, panel)?;
            }
            let style = text(Ink::Title, 11, HPos::Center, VPos::Center);
            let turned = style.transform(FontTransform::Rotate270);
            let what = "interval less d, µs";
            root.draw_text(what, &turned, (u(8), u(rows * ROW / 2)))?;
            let below = text(Ink::Title, 11, HPos::Center, VPos::Bottom);
            let caption = "measuring time, blocks end to end";
            root.draw_text(caption, &below, (u((WIDTH + LEFT) / 2), u(height - 2)))?;
            Ok(())
        },
    )
}

fn one(area: &Area<'_>, tools: &Tools, panel: &Panel<'_>) -> Result<(), Failure> {
    let axis = axis(panel.values);
    for (line, y, ink, size) in [
        (panel.title.clone(), 4, Ink::Title, 12),
        (extent(panel.values, &axis), 20, Ink::Label, 11),
    ] {
        let style = text(ink, size, HPos::Left, VPos::Top);
        let room = area.dim_in_pixel().0 as i32 - u(LABELS + 16);
        area.draw_text(&shortened(&line, room), &style, (u(LABELS + 2), u(y)))?;
    }
    let span_ns: u64 = panel.series.iter().map(|s| s.span_ns).sum();
    let seconds = span_ns.max(1) as f64 / 1e9;
    let style = Style {
        size: 11,
        tick: 2,
        top: 40,
        right: 14,
        bottom: 0,
    };
    let x_tick = |s: &f64| seconds_tick(*s, seconds);
    let x = Axis {
        labels: 4,
        lines: false,
        room: 20,
        ..Axis::linear(0.0..seconds, "s", &x_tick)
    };
    let y = Axis {
        room: LABELS,
        ..Axis::linear(axis.clone(), "us", &us_tick)
    };
    let chart = tools.frames.draw(area, &style, x, y)?;
    let area = chart.plotting_area();
    let level = |y: f64| vec![(0.0, y), (seconds, y)];
    area.draw(&PathElement::new(level(0.0), Ink::Zero.color()))?;
    let value = |ps: i64| (ps as f64 / 1e6).clamp(axis.start, axis.end);
    let mut start = 0u64;
    for block in panel.series {
        let at = |ns: u64| (start + ns) as f64 / 1e9;
        if start > 0 {
            let border = vec![(at(0), axis.start), (at(0), axis.end)];
            area.draw(&PathElement::new(border, Ink::Border.color()))?;
        }
        for c in block.columns.iter().filter(|c| c.min.1 < c.max.1) {
            let x = at(c.min.0.midpoint(c.max.0));
            let line = vec![(x, value(c.min.1)), (x, value(c.max.1))];
            area.draw(&PathElement::new(line, Ink::Range(panel.look).color()))?;
        }
        for p in block
            .columns
            .iter()
            .flat_map(|c| c.points.iter().chain([&c.min, &c.max]))
        {
            let dot = (at(p.0), value(p.1));
            area.draw(&Circle::new(dot, 1, Ink::Dots(panel.look).color()))?;
        }
        start += block.span_ns;
    }
    if let Some(mean) = panel.values.mean() {
        let y = (mean / 1e3).clamp(axis.start, axis.end);
        area.draw(&PathElement::new(level(y), Ink::Median(panel.look).color()))?;
    }
    Ok(())
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
