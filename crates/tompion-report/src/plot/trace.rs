//! Stalls over time: one figure a cell, a band for each cause, lengths on a logarithmic axis.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use tompion_cause::Cause;

use super::axes::{decades, span, text, time_tick};
use super::frame::{Area, Axis, Style, u};
use super::panels::seconds_tick;
use super::theme::{Ink, Look};
use super::{Drawn, Failure, Tools, canvas};
use crate::stalls::BlockTrace;

const WIDTH: i32 = 1040;
/// Height of one band with its name.
const BAND: i32 = 84;
const TOP: i32 = 20;
/// Room below the last one.
const BOTTOM: i32 = 40;
/// Room for labels and name of the axis of lengths.
const LEFT: i32 = 72;
/// Labels of lengths that a band has room for.
const LABELS: usize = 4;

/// Causes that share a band.
#[derive(Clone)]
pub(crate) struct Band {
    /// Their names.
    pub name: String,
    /// How they are drawn.
    pub look: Look,
    /// Which they are.
    pub causes: Vec<Cause>,
}

/// The axis of lengths that fits all of `traces`.
pub(crate) fn range<'a>(traces: impl Iterator<Item = &'a BlockTrace>) -> Range<f64> {
    let columns = traces.flat_map(|t| t.by_cause.values().flatten());
    decades(
        columns
            .flat_map(|c| [c.min.1, c.max.1])
            .map(|ps| ps as f64 / 1e3),
    )
}

/// Draws the blocks of one cell, a band below the other.
pub(crate) fn draw(
    traces: &[BlockTrace],
    lengths: &Range<f64>,
    bands: &[Band],
    label: &str,
) -> Drawn {
    let height = bands.len() as i32 * BAND + BOTTOM;
    canvas(
        (WIDTH as u32, height as u32),
        label,
        "time trace",
        |root, tools| {
            for (i, band) in bands.iter().enumerate() {
                let is_last = i + 1 == bands.len();
                let high = if is_last { BAND + BOTTOM } else { BAND };
                let corner = (0, u(i as i32 * BAND));
                let area = root.clone().shrink(corner, (u(WIDTH), u(high)));
                one(&area, tools, traces, lengths, band, is_last)?;
            }
            let style = text(Ink::Title, 12, HPos::Center, VPos::Center);
            let turned = style.transform(FontTransform::Rotate270);
            let middle = (height - BOTTOM) / 2;
            root.draw_text("length of a stall", &turned, (u(8), u(middle.max(50))))?;
            Ok(())
        },
    )
}

fn one(
    area: &Area<'_>,
    tools: &Tools,
    traces: &[BlockTrace],
    lengths: &Range<f64>,
    band: &Band,
    is_last: bool,
) -> Result<(), Failure> {
    let spans = traces.iter().map(|t| t.span_ns);
    let span_ns = spans.fold(0, u64::saturating_add);
    let seconds = span_ns.max(1) as f64 / 1e9;
    let name = text(Ink::Title, 12, HPos::Left, VPos::Top);
    area.draw_text(&band.name, &name, (u(LEFT + 2), u(3)))?;
    tools.tell(vec![band.name.clone()]);
    let style = Style {
        size: 12,
        tick: if is_last { 2 } else { 0 },
        top: TOP,
        right: 14,
        bottom: if is_last { 2 } else { 4 },
    };
    let tick = |s: &f64| match is_last {
        true => seconds_tick(*s, seconds),
        false => String::new(),
    };
    let x = Axis {
        labels: 8,
        name: if is_last {
            "measuring time, blocks end to end"
        } else {
            ""
        },
        lines: false,
        room: if is_last { 38 } else { 0 },
        ..Axis::linear(0.0..seconds, "s", &tick)
    };
    let y = Axis {
        labels: (span(lengths) + 1).min(LABELS),
        room: LEFT,
        ..Axis::log(lengths, "ns", &time_tick)
    };
    let chart = tools.frames.draw(area, &style, x, y)?;
    let plot = chart.plotting_area();
    let value = |ps: i64| (ps as f64 / 1e3).clamp(lengths.start, lengths.end);
    let mut start = 0u64;
    for block in traces {
        let at = |ns: u64| start.saturating_add(ns) as f64 / 1e9;
        if start > 0 {
            let border = vec![(at(0), lengths.start), (at(0), lengths.end)];
            plot.draw(&PathElement::new(border, Ink::Border.color()))?;
        }
        let own = block.by_cause.iter().filter(|c| band.causes.contains(c.0));
        for (_, columns) in own {
            let ink = Ink::Range(band.look).color();
            for c in columns.iter().filter(|c| c.min.1 < c.max.1) {
                let x = at(c.min.0.midpoint(c.max.0));
                let line = vec![(x, value(c.min.1)), (x, value(c.max.1))];
                plot.draw(&PathElement::new(line, ink))?;
            }
            let ink = Ink::Dots(band.look).color();
            for p in columns
                .iter()
                .flat_map(|c| c.points.iter().chain([&c.min, &c.max]))
            {
                plot.draw(&Circle::new((at(p.0), value(p.1)), 1, ink))?;
            }
        }
        start = start.saturating_add(block.span_ns);
    }
    Ok(())
}
