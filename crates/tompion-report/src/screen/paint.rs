//! The few colours of the summary.

/// Adds ANSI sequences, or nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    /// Whether the reader wants them.
    pub color: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Headings and the verdict.
    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// Side remarks.
    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// What must not be overlooked.
    pub(crate) fn warn(self, text: &str) -> String {
        self.with("1;33", text)
    }

    /// A passed check.
    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    /// Colours the outcome glyphs of a finished table, whose widths thus stay.
    pub(super) fn glyphs(self, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        text.replace('✓', &self.good("✓"))
            .replace('✗', &self.with("31", "✗"))
            .replace("? ", &self.with("33", "? "))
    }
}
