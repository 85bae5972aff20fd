//! Log-log CCDFs with the mean as a dashed vertical line, as in Kirova 2019.

use std::ops::Range;

use plotters::prelude::*;

use super::axes::{MOST_LABELS, decades, share_tick, span, time_tick};
use super::frame::{Axis, Style};
use super::theme::{Ink, Look};
use super::{Drawn, canvas};

/// Size in SVG units.
const SIZE: (u32, u32) = (400, 340);

/// One distribution.
pub(crate) struct Curve<'a> {
    /// Number of its cell in the run.
    pub series: usize,
    /// How it is drawn.
    pub look: Look,
    /// `(value in nanoseconds, share greater or equal)`.
    pub steps: &'a [(f64, f64)],
    /// Its mean in nanoseconds.
    pub mean_ns: Option<f64>,
}

/// The axes that fit all of `curves`: values and shares.
pub(crate) fn ranges<'a>(
    curves: impl Iterator<Item = &'a [(f64, f64)]> + Clone,
) -> (Range<f64>, Range<f64>) {
    let values = decades(curves.clone().flatten().map(|s| s.0));
    let least = curves.flatten().map(|s| s.1).fold(0.1, f64::min);
    (values, 10f64.powf(least.log10().floor())..1.0)
}

/// Draws `curves`; `what` names the values, `label` the figure.
pub(crate) fn draw(
    curves: &[Curve<'_>],
    (values, shares): &(Range<f64>, Range<f64>),
    what: &str,
    label: &str,
) -> Drawn {
    canvas(SIZE, label, "ccdf", |root, tools| {
        let name = format!("{what} (x)");
        let x = Axis {
            labels: (span(values) + 1).min(MOST_LABELS),
            name: &name,
            ..Axis::log(values, "ns", &time_tick)
        };
        let y = Axis {
            name: "share of samples ≥ x",
            room: 52,
            ..Axis::log(shares, "share", &share_tick)
        };
        let chart = tools.frames.draw(root, &Style::USUAL, x, y)?;
        let area = chart.plotting_area();
        let edge = |v: f64| v.clamp(values.start, values.end);
        for c in curves {
            tools.tag.set(Some(c.series));
            if let Some(mean) = c.mean_ns.filter(|m| *m > 0.0) {
                let (x, ink) = (edge(mean), Ink::Mean(c.look).color());
                area.draw(&PathElement::new(vec![(x, shares.start), (x, 1.0)], ink))?;
            }
        }
        for c in curves {
            tools.tag.set(Some(c.series));
            area.draw(&PathElement::new(
                staircase(c.steps, edge),
                Ink::Line(c.look).color(),
            ))?;
        }
        for c in curves {
            tools.tag.set(Some(c.series));
            if let Some(&(value, share)) = c.steps.last() {
                area.draw(&Circle::new(
                    (edge(value), share),
                    1,
                    Ink::End(c.look).color(),
                ))?;
            }
        }
        Ok(())
    })
}

/// The share holds up to its value and drops right after it.
fn staircase(steps: &[(f64, f64)], edge: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut points = Vec::with_capacity(steps.len() * 2);
    for (i, &(value, share)) in steps.iter().enumerate() {
        if i > 0 {
            points.push((edge(steps[i - 1].0), share));
        }
        points.push((edge(value), share));
    }
    if let [only] = points[..] {
        // One distinct value: the drop to the least share makes it visible.
        points.insert(0, (edge(0.0), only.1));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_holds_up_to_its_value() {
        let steps = [(1.0, 1.0), (5.0, 0.5), (9.0, 0.25)];
        let points = staircase(&steps, |v| v);
        assert_eq!(
            points,
            [(1.0, 1.0), (1.0, 0.5), (5.0, 0.5), (5.0, 0.25), (9.0, 0.25)]
        );
    }

    #[test]
    fn a_constant_still_gives_a_line() {
        assert_eq!(
            staircase(&[(7.0, 1.0)], |v| v.max(1.0)),
            [(1.0, 1.0), (7.0, 1.0)]
        );
    }
}
