//! Texts without what a terminal or a page would act on: they may come from strangers.

use std::borrow::Cow;

/// Whether a character is shown as itself: none that controls a terminal, breaks a line, turns the
/// direction of writing, or takes no room, so that two texts would look alike that are not.
pub fn is_printable(c: char) -> bool {
    // All that have Unicode's property Bidi_Control, and both separators of lines.
    let controls = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !(c.is_control() || controls || is_invisible(c) || is_none(c))
}

/// Whether a number is that of no character, and never will be (Unicode 16, section 23.7): XML has no place for some of them.
fn is_none(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe
}

/// Whether a character takes no room, or that of a space without being one: all that have the property
/// Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties.txt), marks of interlinear notes
/// and of musical notation that no font shows, joiners of hieroglyphs, and the empty pattern of Braille.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
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
    shortened_to(text, SHORT)
}

/// The same with so many characters, and the mark ` ...` behind them where there were more.
pub fn shortened_to(text: &str, most: usize) -> String {
    // No more is looked at than is kept.
    let mut left = text.chars();
    let kept: String = left.by_ref().take(most).collect();
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

    #[test]
    fn what_is_no_character_is_none() {
        for none in [
            '\u{fffe}',
            '\u{ffff}',
            '\u{fdd0}',
            '\u{fdef}',
            '\u{1fffe}',
            '\u{10ffff}',
        ] {
            assert_eq!(printable(&format!("a{none}b")), "a b");
        }
        assert!(
            ['\u{fffd}', '\u{fdf0}', '\u{1fffd}']
                .into_iter()
                .all(is_printable)
        );
    }

    #[test]
    fn what_takes_no_room_is_seen() {
        assert_eq!(
            printable("id\u{200b}le p\u{ad}a\u{2060}y\u{feff}p\u{3164}a\u{e0041}l\u{fe0f}"),
            "id le p a y p a l "
        );
        // Letters of all scripts, and marks upon them, are shown.
        for text in [
            "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
            "e\u{301}",
            "\u{65e5}\u{672c}",
            "\u{1f642}",
        ] {
            assert!(matches!(printable(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
