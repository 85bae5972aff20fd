//! Stalls over time: one figure a cell, lengths on a logarithmic axis, coloured
//! by cause.

use std::ops::Range;

use plotters::prelude::*;
use tompion_cause::Cause;

use super::axes::{decades, time_tick};
use super::frame::{Axis, Style};
use super::panels::seconds_tick;
use super::theme::{Ink, Look};
use super::{Drawn, canvas};
use crate::stalls::BlockTrace;

const SIZE: (u32, u32) = (1040, 230);

/// The axis of lengths that fits all of `traces`.
pub(crate) fn range<'a>(traces: impl Iterator<Item = &'a BlockTrace>) -> Range<f64> {
    let columns = traces.flat_map(|t| t.by_cause.values().flatten());
    decades(
        columns
            .flat_map(|c| [c.min.1, c.max.1])
            .map(|ps| ps as f64 / 1e3),
    )
}

/// Draws the blocks of one cell; `look` gives the colour of a cause.
pub(crate) fn draw(
    traces: &[BlockTrace],
    lengths: &Range<f64>,
    look: impl Fn(Cause) -> Look,
    label: &str,
) -> Drawn {
    let span_ns: u64 = traces.iter().map(|t| t.span_ns).sum();
    let seconds = span_ns.max(1) as f64 / 1e9;
    canvas(SIZE, label, "time trace", |root, tools| {
        let style = Style {
            size: 12,
            tick: 2,
            top: 10,
            right: 14,
            bottom: 2,
        };
        let tick = |s: &f64| seconds_tick(*s, seconds);
        let x = Axis {
            labels: 8,
            name: "measuring time, blocks end to end",
            lines: false,
            room: 38,
            ..Axis::linear(0.0..seconds, "s", &tick)
        };
        let y = Axis {
            name: "length of a stall",
            room: 66,
            ..Axis::log(lengths, "ns", &time_tick)
        };
        let chart = tools.frames.draw(root, &style, x, y)?;
        let area = chart.plotting_area();
        let value = |ps: i64| (ps as f64 / 1e3).clamp(lengths.start, lengths.end);
        let mut start = 0u64;
        for block in traces {
            let at = |ns: u64| (start + ns) as f64 / 1e9;
            if start > 0 {
                let border = vec![(at(0), lengths.start), (at(0), lengths.end)];
                area.draw(&PathElement::new(border, Ink::Border.color()))?;
            }
            for (&cause, columns) in &block.by_cause {
                let ink = Ink::Range(look(cause)).color();
                for c in columns.iter().filter(|c| c.min.1 < c.max.1) {
                    let x = at(c.min.0.midpoint(c.max.0));
                    let line = vec![(x, value(c.min.1)), (x, value(c.max.1))];
                    area.draw(&PathElement::new(line, ink))?;
                }
                let ink = Ink::Dots(look(cause)).color();
                for p in columns
                    .iter()
                    .flat_map(|c| c.points.iter().chain([&c.min, &c.max]))
                {
                    area.draw(&Circle::new((at(p.0), value(p.1)), 1, ink))?;
                }
            }
            start += block.span_ns;
        }
        Ok(())
    })
}
