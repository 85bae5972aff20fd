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

/// The most characters of [`shortened`].
const SHORT: usize = 400;

/// The same text, printable, and cut off where it is longer than anybody wants to read in one line:
/// for words of programs and machines that may say anything.
pub fn shortened(text: &str) -> String {
    // No more is looked at than is kept.
    let mut left = text.chars();
    let kept: String = left.by_ref().take(SHORT).collect();
    let mut kept = printable(&kept).into_owned();
    if left.next().is_some() {
        kept.push_str(" ...");
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shortened_is_one_plain_line() {
        assert_eq!(shortened("as it is"), "as it is");
        let long = format!("\u{1b}[2J\nx{}", "y".repeat(1 << 20));
        let short = shortened(&long);
        assert!(
            short.starts_with(" [2J x") && short.ends_with("y ..."),
            "{short}"
        );
        assert_eq!(short.chars().count(), SHORT + 4);
    }

    #[test]
    fn controls_become_spaces_and_all_else_stays() {
        assert_eq!(
            printable("a\u{1b}[31mb\nc\u{9b}d\u{202e}e\u{200f}f\u{61c}g"),
            "a [31mb c d e f g"
        );
        assert!(matches!(printable("µs · ≥ 1 \"x\""), Cow::Borrowed(_)));
    }
}
