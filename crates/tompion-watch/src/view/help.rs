//! What the keys do and the signs mean.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::Look;
use crate::keys::KEYS;

const NOTES: &[&str] = &[
    "A slice is a quarter of a second of sleeps; the plot has its median, the",
    "latency that 1 % exceeded, and its greatest. After eight of them a busy loop",
    "runs for half a second, and tells the stalls and their causes. Nothing is",
    "drawn while anything is measured. The second line is of the last slice; the",
    "CCDF is of what is chosen now, of the last five minutes. Worst cases are",
    "those since the beginning or the last r, with the cause that was seen.",
    "Steal is the time that the hypervisor gave to others, of all CPUs' time; own",
    "is what drawing and observing take, of one CPU. Times of day are UTC.",
];

/// Draws the help in place of everything else.
pub fn draw(frame: &mut Frame<'_>, area: Rect, look: Look) {
    let mut lines = vec![
        Line::styled("tompion watch: keys", look.strong()),
        Line::default(),
    ];
    lines.extend(KEYS.iter().map(|(key, what)| {
        Line::from(vec![
            Span::styled(format!("  {key:<10}"), look.tail()),
            Span::raw(*what),
        ])
    }));
    lines.push(Line::default());
    lines.extend(NOTES.iter().map(|note| Line::from(*note)));
    lines.push(Line::default());
    lines.push(Line::from("Any key closes this help."));
    frame.render_widget(Paragraph::new(lines), area);
}
