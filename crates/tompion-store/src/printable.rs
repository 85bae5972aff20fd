//! JSON without what a terminal or a page would act on: runs may come from strangers.

use tompion_model::is_printable;

/// JSON whose texts are printable. Nearly always it is so as it stands; what is no JSON is left to
/// whoever reads it.
///
/// It goes from text to text, in the memory that there is: a tree of values would take a hundred times
/// the memory of what somebody chooses to send.
pub(super) fn printable_json(text: String) -> String {
    // What is not printable may stand escaped. Line breaks between the values are none of them.
    let is_plain = |c| is_printable(c) || matches!(c, '\n' | '\r' | '\t');
    if !text.contains('\\') && text.chars().all(is_plain) {
        return text;
    }
    let mut bytes = text.into_bytes();
    // What of it stands so far ends here, never behind what is looked at next.
    let (mut clean, mut at) = (0, 0);
    let mut is_within = false;
    while let Some(c) = first(&bytes[at..]) {
        let (shown, length) = match c {
            '"' => {
                is_within = !is_within;
                (true, 1)
            }
            '\\' if is_within => {
                let escaped = Escaped::read(&bytes[at..]);
                (escaped.is_printable, escaped.length)
            }
            // Below a space they are no JSON in a text, and between texts only space is.
            c => (c < ' ' || !is_within || is_printable(c), c.len_utf8()),
        };
        match shown {
            true => bytes.copy_within(at..at + length, clean),
            false => bytes[clean] = b' ',
        }
        clean += if shown { length } else { 1 };
        at += length;
    }
    bytes.truncate(clean);
    // Characters were left out as a whole.
    String::from_utf8(bytes).unwrap_or_default()
}

/// The character that a text begins with, by its bytes.
fn first(bytes: &[u8]) -> Option<char> {
    let length = match bytes.first()? {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    str::from_utf8(bytes.get(..length)?).ok()?.chars().next()
}

/// A character of JSON that is written behind a backslash.
struct Escaped {
    /// In bytes, the backslash included.
    length: usize,
    is_printable: bool,
}

impl Escaped {
    /// The one that a text begins with.
    fn read(bytes: &[u8]) -> Self {
        let of = |length, is_printable| Self {
            length,
            is_printable,
        };
        match first(&bytes[1..]) {
            Some('b' | 'f' | 'n' | 'r' | 't') => of(2, false),
            Some('u') => {
                let Some(code) = number(bytes.get(2..6)) else {
                    return of(2, true);
                };
                // Two halves stand for what is beyond 16 bits, one alone for nothing.
                let low = bytes.get(6..8).filter(|next| *next == b"\\u");
                let low = low.and_then(|_| number(bytes.get(8..12)));
                match (code, low) {
                    (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
                        let both = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                        of(12, char::from_u32(both).is_none_or(is_printable))
                    }
                    _ => of(6, char::from_u32(code).is_none_or(is_printable)),
                }
            }
            Some(other) => of(1 + other.len_utf8(), true),
            None => of(1, true),
        }
    }
}

/// A number of four hexadecimal digits.
fn number(digits: Option<&[u8]>) -> Option<u32> {
    let digits = digits.filter(|d| d.iter().all(u8::is_ascii_hexdigit))?;
    u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
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
        let clean: Value = serde_json::from_str(&printable_json(hostile.to_owned())).unwrap();
        assert_eq!(
            clean,
            serde_json::json!({"host": "a [2Jb ssh-rsa", "n": [" x"], "k ": 1.5})
        );
        for harmless in [
            "{\n\t\"a\": \"b c\"\r\n}",
            "{\"a\": \"say \\\"x\\\"\"}",
            "no JSON \\u001b",
        ] {
            assert_eq!(printable_json(harmless.to_owned()), harmless);
        }
    }

    #[test]
    fn a_character_that_takes_no_room_is_none_when_it_is_written_as_a_pair() {
        let of = |json: &str| -> Value {
            serde_json::from_str(&printable_json(json.to_owned())).unwrap()
        };
        assert_eq!(of(r#"["idle\udb40\udc41"]"#), serde_json::json!(["idle "]));
        assert_eq!(
            of(r#"["\ud83d\ude42", "x\ud834\udd73y"]"#),
            serde_json::json!(["\u{1f642}", "x y"])
        );
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
                let got: Value = serde_json::from_str(&printable_json(json)).unwrap();
                prop_assert_eq!(got, pairs(&clean));
            }
        }

        #[test]
        fn what_is_no_json_does_not_become_some(text in r#"[\\"u0-9a-f\x1b\u{9b} {}:,\n]{0,40}"#) {
            let clean = printable_json(text.clone());
            prop_assert!(clean.len() <= text.len());
            let is_json = |t: &str| serde_json::from_str::<serde::de::IgnoredAny>(t).is_ok();
            prop_assert_eq!(is_json(&clean), is_json(&text));
        }
    }
}
