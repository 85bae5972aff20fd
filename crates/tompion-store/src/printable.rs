//! JSON without what a terminal or a page would act on: runs may come from strangers.

use std::borrow::Cow;

use tompion_model::is_printable;

/// JSON whose texts are printable. Nearly always it is so as it stands, and nothing is
/// copied; what is no JSON is left to whoever reads it.
///
/// It goes from text to text: a tree of values would take a hundred times the memory of what
/// somebody chooses to send.
pub(super) fn printable_json(text: &str) -> Cow<'_, str> {
    // What is not printable may stand escaped. Line breaks between the values are none of them.
    let is_plain = |c| is_printable(c) || matches!(c, '\n' | '\r' | '\t');
    if !text.contains('\\') && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::new();
    // What stands before this is in `clean`.
    let mut from = 0;
    let mut at = 0;
    let mut is_within = false;
    while let Some(c) = text[at..].chars().next() {
        let (shown, end) = match c {
            '"' => {
                is_within = !is_within;
                (true, at + 1)
            }
            '\\' if is_within => {
                let escaped = Escaped::read(&text[at..]);
                (escaped.is_printable, at + escaped.length)
            }
            // Below a space they are no JSON in a text, and between texts only space is.
            c => (c < ' ' || !is_within || is_printable(c), at + c.len_utf8()),
        };
        if !shown {
            clean.push_str(&text[from..at]);
            clean.push(' ');
            from = end;
        }
        at = end;
    }
    match from {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(clean + &text[from..]),
    }
}

/// A character of JSON that is written behind a backslash.
struct Escaped {
    /// In bytes, the backslash included.
    length: usize,
    is_printable: bool,
}

impl Escaped {
    /// The one that `text` begins with.
    fn read(text: &str) -> Self {
        let of = |length, is_printable| Self {
            length,
            is_printable,
        };
        match text[1..].chars().next() {
            Some('b' | 'f' | 'n' | 'r' | 't') => of(2, false),
            Some('u') => {
                let code = text
                    .get(2..6)
                    .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
                match code.map(|digits| u32::from_str_radix(digits, 16)) {
                    // Halves of a pair stand for what is printable, or for nothing.
                    Some(Ok(code)) => of(6, char::from_u32(code).is_none_or(is_printable)),
                    _ => of(2, true),
                }
            }
            Some(other) => of(1 + other.len_utf8(), true),
            None => of(1, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;
    use tompion_model::printable;

    #[test]
    fn texts_in_json_are_cleaned_escaped_or_not_and_keys_too() {
        let hostile =
            "{\n  \"host\": \"a\\u001b[2Jb\\nssh-rsa\", \"n\": [\"\u{9b}x\"], \"k\\n\": 1.50}";
        let clean: Value = serde_json::from_str(&printable_json(hostile)).unwrap();
        assert_eq!(
            clean,
            serde_json::json!({"host": "a [2Jb ssh-rsa", "n": [" x"], "k ": 1.5})
        );
        for harmless in [
            "{\n\t\"a\": \"b c\"\r\n}",
            "{\"a\": \"say \\\"x\\\"\"}",
            "no JSON \\u001b",
        ] {
            assert!(
                matches!(printable_json(harmless), Cow::Borrowed(_)),
                "{harmless}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_cleaning_each_text_gives(
            keys in prop::collection::vec(r#"[a-z\\"\x1b\n\u{202e}é🙂]{0,6}"#, 0..4),
            texts in prop::collection::vec(r"[ -~\x1b\n\u{9b}\u{2028}é🙂]{0,12}", 0..4),
        ) {
            let clean = |t: &String| printable(t).into_owned();
            let distinct: std::collections::BTreeSet<String> = keys.iter().map(clean).collect();
            prop_assume!(distinct.len() == keys.len());
            let pairs = |clean: &dyn Fn(&String) -> String| -> Value {
                let pairs = keys.iter().map(clean).zip(texts.iter().map(clean));
                pairs.map(|(key, text)| (key, Value::from(text))).collect()
            };
            let raw = pairs(&|t| t.clone());
            for json in [raw.to_string(), format!("{raw:#}")] {
                let got: Value = serde_json::from_str(&printable_json(&json)).unwrap();
                prop_assert_eq!(got, pairs(&clean));
            }
        }

        #[test]
        fn what_is_no_json_does_not_become_some(text in r#"[\\"u0-9a-f\x1b\u{9b} {}:,\n]{0,40}"#) {
            let clean = printable_json(&text);
            prop_assert!(clean.len() <= text.len());
            let is_json = |t: &str| serde_json::from_str::<serde::de::IgnoredAny>(t).is_ok();
            prop_assert_eq!(is_json(&clean), is_json(&text));
        }
    }
}
