//! Stability over tau on logarithmic axes: MTIE and TDEV.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axes::{decades, padded, span, text, time_tick};
use super::backend::SCALE;
use super::theme::{Ink, Look};
use super::{Drawn, canvas};

/// Size in SVG units.
const SIZE: (u32, u32) = (400, 320);

/// Labels that fit below the axis.
const MOST_LABELS: usize = 6;

/// One curve: `(tau, value)`, both in nanoseconds.
pub(crate) struct Curve {
    /// How it is drawn.
    pub look: Look,
    /// Its points in rising order of tau.
    pub points: Vec<(f64, f64)>,
}

/// The axes that fit all of `curves`: tau and values.
pub(crate) fn ranges<'a>(curves: impl Iterator<Item = &'a Curve> + Clone) -> Axes {
    let points = || curves.clone().flat_map(|c| &c.points);
    (
        decades(points().map(|p| p.0)),
        decades(points().map(|p| p.1)),
    )
}

/// The range of tau and that of the values.
pub(crate) type Axes = (Range<f64>, Range<f64>);

/// Draws `curves` of `what`. A value of zero lies on the lower edge.
pub(crate) fn draw(curves: &[Curve], (taus, values): &Axes, what: &str, label: &str) -> Drawn {
    canvas(SIZE, label, "curve", |root| {
        let u = |units: i32| units * SCALE;
        let mut chart = ChartBuilder::on(root)
            .margin_top(u(12))
            .margin_right(u(24))
            .margin_bottom(u(2))
            .x_label_area_size(u(40))
            .y_label_area_size(u(62))
            .build_cartesian_2d(padded(taus).log_scale(), padded(values).log_scale())?;
        chart
            .configure_mesh()
            .x_labels((span(taus) + 1).min(MOST_LABELS))
            .y_labels(span(values) + 1)
            .x_label_formatter(&time_tick)
            .y_label_formatter(&time_tick)
            .bold_line_style(Ink::Grid.color())
            .light_line_style(TRANSPARENT)
            .axis_style(Ink::Grid.color())
            .set_all_tick_mark_size(u(3))
            .label_style(text(Ink::Label, 12, HPos::Center, VPos::Center))
            .axis_desc_style(text(Ink::Title, 12, HPos::Center, VPos::Center))
            .x_desc("observation interval \u{3c4}")
            .y_desc(what)
            .draw()?;
        let area = chart.plotting_area();
        for c in curves {
            let at = |p: &(f64, f64)| (p.0, p.1.clamp(values.start, values.end));
            let line: Vec<(f64, f64)> = c.points.iter().map(at).collect();
            for dot in &line {
                area.draw(&Circle::new(*dot, 1, Ink::End(c.look).color()))?;
            }
            area.draw(&PathElement::new(line, Ink::Line(c.look).color()))?;
        }
        Ok(())
    })
}
