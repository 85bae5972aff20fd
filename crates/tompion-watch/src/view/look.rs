//! Colours, none of which carries a meaning alone.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// How it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether the terminal shows colours and its user wants them.
    pub color: bool,
}

impl Look {
    /// As `NO_COLOR` (<https://no-color.org>) and `TERM` ask for it. The sequences that
    /// colour a line make it blink on a terminal that has no colours.
    pub fn fitting(no_color: Option<&str>, term: &str) -> Self {
        let is_mono = term.starts_with("vt") || term.ends_with("-m") || term.ends_with("-mono");
        Self {
            color: no_color.is_none_or(str::is_empty) && !is_mono,
        }
    }

    fn with(self, color: Color) -> Style {
        match self.color {
            true => Style::new().fg(color),
            false => Style::new(),
        }
    }

    /// Medians, and what is as it should be.
    pub(super) fn calm(self) -> Style {
        self.with(Color::Cyan)
    }

    /// 99th percentiles.
    pub(super) fn tail(self) -> Style {
        self.with(Color::Yellow)
    }

    /// Greatest values, and what must not be overlooked.
    pub(super) fn alarm(self) -> Style {
        self.with(Color::LightRed).add_modifier(Modifier::BOLD)
    }

    /// Side remarks.
    pub(super) fn quiet(self) -> Style {
        self.with(Color::DarkGray)
    }

    /// Figures.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

/// A title with a rule after it; what is left of the area.
pub(super) fn titled(buffer: &mut Buffer, area: Rect, title: Vec<Span<'_>>, look: Look) -> Rect {
    let mut line = Line::from(title);
    let used = line.width() + 1;
    let rest = usize::from(area.width).saturating_sub(used);
    line.push_span(Span::raw(" "));
    line.push_span(Span::styled("─".repeat(rest), look.quiet()));
    buffer.set_line(area.x, area.y, &line, area.width);
    Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_left_out_where_they_are_not_wanted_or_not_known() {
        for (no_color, term, color) in [
            (None, "xterm-256color", true),
            (Some(""), "screen", true),
            (Some("1"), "xterm-256color", false),
            (None, "vt100", false),
            (None, "vt220", false),
            (None, "linux-m", false),
            (None, "xterm-mono", false),
            (None, "linux", true),
        ] {
            assert_eq!(
                Look::fitting(no_color, term).color,
                color,
                "{no_color:?} {term}"
            );
        }
    }
}
