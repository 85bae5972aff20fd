//! Numbers with no more digits than their intervals support.

use tompion_model::format_ns;
use tompion_stats::Interval;

/// Confidence of the intervals printed beside medians.
pub(crate) const LEVEL: f64 = 0.95;

use crate::figures::{count, real, us};

/// A number with no more digits than its interval supports: the last digit stands for
/// at most the interval's half width, and never are there more than three.
pub(crate) fn rounded(value: f64, interval: Option<Interval>) -> String {
    let Some(i) = interval else {
        // Two digits of what would be nearly nothing.
        if !(value > 0.0 && value < 0.1) {
            return real(value);
        }
        let digits = 1 - value.log10().floor() as i32;
        return match digits < 10 {
            true => format!("{value:.0$}", digits as usize),
            false => real(value),
        };
    };
    let half = (i.high - i.low) / 2.0;
    if !(value > 0.0 && half > 0.0 && half.is_finite()) {
        return real(value);
    }
    let unit = 10f64.powi((half.log10().floor() as i32).max(value.log10().floor() as i32 - 2));
    let digits = (-unit.log10()).max(0.0).round() as usize;
    let near = (value / unit).round() * unit;
    if near >= 1e15 {
        return real(value);
    }
    if near == 0.0 || unit > value {
        // Not even its first digit is sure.
        let first = 10f64.powi(value.log10().floor() as i32);
        return format!("~{}", shortest((value / first).round() * first));
    }
    match digits {
        0 => count(near.round() as u64),
        d => format!("{near:.d$}"),
    }
}

/// An interval with as many digits as tell its ends apart, and one more.
pub(crate) fn interval(i: Interval) -> String {
    let wide = i.high - i.low;
    if !(wide > 0.0 && i.low >= 0.0 && i.high < 1e15) {
        return format!("[{}, {}]", real(i.low), real(i.high));
    }
    let unit = 10f64.powi(wide.log10().floor() as i32 - 1);
    let digits = (-unit.log10()).max(0.0).round() as usize;
    let end = |x: f64| match digits {
        0 => count(((x / unit).round() * unit) as u64),
        d => format!("{x:.d$}"),
    };
    format!("[{}, {}]", end(i.low), end(i.high))
}

/// A number of one digit without idle zeros.
fn shortest(x: f64) -> String {
    if x >= 1.0 {
        count(x as u64)
    } else {
        format!("{x:.6}").trim_end_matches('0').to_owned()
    }
}

/// A duration with no more digits than its interval supports, as [`rounded`] does, and a
/// unit of its own.
pub(crate) fn ns_within(value_ns: f64, interval: Option<Interval>) -> String {
    let half = interval.map_or(0.0, |i| (i.high - i.low) / 2.0);
    let plain = format_ns(value_ns);
    if !(value_ns > 0.0 && half > 0.0 && half.is_finite()) {
        return plain;
    }
    let unit = 10f64.powi(half.log10().floor() as i32);
    let first = 10f64.powi(value_ns.log10().floor() as i32);
    if unit > value_ns {
        // Not even its first digit is sure.
        return format!("~{}", in_unit((value_ns / first).round() * first, first));
    }
    match unit > first / 100.0 {
        true => in_unit((value_ns / unit).round() * unit, unit),
        false => plain,
    }
}

