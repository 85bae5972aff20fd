//! This machine among others: a line a platform from its median to its largest
//! value, on one logarithmic axis.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use tompion_model::format_ns;

use super::axes::{decades, span, text, time_tick};
use super::frame::{Axis, Style, u};
use super::theme::{Ink, Look};
use super::{Drawn, canvas};
use crate::among::{Panel, Rung};

const WIDTH: i32 = 490;
/// Room for the names at the left.
const LEFT: i32 = 206;
const ROW: i32 = 24;
const TOP: i32 = 8;
const BOTTOM: i32 = 42;

/// Labels that fit below the axis.
const MOST_LABELS: usize = 5;

/// Characters of a name that fit at the left: 7.2 units each, of size 12 in a common face.
const NAME: usize = 27;

/// The axis that fits all of `panels`.
pub(crate) fn range<'a>(panels: impl Iterator<Item = &'a Panel>) -> Range<f64> {
    decades(
        panels
            .flat_map(|p| &p.rungs)
            .flat_map(|r| [r.median_ns, r.max_ns]),
    )
}

/// The look of this machine's lines and of the published ones.
pub(crate) fn look(own: bool) -> Look {
    Look::of(usize::from(!own), 0)
}

/// Draws one panel; `label` says in words what it shows.
pub(crate) fn draw(panel: &Panel, values: &Range<f64>, what: &str, label: &str) -> Drawn {
    let rows = panel.rungs.len() as i32;
    let height = TOP + rows * ROW + BOTTOM;
    canvas(
        (WIDTH as u32, height as u32),
        label,
        "range",
        |root, tools| {
            let style = Style {
                top: TOP,
                right: 26,
                ..Style::USUAL
            };
            let x = Axis {
                labels: (span(values) + 1).min(MOST_LABELS),
                name: what,
                ..Axis::log(values, "ns", &time_tick)
            };
            let y = Axis {
                labels: 0,
                lines: false,
                room: LEFT,
                ..Axis::linear(f64::from(rows)..0.0, "", &|_| String::new())
            };
            tools.tell(panel.rungs.iter().map(told).collect());
            let chart = tools.frames.draw(root, &style, x, y)?;
            let area = chart.plotting_area();
            let edge = |v: f64| v.clamp(values.start, values.end);
            for (i, rung) in panel.rungs.iter().enumerate() {
                let y = i as f64 + 0.5;
                let (_, down) = area.map_coordinate(&(values.start, y));
                let ink = if rung.own { Ink::Title } else { Ink::Label };
                let name = text(ink, 12, HPos::Right, VPos::Center);
                root.draw_text(&short(rung), &name, (u(LEFT - 8), down))?;
                let look = look(rung.own);
                let (median, max) = (edge(rung.median_ns), edge(rung.max_ns));
                let line = vec![(median, y), (max, y)];
                area.draw(&PathElement::new(line, Ink::Line(look).color()))?;
                area.draw(&Circle::new((median, y), 1, Ink::End(look).color()))?;
                for (value, half) in rung
                    .p99_ns
                    .map(|v| (edge(v), 0.3))
                    .into_iter()
                    .chain([(max, 0.16)])
                {
                    let tick = vec![(value, y - half), (value, y + half)];
                    area.draw(&PathElement::new(tick, Ink::Line(look).color()))?;
                }
            }
            Ok(())
        },
    )
}

/// A line in words.
fn told(rung: &Rung) -> String {
    let p99 = rung.p99.as_ref().map(|p99| format!(", p99 {p99}"));
    format!(
        "{}: median {}{}, largest {}",
        rung.label,
        rung.median,
        p99.unwrap_or_default(),
        format_ns(rung.max_ns)
    )
}

/// The name as far as there is room. What tells two cells apart stands at either end.
fn short(rung: &Rung) -> String {
    let star = if rung.marked.is_some() { "*" } else { "" };
    let name = format!("{}{star}", rung.label);
    if name.chars().count() <= NAME {
        return name;
    }
    let (head, tail) = (NAME / 2, NAME - NAME / 2 - 1);
    let all: Vec<char> = name.chars().collect();
    let part = |of: &[char]| of.iter().collect::<String>();
    format!("{}…{}", part(&all[..head]), part(&all[all.len() - tail..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends_within_their_room() {
        let rung = |label: &str| Rung {
            label: label.into(),
            own: true,
            median_ns: 1.0,
            median: String::new(),
            p99: None,
            p99_ns: None,
            max_ns: 2.0,
            marked: None,
        };
        let named = |p| short(&rung(&format!("clock-monotonic, platform site-{p}")));
        assert_eq!(named("03"), "clock-monoton…tform site-03");
        assert_ne!(named("03"), named("13"));
        let widest = 7.2 * named("03").chars().count() as f64;
        assert!(widest <= f64::from(LEFT - 8), "{widest}");
        assert_eq!(short(&rung("usleep, 100 µs")), "usleep, 100 µs");
    }
}
