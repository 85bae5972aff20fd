//! Wake-up latency over the last minutes.

use std::time::Duration;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::Look;
use super::axis::{Axis, label};
use super::look::titled;
use crate::{Setting, Slice, State, WINDOW};

/// Columns of the labels on the left.
const LABELS: u16 = 7;

/// What one column of the plot shows.
#[derive(Clone, Copy, Debug)]
struct Column {
    p50_ns: f64,
    p99_ns: f64,
    max_ns: f64,
    setting: Setting,
    /// Whether something else was chosen before.
    is_switched: bool,
}

/// Draws it: the newest slices on the right.
pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    let buffer = frame.buffer_mut();
    let title = vec![
        Span::styled("Wake-up latency", look.strong()),
        Span::raw(" of each slice: "),
        Span::styled("· p50", look.calm()),
        Span::raw("  "),
        Span::styled("+ p99", look.tail()),
        Span::raw("  "),
        Span::styled("^ max", look.alarm()),
        Span::raw("  : switched"),
    ];
    let area = titled(buffer, area, title, look);
    let [width, height] = [
        area.width.saturating_sub(LABELS),
        area.height.saturating_sub(1),
    ];
    let columns = columns(state, width);
    let points = columns.iter().flatten();
    let low = points.clone().map(|c| c.p50_ns).fold(f64::MAX, f64::min);
    let high = points.clone().map(|c| c.max_ns).fold(0.0, f64::max);
    times(buffer, area, width, shown(state));
    if points.count() == 0 {
        let text = "no slice measured yet";
        buffer.set_string(area.x + LABELS, area.y + height / 2, text, look.quiet());
        return;
    }
    let axis = Axis::around(low, high);
    let row = |ns: f64| area.y + height - 1 - axis.cell(ns, height);
    for y in [0, height / 2, height - 1] {
        let text = format!("{:>6}", label(axis.value(height - 1 - y, height)));
        buffer.set_string(area.x, area.y + y, text, look.quiet());
    }
    for (x, column) in columns.iter().enumerate() {
        let Some(column) = column else { continue };
        let x = area.x + LABELS + x as u16;
        if column.is_switched {
            (0..height).for_each(|y| put(buffer, x, area.y + y, ":", look.quiet()));
        }
        // What is greater is drawn over what is smaller.
        put(buffer, x, row(column.p50_ns), "·", look.calm());
        put(buffer, x, row(column.p99_ns), "+", look.tail());
        put(buffer, x, row(column.max_ns), "^", look.alarm());
    }
}

fn put(buffer: &mut Buffer, x: u16, y: u16, symbol: &str, style: Style) {
    buffer.set_string(x, y, symbol, style);
}

/// How far the plot reaches back: a minute as long as there is no more to show.
fn shown(state: &State) -> Duration {
    const FIRST: Duration = Duration::from_secs(60);
    match state.slices().next() {
        Some(oldest) if state.now().saturating_sub(oldest.at) > FIRST => WINDOW,
        _ => FIRST,
    }
}

/// What is shown cut into `width` columns, the oldest first. A column that holds several
/// slices shows the greatest of their p99 and maxima, and the median of their medians.
fn columns(state: &State, width: u16) -> Vec<Option<Column>> {
    let each = shown(state).as_secs_f64() / f64::from(width.max(1));
    // Columns stand still: they begin at multiples of their length.
    let now = (state.now().as_secs_f64() / each) as i64;
    let mut slots: Vec<Vec<&Slice>> = vec![Vec::new(); usize::from(width)];
    for slice in state.slices() {
        let back = now - (slice.at.as_secs_f64() / each) as i64;
        let place = i64::from(width) - 1 - back;
        if let Some(slot) = usize::try_from(place).ok().and_then(|p| slots.get_mut(p)) {
            slot.push(slice);
        }
    }
    let mut before = None;
    slots
        .into_iter()
        .map(|slices| {
            let last = slices.last()?;
            let mut p50: Vec<f64> = slices.iter().map(|s| s.p50_ns).collect();
            p50.sort_by(f64::total_cmp);
            let most =
                |value: fn(&Slice) -> f64| slices.iter().map(|s| value(s)).fold(0.0, f64::max);
            let column = Column {
                p50_ns: p50[p50.len() / 2],
                p99_ns: most(|s| s.p99_ns),
                max_ns: most(|s| s.max_ns),
                setting: last.setting,
                is_switched: slices
                    .iter()
                    .any(|s| before.is_some_and(|b: Setting| b != s.setting)),
            };
            before = Some(column.setting);
            Some(column)
        })
        .collect()
}

/// How long ago, below the plot, in fifths.
fn times(buffer: &mut Buffer, area: Rect, width: u16, shown: Duration) {
    const FIFTHS: u64 = 5;
    let y = area.bottom().saturating_sub(1);
    for back in 0..=FIFTHS {
        let share = back as f64 / FIFTHS as f64;
        let seconds = shown.as_secs() * back / FIFTHS;
        let text = match seconds {
            0 => "now".to_owned(),
            s if s % 60 == 0 && shown >= WINDOW => format!("-{}min", s / 60),
            s => format!("-{s}s"),
        };
        let x = area.x + LABELS + ((1.0 - share) * f64::from(width - 1)).round() as u16;
        let x = match back {
            0 => x - 2,
            FIFTHS => x,
            _ => x - (text.len() / 2) as u16,
        };
        buffer.set_string(x, y, text, Style::new());
    }
}
