//! Lengths in two-level binary bins with counts on a logarithmic axis, as in
//! Perneel 2015, figure 5.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axes::{MOST_LABELS, decades, span, text, time_tick};
use super::frame::{Axis, Style, u};
use super::theme::{Ink, Look};
use super::{Drawn, canvas};
use crate::figures::percent;
use crate::stalls::Bin;

/// Size in SVG units.
const SIZE: (u32, u32) = (500, 330);

/// Room for the shares at the right.
const RIGHT: i32 = 74;

/// The foot of the bars, so that a single value is a bar.
const FOOT: f64 = 0.6;

/// The axes that fit all of `bins`: lengths and counts.
pub(crate) fn ranges<'a>(bins: impl Iterator<Item = &'a Bin> + Clone) -> (Range<f64>, f64) {
    let lengths = decades(bins.clone().flat_map(|b| [b.low_ns, b.high_ns]));
    let most = bins.map(|b| b.weight).fold(1.0, f64::max);
    (lengths, 10f64.powf((most * 1.02).log10().ceil().max(1.0)))
}

/// Draws `bins`; `label` names the figure.
pub(crate) fn draw(bins: &[Bin], (lengths, most): &(Range<f64>, f64), label: &str) -> Drawn {
    let total: f64 = bins.iter().map(|b| b.weight).sum();
    let width = SIZE.0 as i32;
    canvas(SIZE, label, "histogram", |root, tools| {
        let style = Style {
            top: 24,
            right: RIGHT,
            ..Style::USUAL
        };
        let x = Axis {
            labels: (span(lengths) + 1).min(MOST_LABELS),
            name: "length of an iteration, binary bins",
            ..Axis::log(lengths, "ns", &time_tick)
        };
        let y = Axis {
            lines: false,
            room: 58,
            ..Axis::log(&(FOOT..*most), "count", &|_| String::new())
        };
        tools.tell(vec!["iterations".to_owned()]);
        let chart = tools.frames.draw(root, &style, x, y)?;
        let area = chart.plotting_area();
        let decades = most.log10().round() as i32;
        // Plotters has no second axis of shares on the same lines.
        for e in 0..=decades {
            let n = 10f64.powi(e);
            let line = vec![(lengths.start, n), (lengths.end, n)];
            area.draw(&PathElement::new(line, Ink::Grid.color()))?;
            let (left, y) = area.map_coordinate(&(lengths.start, n));
            let (right, _) = area.map_coordinate(&(lengths.end, n));
            let style = text(Ink::Label, 12, HPos::Right, VPos::Center);
            root.draw_text(&count_tick(e), &style, (left - u(6), y))?;
            let style = text(Ink::Label, 12, HPos::Left, VPos::Center);
            let share = n / total.max(1.0);
            if share <= 1.0 {
                root.draw_text(&share_tick(share), &style, (right + u(6), y))?;
            }
        }
        for b in bins {
            let edge = |ns: f64| ns.clamp(lengths.start, lengths.end);
            let corners = [
                (edge(b.low_ns), FOOT),
                (edge(b.high_ns), b.weight.clamp(FOOT, *most)),
            ];
            area.draw(&Rectangle::new(corners, Ink::Bar(Look::of(1, 0)).color()))?;
        }
        let style = text(Ink::Title, 12, HPos::Left, VPos::Top);
        root.draw_text("iterations", &style, (u(6), u(4)))?;
        let style = text(Ink::Title, 12, HPos::Right, VPos::Top);
        root.draw_text("share", &style, (u(width - 6), u(4)))?;
        Ok(())
    })
}

fn count_tick(exponent: i32) -> String {
    match exponent {
        0..=3 => crate::figures::count(10u64.pow(exponent as u32)),
        e => format!("10{}", super::axes::superscript(e)),
    }
}

fn share_tick(share: f64) -> String {
    if share < 0.000_05 {
        // Rounds to one digit first: 9.6 is 1 of the next power.
        let rounded = format!("{:.0e}", share * 100.0);
        if let Some((lead, e)) = rounded.split_once('e') {
            let e = e.parse().unwrap_or_default();
            return format!("{lead}·10{} %", super::axes::superscript(e));
        }
    }
    percent(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_read_well() {
        assert_eq!([0, 3, 7].map(count_tick), ["1", "1\u{202f}000", "10⁷"]);
        assert_eq!(share_tick(0.012_3), "1.23 %");
        assert_eq!(share_tick(2e-8), "2·10⁻⁶ %");
        assert_eq!([9.6e-6, 9.4e-6].map(share_tick), ["1·10⁻³ %", "9·10⁻⁴ %"]);
    }

    #[test]
    fn shares_have_room() {
        // 7.2 units a character at most: size 12 in a common sans-serif face.
        for share in (0..4_000).map(|i| 10f64.powf(-f64::from(i) / 300.0)) {
            let tick = share_tick(share);
            let wide = 6.0 + 7.2 * tick.chars().count() as f64;
            assert!(wide <= f64::from(RIGHT), "{tick}");
        }
    }
}
