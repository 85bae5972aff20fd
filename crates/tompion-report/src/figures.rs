//! Numbers as both the terminal and the page print them.

pub(crate) use tompion_model::grouped as count;
use tompion_model::{Summary, format_ns, is_printable};

/// What stands where there is nothing to print.
pub(crate) const NONE: &str = "—";

/// As much of a text as has room in so many characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}

/// A duration or a dash.
pub(crate) fn ns(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), format_ns)
}

/// A difference of times with its sign.
pub(crate) fn signed_ns(ns: f64) -> String {
    let sign = match ns {
        x if x < 0.0 => "\u{2212}",
        x if x > 0.0 => "+",
        _ => "",
    };
    format!("{sign}{}", format_ns(ns.abs()))
}

/// The noun that goes with a count.
pub(crate) fn plural<'a>(n: u64, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}

/// A rate or another real number with three significant digits.
pub(crate) fn real(x: f64) -> String {
    match x.abs() {
        a if a >= 999.5 => {
            let unit = 10f64.powi(a.log10().floor() as i32 - 2);
            count(((x / unit).round() * unit) as u64)
        }
        a if a >= 99.95 => format!("{x:.0}"),
        a if a >= 9.995 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

/// How many times, for example `13×`.
pub(crate) fn times(ratio: f64) -> String {
    if ratio.is_finite() {
        format!("{}×", real(ratio))
    } else {
        NONE.to_owned()
    }
}

/// From one ratio to another; one alone where no digit differs.
pub(crate) fn times_to_times([low, high]: [f64; 2]) -> String {
    let (low, high) = (times(low), times(high));
    match low == high {
        true => low,
        false => format!("{low} to {high}"),
    }
}

/// A share of 1 as a percentage; what would round to nothing says so.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        p if !p.is_finite() => NONE.to_owned(),
        p if p > 0.0 && p < 0.005 => "< 0.01 %".to_owned(),
        0.0 => "0 %".to_owned(),
        // Not quite all must not read as all.
        p if p > 99.99 && p < 100.0 => "> 99.99 %".to_owned(),
        p if p > 99.9 && p < 100.0 => format!("{p:.2} %"),
        p => format!("{} %", real(p)),
    }
}

/// Nanoseconds as microseconds, the unit of Adamczyk 2015, to a nanosecond
/// where that is not lost beside the rest.
pub(crate) fn us(ns: f64) -> String {
    let us = ns / 1e3;
    match us.abs() {
        a if a >= 99_999.5 => format!("{us:.0}"),
        a if a >= 999.95 => format!("{us:.1}"),
        _ => format!("{us:.3}"),
    }
}

/// A quantile's name, for example `p99.9`.
pub(crate) fn quantile_name(q: f64) -> String {
    let percent = format!("{:.4}", q * 100.0);
    let short = percent.trim_end_matches('0').trim_end_matches('.');
    match short {
        "50" => "median".to_owned(),
        "100" => "max".to_owned(),
        p => format!("p{p}"),
    }
}

/// A quantile of `summary`, when it rests on at least one sample beyond it.
pub(crate) fn supported(summary: &Summary, q: f64, value_ns: f64) -> Option<f64> {
    // A hair of tolerance keeps 1000 samples good enough for p99.9.
    (summary.samples as f64 * (1.0 - q) >= 1.0 - 1e-6).then_some(value_ns)
}

/// Text from a file made safe for a terminal: what could move the cursor, change
/// colours, turn the direction of writing, or hide becomes visible.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if is_printable(c) { c } else { '\u{fffd}' })
        .collect()
}

/// A sentence out of words that can stand within one.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// A command line that a shell reads back as the same words.
pub(crate) fn shell_words(words: &[String]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|w| {
            let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
            if !w.is_empty() && w.chars().all(safe) {
                w.clone()
            } else {
                format!("'{}'", w.replace('\'', r"'\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_stats::Distribution;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(12), "12");
        assert_eq!(
            (signed_ns(-1500.0), signed_ns(0.0)),
            ("\u{2212}1.50 µs".into(), "0 ns".into())
        );
        assert_eq!(
            (real(0.5), real(45.67), real(4567.8)),
            ("0.50".into(), "45.7".into(), "4\u{202f}570".into())
        );
        assert_eq!(
            (us(149_998.4), us(-12_345_678.0)),
            ("149.998".into(), "-12345.7".into())
        );
        assert_eq!(
            [0.012, 0.0, 0.000_01, 0.999_6, 0.999_999, 1.0].map(percent),
            ["1.20 %", "0 %", "< 0.01 %", "99.96 %", "> 99.99 %", "100 %"]
        );
        assert_eq!(quantile_name(0.999), "p99.9");
        assert_eq!(quantile_name(0.99), "p99");
        assert_eq!(quantile_name(0.5), "median");
    }

    #[test]
    fn a_quantile_needs_a_sample_beyond_it() {
        let of = |n: i64| Summary::of_ps(&Distribution::from_values(0..n)).unwrap();
        assert_eq!(supported(&of(1000), 0.999, 7.0), Some(7.0));
        assert_eq!(supported(&of(999), 0.999, 7.0), None);
        assert_eq!(supported(&of(10_000), 0.9999, 7.0), Some(7.0));
    }

    #[test]
    fn words_survive_a_shell() {
        let words = ["tompion", "check", "--out", "my run", "it's"].map(str::to_owned);
        assert_eq!(
            shell_words(&words),
            r"tompion check --out 'my run' 'it'\''s'"
        );
    }

    #[test]
    fn control_characters_cannot_reach_a_terminal() {
        assert_eq!(plain("a\u{1b}[31mb"), "a\u{fffd}[31mb");
    }

    #[test]
    fn what_turns_or_hides_text_is_seen_on_a_terminal() {
        let name = "a\u{202e}b\u{200b}c\u{2066}d\u{3164}e\u{2800}";
        assert_eq!(plain(name), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}");
        assert_eq!(plain("1\u{202f}234 µs"), "1\u{202f}234 µs");
    }
}
