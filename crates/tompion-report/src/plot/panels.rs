//! Panels of samples over time in rows: what the figures of samples and of differences
//! have in common.

use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axes::text;
use super::backend::CompactSvg;
use super::frame::{Area, Axis, Style, u};
use super::theme::{Ink, Look};
use super::{Drawn, Failure, Tools, canvas};
use crate::figures;
use crate::series::TrialSeries;

/// Width of a figure in SVG units.
const WIDTH: i32 = 1040;
/// Room below the last row.
const BOTTOM: i32 = 18;

/// How panels stand.
pub(super) struct Rows {
    /// Panels side by side before a new row begins.
    pub columns: usize,
    /// Height of one row.
    pub high: i32,
    /// Room left of the first panel.
    pub left: i32,
    /// Whether that room belongs to the first panel, for the labels of all.
    pub shared_labels: bool,
}

impl Rows {
    /// Draws `count` panels, each by `one`, which is told its number and whether it is
    /// the first of its row; `what` names the values.
    pub(super) fn draw(
        &self,
        count: usize,
        what: &str,
        label: &str,
        one: impl Fn(&Area<'_>, &Tools, usize, bool) -> Result<(), Failure>,
    ) -> Drawn {
        let columns = self.columns;
        let rows = count.div_ceil(columns) as i32;
        let height = rows * self.high + BOTTOM;
        let class = format!("time w{columns}");
        let size = (WIDTH as u32, height as u32);
        canvas(size, label, &class, |root, tools| {
            let width = (WIDTH - self.left) / columns as i32;
            for i in 0..count {
                let (row, column) = ((i / columns) as i32, (i % columns) as i32);
                let first = column == 0;
                let before = if first && self.shared_labels {
                    self.left
                } else {
                    0
                };
                let x = self.left + column * width - before;
                let corner = (u(x), u(row * self.high));
                let area = root
                    .clone()
                    .shrink(corner, (u(before + width), u(self.high)));
                one(&area, tools, i, first)?;
            }
            let style = text(Ink::Title, 11, HPos::Center, VPos::Center);
            let turned = style.transform(FontTransform::Rotate270);
            root.draw_text(what, &turned, (u(8), u(rows * self.high / 2)))?;
            let below = text(Ink::Title, 11, HPos::Center, VPos::Bottom);
            let caption = "measuring time, blocks end to end";
            root.draw_text(caption, &below, (u((WIDTH + self.left) / 2), u(height - 2)))?;
            Ok(())
        })
    }
}

/// One cell over time.
pub(super) struct Cloud<'a> {
    /// How it is drawn.
    pub look: Look,
    /// Its blocks, in picoseconds.
    pub series: &'a [TrialSeries],
    /// From where to where the axis of values goes.
    pub axis: Range<f64>,
    /// Picoseconds in one unit of that axis.
    pub unit_ps: f64,
    /// A bold line right across.
    pub middle: Option<f64>,
    /// A fine line right across.
    pub zero: Option<f64>,
}

impl Cloud<'_> {
    /// The panel's two lines of heading; `indent` is the room that labels take.
    pub(super) fn heading(
        area: &Area<'_>,
        (title, figure): (&str, &str),
        indent: i32,
    ) -> Result<(), Failure> {
        let room = area.dim_in_pixel().0 as i32 - u(indent + 16);
        for (line, y, ink, size) in [(title, 5, Ink::Title, 12), (figure, 20, Ink::Label, 11)] {
            let style = text(ink, size, HPos::Left, VPos::Top);
            area.draw_text(&shortened(line, room), &style, (u(indent + 2), u(y)))?;
        }
        Ok(())
    }

    /// Frame, borders of blocks, ranges, samples, lines; `y` is the axis of values.
    pub(super) fn draw<Y>(
        &self,
        area: &Area<'_>,
        tools: &Tools,
        y: Axis<'_, Y>,
    ) -> Result<(), Failure>
    where
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
    {
        let spans = self.series.iter().map(|s| s.span_ns);
        let span_ns = spans.fold(0, u64::saturating_add);
        let seconds = span_ns.max(1) as f64 / 1e9;
        let style = Style {
            size: 11,
            tick: 2,
            top: 39,
            right: 14,
            bottom: 0,
        };
        let tick = |s: &f64| seconds_tick(*s, seconds);
        let x = Axis {
            labels: 4,
            lines: false,
            room: 20,
            ..Axis::linear(0.0..seconds, "s", &tick)
        };
        let chart = tools.frames.draw(area, &style, x, y)?;
        let area = chart.plotting_area();
        let level = |y: f64| {
            let y = y.clamp(self.axis.start, self.axis.end);
            vec![(0.0, y), (seconds, y)]
        };
        if let Some(zero) = self.zero {
            area.draw(&PathElement::new(level(zero), Ink::Zero.color()))?;
        }
        self.samples(area)?;
        if let Some(middle) = self.middle {
            let ink = Ink::Median(self.look).color();
            area.draw(&PathElement::new(level(middle), ink))?;
        }
        Ok(())
    }

    fn samples<Y: Ranged<ValueType = f64>>(
        &self,
        area: &DrawingArea<CompactSvg<'_>, Cartesian2d<RangedCoordf64, Y>>,
    ) -> Result<(), Failure> {
        let value = |ps: i64| (ps as f64 / self.unit_ps).clamp(self.axis.start, self.axis.end);
        let mut starts = Vec::new();
        let mut start = 0u64;
        for s in self.series {
            starts.push(start);
            start = start.saturating_add(s.span_ns);
        }
        let at = |start: u64, ns: u64| start.saturating_add(ns) as f64 / 1e9;
        for &s in starts.iter().skip(1) {
            let line = vec![(at(s, 0), self.axis.start), (at(s, 0), self.axis.end)];
            area.draw(&PathElement::new(line, Ink::Border.color()))?;
        }
        let columns = || {
            let blocks = self.series.iter().zip(&starts);
            blocks.flat_map(|(block, &start)| block.columns.iter().map(move |c| (start, c)))
        };
        for (start, c) in columns().filter(|(_, c)| c.min.1 < c.max.1) {
            let x = at(start, c.min.0.midpoint(c.max.0));
            let line = vec![(x, value(c.min.1)), (x, value(c.max.1))];
            area.draw(&PathElement::new(line, Ink::Range(self.look).color()))?;
        }
        for (start, c) in columns() {
            for p in c.points.iter().chain([&c.min, &c.max]) {
                let dot = (at(start, p.0), value(p.1));
                area.draw(&Circle::new(dot, 1, Ink::Dots(self.look).color()))?;
            }
        }
        Ok(())
    }
}

/// As much of a title as has room, in units of the backend; 6.9 units a character of
/// size 12 in common faces.
fn shortened(title: &str, room: i32) -> String {
    figures::shortened(title, (f64::from(room) / f64::from(u(1)) / 6.9) as usize)
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
