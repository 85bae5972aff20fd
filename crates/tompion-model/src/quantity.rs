//! Durations and counts as people write and read them.

use crate::InvalidValue;

/// Parses `100us`, `1ms`, `2.5s`, `3m`, `1h`, `1d`, `40ns` into nanoseconds.
///
/// The error names what would be right.
pub fn parse_duration_ns(text: &str) -> Result<u64, InvalidValue> {
    let hint = || {
        format!(
            "`{text}` is not a duration; write a number and a unit, such as 100us, 1ms, 2.5s, 3m"
        )
    };
    let text_trimmed = text.trim();
    let split = text_trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .ok_or_else(hint)?;
    let (number, unit) = text_trimmed.split_at(split);
    let number: f64 = number.parse().map_err(|_| hint())?;
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "d" => 86_400e9,
        _ => return Err(hint().into()),
    };
    let ns = (number * scale).round();
    if !(1.0..=9.0e18).contains(&ns) {
        return Err(format!("`{text}` is out of range; use 1ns up to 100000d").into());
    }
    Ok(ns as u64)
}

/// A whole number with K, M or G for `base` and its powers: `64K`, `300M`.
pub fn parse_with_suffix(text: &str, base: u64) -> Option<u64> {
    let power = match text.as_bytes().last() {
        Some(b'K' | b'k') => 1,
        Some(b'M' | b'm') => 2,
        Some(b'G' | b'g') => 3,
        _ => 0,
    };
    let digits = &text[..text.len() - usize::from(power > 0)];
    digits.parse::<u64>().ok()?.checked_mul(base.pow(power))
}

/// Bits a second as networks write them, from 1 on: `300M`.
///
/// # Errors
/// What would be right.
pub fn parse_bits_per_second(text: &str) -> Result<u64, InvalidValue> {
    let bits = parse_with_suffix(text, 1000).filter(|bits| *bits > 0);
    let wrong = || format!("`{text}` is no rate; write bits per second, such as 300M (K, M, G)");
    bits.ok_or_else(|| wrong().into())
}

/// A count with groups of three digits, parted by narrow no-break spaces.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    out
}

/// The shortest exact form: `100us`, `1ms`, `1500us`.
pub fn format_duration(ns: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    for (scale, unit) in UNITS {
        if ns >= scale && ns.is_multiple_of(scale) {
            return format!("{}{unit}", ns / scale);
        }
    }
    format!("{ns}ns")
}

/// A level such as `100us` as people write it: `100 µs`. What is no duration
/// stays as it is.
pub fn level_in_words(level: &str) -> String {
    let split = level.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    match (parse_duration_ns(level), split) {
        (Ok(_), Some(at)) => {
            let (number, unit) = level.split_at(at);
            format!("{number} {}", unit.replace("us", "µs"))
        }
        _ => level.to_owned(),
    }
}

/// A measured time rounded to three significant digits: `52.7 µs`.
pub fn format_ns(ns: f64) -> String {
    let magnitude = ns.abs();
    let (value, unit) = if magnitude >= 999.5e6 {
        (ns / 1e9, "s")
    } else if magnitude >= 999.5e3 {
        (ns / 1e6, "ms")
    } else if magnitude >= 999.5 {
        (ns / 1e3, "µs")
    } else {
        (ns, "ns")
    };
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        0.0 => 0,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

/// A measured rate rounded to four significant digits: `198.4 Mbit/s`.
pub fn format_bits_per_second(bps: f64) -> String {
    four_digits(bps, "bit/s")
}

/// Measured bytes rounded to four significant digits, in powers of 1000: `1.944 MB`.
pub fn format_bytes(bytes: f64) -> String {
    four_digits(bytes, "B")
}

fn four_digits(value: f64, unit: &str) -> String {
    let magnitude = value.abs();
    let (scale, prefix) = if magnitude >= 999.95e6 {
        (1e9, "G")
    } else if magnitude >= 999.95e3 {
        (1e6, "M")
    } else if magnitude >= 999.95 {
        (1e3, "k")
    } else {
        return format!("{value:.0} {unit}");
    };
    let scaled = value / scale;
    let digits = match scaled.abs() {
        v if v >= 999.95 => 0,
        v if v >= 99.995 => 1,
        v if v >= 9.9995 => 2,
        _ => 3,
    };
    format!("{scaled:.digits$} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_bytes_have_four_digits() {
        let rate = format_bits_per_second;
        assert_eq!(rate(198.36e6), "198.4 Mbit/s");
        assert_eq!(rate(999.96e6), "1.000 Gbit/s");
        assert_eq!(rate(98.7654e9), "98.77 Gbit/s");
        assert_eq!(rate(0.0), "0 bit/s");
        assert_eq!(rate(2_412e9), "2412 Gbit/s");
        assert_eq!(format_bytes(1_944_000.0), "1.944 MB");
        assert_eq!(format_bytes(64_000.0), "64.00 kB");
    }

    #[test]
    fn durations_round_trip() {
        for text in ["100us", "1ms", "1500us", "40ns", "7s"] {
            assert_eq!(format_duration(parse_duration_ns(text).unwrap()), text);
        }
        assert_eq!(parse_duration_ns("2.5s"), Ok(2_500_000_000));
        for bad in ["", "100", "us", "1 parsec", "-3ms", "0s", "1e3ms"] {
            assert!(parse_duration_ns(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_are_read_as_networks_write_them() {
        assert_eq!(parse_bits_per_second("300M"), Ok(300_000_000));
        assert_eq!(parse_bits_per_second("10g"), Ok(10_000_000_000));
        assert_eq!(parse_with_suffix("64K", 1024), Some(65_536));
        let wrong = [
            "",
            "M",
            "0",
            "-1M",
            "1.5G",
            "99999999999999999999",
            "18446744073709551615G",
        ];
        for wrong in wrong {
            assert!(parse_bits_per_second(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn levels_are_written_with_a_space_and_a_micro_sign() {
        assert_eq!(level_in_words("100us"), "100 µs");
        assert_eq!(level_in_words("1ms"), "1 ms");
        assert_eq!(level_in_words("default"), "default");
        assert_eq!(level_in_words(""), "");
    }

    #[test]
    fn measured_times_have_three_digits() {
        let cases = [
            (0.0, "0 ns"),
            (12.345, "12.3 ns"),
            (52_700.0, "52.7 µs"),
            (999.9, "1.00 µs"),
            (1_234_567.0, "1.23 ms"),
            (-80.0, "-80.0 ns"),
            (12.3e9, "12.3 s"),
        ];
        for (ns, want) in cases {
            assert_eq!(format_ns(ns), want);
        }
    }
}
