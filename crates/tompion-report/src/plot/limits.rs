//! How late threads are beside how late they may be: a row a use, a panel a load, all on one
//! logarithmic axis.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use tompion_assess::verdict::Outcome;

use super::axes::{decades, span, text, time_tick};
use super::frame::{Area, Axis, Style, u};
use super::theme::{Ink, Look};
use super::{Drawn, Failure, canvas};
use crate::blocks::Sign;
use crate::figures::shortened;

const WIDTH: i32 = 680;
/// Room for the names at the left.
const LEFT: i32 = 204;
const ROW: i32 = 24;
/// Room for the names of loads.
const TOP: i32 = 26;
const BOTTOM: i32 = 40;
/// Beside each panel, left and right: together as wide as a label below the axis.
const BESIDE: (i32, i32) = (20, 26);

/// Characters of a name that fit at the left: 7.2 units each, of size 12 in a common face.
const NAME: usize = 27;

/// From a limit to the sign of what lies somewhere beyond it.
const BEYOND: i32 = 8;

/// A label below the axis with what parts it from the next.
const LABEL: f64 = 46.0;

/// All uses under one load.
#[derive(Clone)]
pub(crate) struct Panel {
    /// The load, or the platform.
    pub title: String,
    /// One for each use; nothing where it was not judged.
    pub marks: Vec<Option<Mark>>,
}

/// What was judged, and its limit, in nanoseconds.
#[derive(Clone)]
pub(crate) struct Mark {
    /// The verdict.
    pub outcome: Outcome,
    /// How late it may be.
    pub limit_ns: f64,
    /// How late it is; nothing where samples do not tell.
    pub late_ns: Option<f64>,
    /// Later than the limit, but by how much is not known.
    pub beyond: bool,
    /// From where to where that may be.
    pub interval_ns: Option<(f64, f64)>,
    /// All of it in words.
    pub told: String,
}

impl Mark {
    fn values(&self) -> impl Iterator<Item = f64> {
        let interval = self.interval_ns.into_iter().flat_map(|(a, b)| [a, b]);
        [Some(self.limit_ns), self.late_ns]
            .into_iter()
            .flatten()
            .chain(interval)
    }
}

/// The axis that fits all of `panels`.
pub(crate) fn range<'a>(panels: impl Iterator<Item = &'a Panel>) -> Range<f64> {
    decades(panels.flat_map(|p| p.marks.iter().flatten().flat_map(Mark::values)))
}

/// How a verdict is drawn: its sign says the same as its colour.
pub(crate) fn sign(outcome: Outcome) -> (Sign, Look) {
    match outcome {
        Outcome::Pass => (Sign::Dot, Look::of(1, 0)),
        Outcome::WithRemedy => (Sign::Plus, Look::of(2, 0)),
        Outcome::NearLimit => (Sign::Square, Look::of(3, 0)),
        Outcome::Inconclusive | Outcome::NotMeasured => (Sign::Diamond, Look::of(3, 0)),
        Outcome::Fail => (Sign::Cross, Look::of(0, 0)),
    }
}

/// Draws `panels` beside each other, with the names of their rows.
pub(crate) fn draw(names: &[String], panels: &[Panel], values: &Range<f64>, label: &str) -> Drawn {
    let rows = names.len() as i32;
    let height = TOP + rows * ROW + BOTTOM;
    canvas(
        (WIDTH as u32, height as u32),
        label,
        "limits",
        |root, tools| {
            for (i, name) in names.iter().enumerate() {
                let middle = TOP + i as i32 * ROW + ROW / 2;
                let style = text(Ink::Title, 12, HPos::Right, VPos::Center);
                root.draw_text(&shortened(name, NAME), &style, (u(LEFT - 8), u(middle)))?;
            }
            let wide = (WIDTH - LEFT) / panels.len().max(1) as i32;
            for (i, panel) in panels.iter().enumerate() {
                let corner = (u(LEFT + i as i32 * wide), 0);
                let area = root.clone().shrink(corner, (u(wide), u(height)));
                let told = |mark: &Option<Mark>| mark.as_ref().map(|m| m.told.clone());
                let told = panel.marks.iter().map(told);
                tools.tell(told.map(Option::unwrap_or_default).collect());
                one(&area, tools, panel, rows, values)?;
            }
            let style = text(Ink::Title, 12, HPos::Center, VPos::Bottom);
            let middle = u((LEFT + WIDTH) / 2);
            root.draw_text(
                "how late a thread wakes up",
                &style,
                (middle, u(height - 3)),
            )?;
            Ok(())
        },
    )
}

