//! The frame of every plot: axes with their lines, labels and names. Where each
//! frame stands, and what its axes mean, is kept for the page's script, which tells
//! values under the pointer and exchanges logarithmic axes for linear ones.

use std::cell::RefCell;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axes::{padded, text};
use super::backend::{CompactSvg, Failure, SCALE};
use super::theme::Ink;

/// Room left of a name that stands upright: its letters are wider than plotters knows.
const NAME: i32 = 5;

/// Part of a canvas.
pub(super) type Area<'a> = DrawingArea<CompactSvg<'a>, Shift>;

/// A frame with its coordinates.
type Framed<'a, X, Y> = ChartContext<
    'a,
    CompactSvg<'a>,
    Cartesian2d<<X as AsRangedCoord>::CoordDescType, <Y as AsRangedCoord>::CoordDescType>,
>;

/// SVG units as the backend counts.
pub(super) fn u(units: i32) -> i32 {
    units * SCALE
}

/// One axis.
pub(super) struct Axis<'f, C> {
    /// What plotters makes of it.
    pub coord: C,
    /// From where to where.
    pub range: Range<f64>,
    /// Whether it is logarithmic.
    pub log: bool,
    /// Of its values: `ns`, `s`, `us`, `share`, `count`, or nothing.
    pub unit: &'static str,
    /// How many labels are wanted.
    pub labels: usize,
    /// What is written at each.
    pub format: &'f dyn Fn(&f64) -> String,
    /// Its name; empty where that stands elsewhere.
    pub name: &'f str,
    /// Whether lines cross the plot at the labels.
    pub lines: bool,
    /// Room beside the plot for labels and name.
    pub room: i32,
}

impl<'f> Axis<'f, LogCoord<f64>> {
    /// A logarithmic axis over whole decades.
    pub fn log(range: &Range<f64>, unit: &'static str, format: &'f dyn Fn(&f64) -> String) -> Self {
        Self {
            coord: padded(range).log_scale().into(),
            range: range.clone(),
            log: true,
            unit,
            labels: super::axes::span(range) + 1,
            format,
            name: "",
            lines: true,
            room: 40,
        }
    }
}

impl<'f> Axis<'f, Range<f64>> {
    /// A linear axis.
    pub fn linear(
        range: Range<f64>,
        unit: &'static str,
        format: &'f dyn Fn(&f64) -> String,
    ) -> Self {
        Self {
            coord: range.clone(),
            range,
            log: false,
            unit,
            labels: 5,
            format,
            name: "",
            lines: true,
            room: 40,
        }
    }
}

/// Size of text and ticks, and the margin round a plot.
pub(super) struct Style {
    /// Size of the labels.
    pub size: i32,
    /// Length of the ticks.
    pub tick: i32,
    /// Above the plot.
    pub top: i32,
    /// Right of it.
    pub right: i32,
    /// Below it, beyond the axis' room.
    pub bottom: i32,
}

impl Style {
    /// Of plots that stand side by side.
    pub(super) const USUAL: Self = Self {
        size: 12,
        tick: 3,
        top: 12,
        right: 24,
        bottom: 2,
    };
}

/// Frames drawn so far, as the script reads them.
#[derive(Default)]
pub(super) struct Frames(RefCell<Vec<String>>);

impl Frames {
    /// Draws a frame into `area` and returns it with its coordinates.
    pub fn draw<'a, X, Y>(
        &self,
        area: &Area<'a>,
        style: &Style,
        x: Axis<'_, X>,
        y: Axis<'_, Y>,
    ) -> Result<Framed<'a, X, Y>, Failure>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
        Y::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
    {
        let mut chart = ChartBuilder::on(area)
            .margin_top(u(style.top))
            .margin_left(u(if y.name.is_empty() { 0 } else { NAME }))
            .margin_right(u(style.right))
            .margin_bottom(u(style.bottom))
            .x_label_area_size(u(x.room))
            .y_label_area_size(u(y.room))
            .build_cartesian_2d(x.coord, y.coord)?;
        {
            let mut mesh = chart.configure_mesh();
            if !x.lines {
                mesh.disable_x_mesh();
            }
            if !y.lines {
                mesh.disable_y_mesh();
            }
            mesh.x_labels(x.labels)
                .y_labels(y.labels)
                .x_label_formatter(&x.format)
                .y_label_formatter(&y.format)
                .bold_line_style(Ink::Grid.color())
                .light_line_style(TRANSPARENT)
                .axis_style(Ink::Grid.color())
                .set_all_tick_mark_size(u(style.tick))
                .label_style(text(Ink::Label, style.size, HPos::Center, VPos::Center))
                .axis_desc_style(text(Ink::Title, style.size, HPos::Center, VPos::Center));
            if !x.name.is_empty() {
                mesh.x_desc(x.name);
            }
            if !y.name.is_empty() {
                mesh.y_desc(y.name);
            }
            mesh.draw()?;
        }
        let (across, down) = chart.plotting_area().get_pixel_range();
        let scale = f64::from(SCALE);
        let axis = |log: bool, r: &Range<f64>, unit: &str| {
            let kind = if log { "log" } else { "linear" };
            let unit = if unit.is_empty() { "-" } else { unit };
            format!("{kind} {:e} {:e} {unit}", r.start, r.end)
        };
        self.0.borrow_mut().push(format!(
            "{} {} {} {} {} {}",
            f64::from(across.start) / scale,
            f64::from(across.end) / scale,
            f64::from(down.end) / scale,
            f64::from(down.start) / scale,
            axis(x.log, &x.range, x.unit),
            axis(y.log, &y.range, y.unit),
        ));
        Ok(chart)
    }

    /// All of them, parted by bars.
    pub fn into_attribute(self) -> String {
        self.0.into_inner().join("|")
    }
}
