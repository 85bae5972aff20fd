//! Figures and sentences.

use tompion_model::{format_duration, level_in_words};

/// With a capital.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// A share of 1: `0 %`, `0.4 %`, `12 %`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 0.05 => "below 0.1 %".to_owned(),
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// A time that somebody set: `50 µs`.
pub(super) fn set_ns(ns: u64) -> String {
    level_in_words(&format_duration(ns))
}