/// A duration whose last digit stands for `step_ns`.
fn in_unit(ns: f64, step_ns: f64) -> String {
    let (scale, unit) = match ns {
        x if x >= 999.5e6 => (1e9, "s"),
        x if x >= 999.5e3 => (1e6, "ms"),
        x if x >= 999.5 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    let digits = (-(step_ns / scale).log10()).round().max(0.0) as usize;
    format!("{:.digits$} {unit}", ns / scale)
}

/// Nanoseconds as [`us`], with no more digits than the interval supports.
pub(crate) fn us_within(value_ns: f64, (low_ns, high_ns): (f64, f64)) -> String {
    let half = (high_ns - low_ns) / 2e3;
    let us_value = value_ns / 1e3;
    if !(us_value > 0.0 && half > 0.0 && half.is_finite()) {
        return us(value_ns);
    }
    let power = half.log10().floor() as i32;
    let unit = 10f64.powi(power);
    let near = (us_value / unit).round() * unit;
    if unit > us_value || near == 0.0 {
        let first = 10f64.powi(us_value.log10().floor() as i32);
        let digits = (-first.log10()).round().max(0.0) as usize;
        return format!("~{:.digits$}", (us_value / first).round() * first);
    }
    match power {
        i32::MIN..=-4 => us(value_ns),
        p => format!("{near:.0$}", (-p).max(0) as usize),
    }
}

/// Nanoseconds as microseconds with three significant digits, and never more than [`us`]:
/// what a standard deviation of some thousand values supports.
pub(crate) fn us_three(ns: f64) -> String {
    let value = ns / 1e3;
    match value.abs() {
        a if a >= 999.5 => {
            let unit = 10f64.powi(a.log10().floor() as i32 - 2);
            format!("{:.0}", (value / unit).round() * unit)
        }
        a if a >= 99.95 => format!("{value:.0}"),
        a if a >= 9.995 => format!("{value:.1}"),
        a if a >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The ends of an interval in microseconds, with as many digits as tell them apart, and
/// one more.
pub(crate) fn us_interval((low_ns, high_ns): (f64, f64)) -> String {
    let wide = (high_ns - low_ns) / 1e3;
    let power = match wide > 0.0 && wide.is_finite() {
        true => (wide.log10().floor() as i32 - 1).max(-3),
        false => -3,
    };
    let unit = 10f64.powi(power);
    let end = |ns: f64| {
        let near = (ns / 1e3 / unit).round() * unit;
        // No minus before nothing.
        let near = if near == 0.0 { 0.0 } else { near };
        format!("{near:.0$}", (-power).max(0) as usize).replace('-', "\u{2212}")
    };
    format!("[{}, {}]", end(low_ns), end(high_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_zero_or_no_number_has_no_digits_to_count() {
        for value in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE] {
            assert!(!rounded(value, None).is_empty());
        }
    }

    #[test]
    fn no_digit_says_more_than_the_interval() {
        let of = |value, low, high| {
            let level = 0.95;
            rounded(value, Some(Interval { low, high, level }))
        };
        assert_eq!(of(12_345.0, 12_340.0, 12_350.0), "12\u{202f}300");
        assert_eq!(of(12_345.0, 9_000.0, 15_000.0), "12\u{202f}000");
        assert_eq!(of(0.456_7, 0.40, 0.50), "0.46");
        assert_eq!(of(3.456, 3.455, 3.457), "3.46");
        assert_eq!(
            [rounded(45.67, None), rounded(0.004_26, None)],
            ["45.7", "0.0043"]
        );
        assert_eq!(
            [of(74.0, 10.0, 320.0), of(0.02, 0.0, 0.9)],
            ["~70", "~0.02"]
        );
        let ends = |low, high| {
            interval(Interval {
                low,
                high,
                level: 0.95,
            })
        };
        assert_eq!(
            ends(185_921.0, 186_044.0),
            "[185\u{202f}920, 186\u{202f}040]"
        );
        assert_eq!(ends(0.123_4, 0.156_7), "[0.123, 0.157]");
    }

    #[test]
    fn durations_and_microseconds_say_no_more_than_their_intervals() {
        let of = |value, low, high| {
            let level = 0.95;
            ns_within(value, Some(Interval { low, high, level }))
        };
        // 496 µs, but it may as well be 68 µs or 7.9 ms.
        assert_eq!(of(496_000.0, 68_300.0, 7_940_000.0), "~500 µs");
        assert_eq!(of(20_140.0, 18_200.0, 22_500.0), "20 µs");
        assert_eq!(of(74_640.0, 74_610.0, 74_670.0), "74.6 µs");
        assert_eq!(of(1_234_567.0, 1_200_000.0, 1_250_000.0), "1.23 ms");
        assert_eq!(of(10.0, 10.0, 10.0), "10.0 ns");
        assert_eq!(of(96.0, 60.0, 130.0), "100 ns");
        assert_eq!(of(998_000.0, 960_000.0, 1_030_000.0), "1.00 ms");
        assert_eq!(ns_within(0.4567, None), "0.46 ns");
        let mean = |low, high| {
            (
                us_within(6_251_700.0, (low, high)),
                us_interval((low, high)),
            )
        };
        assert_eq!(
            mean(-5_743_400.0, 18_246_800.0),
            ("~6000".into(), "[\u{2212}6000, 18000]".into())
        );
        assert_eq!(
            mean(6_251_600.0, 6_251_800.0),
            ("6251.7".into(), "[6251.60, 6251.80]".into())
        );
        assert_eq!(us_interval((-2.0, 334_000.0)), "[0, 330]");
        let three = [577.35, 6_930.0, 817_801.0, 18_853_200.0].map(us_three);
        assert_eq!(three, ["0.577", "6.93", "818", "18900"]);
        // What Adamczyk 2015 prints keeps its digits where the interval does.
        assert_eq!(us_within(100_000.4, (100_000.1, 100_000.7)), "100.000");
    }
}