fn one(
    area: &Area<'_>,
    tools: &super::Tools,
    panel: &Panel,
    rows: i32,
    values: &Range<f64>,
) -> Result<(), Failure> {
    let style = Style {
        size: 12,
        tick: 0,
        top: TOP,
        right: BESIDE.1,
        bottom: 0,
    };
    let unmarked = |_: &f64| String::new();
    let x = Axis {
        lines: false,
        ..Axis::log(values, "ns", &unmarked)
    };
    let y = Axis {
        labels: 0,
        lines: false,
        room: BESIDE.0,
        ..Axis::linear(f64::from(rows)..0.0, "", &unmarked)
    };
    let chart = tools.frames.draw(area, &style, x, y)?;
    let plot = chart.plotting_area();
    let (base, top) = area.get_base_pixel();
    let wide = f64::from(area.dim_in_pixel().0) / f64::from(u(1));
    let room = wide - f64::from(BESIDE.0 + BESIDE.1);
    let decade = room / span(values) as f64;
    let step = (LABEL / decade).ceil().max(1.0) as usize;
    for exponent in 0..=span(values) {
        let at = values.start * 10f64.powi(exponent as i32);
        let line = vec![(at, 0.0), (at, f64::from(rows))];
        plot.draw(&PathElement::new(line, Ink::Grid.color()))?;
        let (x, y) = plot.map_coordinate(&(at, f64::from(rows)));
        if exponent % step == 0 {
            let style = text(Ink::Label, 12, HPos::Center, VPos::Top);
            area.draw_text(&time_tick(&at), &style, (x - base, y - top + u(4)))?;
        }
    }
    let (left, _) = plot.get_base_pixel();
    let title = text(Ink::Title, 12, HPos::Left, VPos::Top);
    let fit = ((wide - f64::from(BESIDE.0)) / 7.2) as usize;
    area.draw_text(&shortened(&panel.title, fit), &title, (left - base, u(6)))?;
    for (i, mark) in panel.marks.iter().enumerate() {
        if let Some(mark) = mark {
            draw_mark(area, plot, i, mark, values)?;
        }
    }
    Ok(())
}

