//! Stability over tau on logarithmic axes: MTIE and TDEV.

use std::ops::Range;

use plotters::prelude::*;

use super::axes::{MOST_LABELS, decades, span, time_tick};
use super::frame::{Axis, Style};
use super::theme::{Ink, Look};
use super::{Drawn, canvas};

/// Size in SVG units.
const SIZE: (u32, u32) = (400, 320);

/// One curve: `(tau, value)`, both in nanoseconds.
pub(crate) struct Curve {
    /// Number of its cell in the run.
    pub series: usize,
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
    canvas(SIZE, label, "curve", |root, tools| {
        let x = Axis {
            labels: (span(taus) + 1).min(MOST_LABELS),
            name: "observation interval \u{3c4}",
            ..Axis::log(taus, "ns", &time_tick)
        };
        let y = Axis {
            name: what,
            room: 62,
            ..Axis::log(values, "ns", &time_tick)
        };
        let chart = tools.frames.draw(root, &Style::USUAL, x, y)?;
        let area = chart.plotting_area();
        for c in curves {
            tools.tag.set(Some(c.series));
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
