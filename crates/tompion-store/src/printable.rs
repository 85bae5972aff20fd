//! Texts without what a terminal or a page would act on: runs may come from strangers.

use std::borrow::Cow;

use serde_json::Value;

/// Whether a character is shown as itself: none that controls a terminal, breaks a line or
/// turns the direction of writing.
fn is_printable(c: char) -> bool {
    !(c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

/// The text, with a space for each character that is not printable.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    match text.chars().all(is_printable) {
        true => Cow::Borrowed(text),
        false => text
            .chars()
            .map(|c| if is_printable(c) { c } else { ' ' })
            .collect(),
    }
}

/// JSON whose texts are printable. Nearly always it is so as it stands, and nothing is
/// copied; what is no JSON is left to whoever reads it.
pub(super) fn printable_json(text: &str) -> Cow<'_, str> {
    // What is not printable may stand escaped. Line breaks between the values are none of them.
    let as_it_stands = !text.contains('\\')
        && text
            .chars()
            .all(|c| is_printable(c) || matches!(c, '\n' | '\r' | '\t'));
    if as_it_stands {
        return Cow::Borrowed(text);
    }
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return Cow::Borrowed(text);
    };
    match clean(&mut value) {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(value.to_string()),
    }
}

/// Cleans all texts and keys; how many it changed.
fn clean(value: &mut Value) -> usize {
    match value {
        Value::String(text) => match printable(text) {
            Cow::Borrowed(_) => 0,
            Cow::Owned(clean) => {
                *text = clean;
                1
            }
        },
        Value::Array(values) => values.iter_mut().map(clean).sum(),
        Value::Object(entries) => {
            let mut changed = entries.values_mut().map(clean).sum();
            if entries.keys().any(|key| !key.chars().all(is_printable)) {
                let all = std::mem::take(entries).into_iter();
                *entries = all
                    .map(|(key, value)| (printable(&key).into_owned(), value))
                    .collect();
                changed += 1;
            }
            changed
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_become_spaces_and_all_else_stays() {
        assert_eq!(
            printable("a\u{1b}[31mb\nc\u{9b}d\u{202e}e"),
            "a [31mb c d e"
        );
        assert!(matches!(printable("µs · ≥ 1 \"x\""), Cow::Borrowed(_)));
    }

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
}
