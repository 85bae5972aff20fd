//! Drawing.

mod axis;
mod ccdf;
mod help;
mod look;
mod panels;
mod plot;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::Line;

use crate::State;
pub use look::Look;

/// Columns that the view needs.
pub const WIDTH: u16 = 80;

/// Rows that the view needs.
pub const HEIGHT: u16 = 24;

/// Draws everything. A terminal smaller than [`WIDTH`] by [`HEIGHT`] is told so in a line.
pub fn draw(frame: &mut Frame<'_>, state: &State, look: Look) {
    let area = frame.area();
    if area.width < WIDTH || area.height < HEIGHT {
        let text = format!(
            "{}x{} is too small: {WIDTH}x{HEIGHT} needed; q quits",
            area.width, area.height
        );
        frame.render_widget(Line::from(text), area);
        return;
    }
    if state.shows_help() {
        return help::draw(frame, area, look);
    }
    let spare = area.height - HEIGHT;
    let [head, clock, plot, middle, worst, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(2),
        Constraint::Min(8),
        Constraint::Length(7 + spare / 4),
        Constraint::Length(4 + spare / 4),
        Constraint::Length(1),
    ])
    .areas(area);
    let [left, _, right] = Layout::horizontal([
        Constraint::Fill(1),
        Constraint::Length(2),
        Constraint::Fill(1),
    ])
    .areas(middle);
    panels::head(frame, head, state, look);
    panels::clock(frame, clock, state, look);
    plot::draw(frame, plot, state, look);
    ccdf::draw(frame, left, state, look);
    panels::causes(frame, right, state, look);
    panels::worst(frame, worst, state, look);
    panels::foot(frame, foot, state, look);
}
