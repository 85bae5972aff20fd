//! The share of wake-ups later than a time.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::Look;
use super::axis::{Axis, label};
use super::look::titled;
use crate::State;

/// Columns of the labels on the left.
const LABELS: u16 = 7;

/// Draws it for what is chosen now: both axes logarithmic.
pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    let buffer = frame.buffer_mut();
    let spread = state.spread();
    let samples = state.samples();
    let title = vec![
        Span::styled("CCDF", look.strong()),
        Span::raw(format!(", share later than (n={samples})")),
    ];
    let area = titled(buffer, area, title, look);
    let (width, height) = (area.width - LABELS, area.height - 1);
    let Some((low, high)) = spread.range() else {
        buffer.set_string(
            area.x,
            area.y + height / 2,
            "nothing measured yet",
            look.quiet(),
        );
        return;
    };
    let axis = Axis::around(low, high);
    // One of all samples is the smallest share there can be.
    let decades = (samples as f64).log10().ceil().max(1.0);
    let row = |share: f64| {
        let down = -share.log10() / decades * f64::from(height - 1);
        area.y + (down.round() as u16).min(height - 1)
    };
    for y in [0, (height - 1) / 2, height - 1] {
        let share = -f64::from(y) / f64::from(height - 1).max(1.0) * decades;
        let text = match y {
            0 => "all".to_owned(),
            _ => one_in(10f64.powf(-share)),
        };
        buffer.set_string(area.x, area.y + y, format!("{text:>6}"), look.quiet());
    }
    for x in 0..width {
        let share = spread.share_above(axis.value(x, width));
        if let Some(share) = share.filter(|s| *s > 0.0) {
            buffer.set_string(area.x + LABELS + x, row(share), "*", look.tail());
        }
    }
    let y = area.y + height;
    let right = label(axis.value(width - 1, width));
    let middle = label(axis.value(width / 2, width));
    let left = label(axis.value(0, width));
    buffer.set_string(area.x + LABELS, y, left, look.quiet());
    let centre = area.x + LABELS + width / 2;
    buffer.set_string(centre - (middle.len() / 2) as u16, y, middle, look.quiet());
    buffer.set_string(area.right() - right.len() as u16, y, right, look.quiet());
}

/// `1/20`, `1/320`, `1/30k`, `1/1M`.
fn one_in(n: f64) -> String {
    match n {
        n if n < 95.0 => format!("1/{n:.0}"),
        n if n < 995.0 => format!("1/{:.0}", (n / 10.0).round() * 10.0),
        n if n < 995e3 => format!("1/{:.0}k", n / 1e3),
        n => format!("1/{:.0}M", n / 1e6),
    }
}