/// The limit as a bar across its row, the interval as a line, the verdict as a sign.
fn draw_mark<X, Y>(
    area: &Area<'_>,
    plot: &DrawingArea<super::backend::CompactSvg<'_>, Cartesian2d<X, Y>>,
    row: usize,
    mark: &Mark,
    values: &Range<f64>,
) -> Result<(), Failure>
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    let y = row as f64 + 0.5;
    let edge = |ns: f64| ns.clamp(values.start, values.end);
    let (sign, look) = sign(mark.outcome);
    let limit = edge(mark.limit_ns);
    let bar = vec![(limit, y - 0.38), (limit, y + 0.38)];
    plot.draw(&PathElement::new(bar, Ink::Median(look).color()))?;
    let line = Ink::Line(look).color();
    if let Some((low, high)) = mark.interval_ns {
        plot.draw(&PathElement::new(
            vec![(edge(low), y), (edge(high), y)],
            line,
        ))?;
    }
    let (base, top) = area.get_base_pixel();
    let Some(late) = mark.late_ns.or(mark.beyond.then_some(mark.limit_ns)) else {
        // On the side of the limit that has more room.
        let middle = (values.start * values.end).sqrt();
        let (end, side, away) = match limit < middle {
            true => (values.end, HPos::Right, -3),
            false => (values.start, HPos::Left, 3),
        };
        let (x, y) = plot.map_coordinate(&(end, y));
        let style = text(Ink::Label, 11, side, VPos::Center);
        let at = (x - base + u(away), y - top);
        return area.draw_text("not known", &style, at);
    };
    if sign == Sign::Dot {
        let dot = Circle::new((edge(late), y), 1, Ink::End(look).color());
        return plot.draw(&dot);
    }
    let (x, y) = plot.map_coordinate(&(edge(late), y));
    // Beside the limit, with an arrow onwards.
    let away = match mark.late_ns {
        Some(_) => 0,
        None => BEYOND,
    };
    let at = |dx: i32, dy: i32| (x - base + u(dx + away), y - top + u(dy));
    let mut strokes = match sign {
        Sign::Cross => vec![vec![at(-4, -4), at(4, 4)], vec![at(4, -4), at(-4, 4)]],
        Sign::Plus => vec![vec![at(-5, 0), at(5, 0)], vec![at(0, -5), at(0, 5)]],
        Sign::Square => vec![vec![at(-4, -4), at(4, -4), at(4, 4), at(-4, 4), at(-4, -4)]],
        _ => vec![vec![at(0, -5), at(5, 0), at(0, 5), at(-5, 0), at(0, -5)]],
    };
    if away > 0 {
        strokes.push(vec![at(7, 0), at(14, 0)]);
        strokes.push(vec![at(11, -3), at(14, 0), at(11, 3)]);
    }
    for stroke in strokes {
        area.draw(&PathElement::new(stroke, line))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(outcome: Outcome, late_ns: f64) -> Option<Mark> {
        Some(Mark {
            outcome,
            limit_ns: 5e6,
            late_ns: Some(late_ns),
            beyond: false,
            interval_ns: Some((late_ns * 0.9, late_ns * 1.1)),
            told: format!("late by {late_ns}"),
        })
    }

    #[test]
    fn each_verdict_has_a_sign_of_its_own_and_each_use_its_limit() {
        let outcomes = [
            Outcome::Pass,
            Outcome::WithRemedy,
            Outcome::NearLimit,
            Outcome::Inconclusive,
            Outcome::Fail,
        ];
        let marks = outcomes.map(|o| mark(o, 2e5));
        let panel = |title: &str| Panel {
            title: title.into(),
            marks: marks.to_vec(),
        };
        let panels = [panel("idle"), panel("cpu:level=70")];
        let values = range(panels.iter());
        assert_eq!(values, 1e5..1e7);
        let names = [
            "VoIP",
            "audio",
            "a use of a very, very long name",
            "game",
            "pacing",
        ];
        let names = names.map(str::to_owned);
        let drawn = draw(&names, &panels, &values, "what").expect("it can be drawn");
        let count = |what: &str| drawn.matches(what).count();
        // Limits of a row are one path each, since their verdicts differ.
        assert_eq!(count(r#"<path class="n "#), 10);
        assert_eq!(count(r#"<path class="e "#), 2, "a dot for what passes");
        assert!(drawn.contains("late by 200000") && drawn.contains("a use of a very, very long…"));
        let signs = outcomes.map(|o| format!("{:?}", sign(o).0));
        assert_eq!(signs, ["Dot", "Plus", "Square", "Diamond", "Cross"]);
    }

    #[test]
    fn what_lies_somewhere_beyond_its_limit_is_drawn_beyond_it() {
        let known = mark(Outcome::Fail, 6e6).expect("a mark");
        let drawn = |late_ns, beyond| {
            let mark = Mark {
                late_ns,
                beyond,
                interval_ns: None,
                ..known.clone()
            };
            let panel = Panel {
                title: "idle".into(),
                marks: vec![Some(mark)],
            };
            let values = 1e5..1e8;
            draw(&["VoIP".to_owned()], &[panel], &values, "what").expect("it can be drawn")
        };
        let strokes = |svg: &str| svg.matches(r#"<path class="l "#).count();
        let (unknown, beyond) = (drawn(None, false), drawn(None, true));
        assert!(unknown.contains("not known") && !beyond.contains("not known"));
        assert_eq!(strokes(&unknown), 0);
        assert!(strokes(&beyond) > 0, "{beyond}");
    }
}
