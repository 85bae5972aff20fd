//! Texts without what a terminal or a page would act on: they may come from strangers.

use std::borrow::Cow;

/// Whether a character is shown as itself: none that controls a terminal, breaks a line or
/// turns the direction of writing.
pub fn is_printable(c: char) -> bool {
    // All that have Unicode's property Bidi_Control, and both separators of lines.
    !(c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

/// The text, with a space for each character that is not printable.
pub fn printable(text: &str) -> Cow<'_, str> {
    match text.chars().all(is_printable) {
        true => Cow::Borrowed(text),
        false => text
            .chars()
            .map(|c| if is_printable(c) { c } else { ' ' })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_become_spaces_and_all_else_stays() {
        assert_eq!(
            printable("a\u{1b}[31mb\nc\u{9b}d\u{202e}e\u{200f}f\u{61c}g"),
            "a [31mb c d e f g"
        );
        assert!(matches!(printable("µs · ≥ 1 \"x\""), Cow::Borrowed(_)));
    }
}
