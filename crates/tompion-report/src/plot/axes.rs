//! Axes that all plots share.

use std::ops::Range;

use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{IntoFont, TextStyle};

use super::backend::SCALE;
use super::theme::Ink;

/// Nothing is drawn left of a tenth of a nanosecond: no clock here resolves it.
const SMALLEST_NS: f64 = 0.1;

/// Labels that fit below an axis of values on a plot of some 400 units; with more decades
/// every other one, or every third, gets its line.
pub(crate) const MOST_LABELS: usize = 6;

/// Whole decades that hold all positive values; at least one.
pub(crate) fn decades(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = values
        .filter(|v| v.is_finite() && *v > 0.0)
        .fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return 1.0..10.0;
    }
    let low = low.max(SMALLEST_NS).log10().floor();
    // A value on a decade must not sit on the frame.
    let high = (high * 1.02).max(SMALLEST_NS).log10().ceil().max(low + 1.0);
    10f64.powf(low)..10f64.powf(high)
}

/// A hair wider, so that rounding loses no tick at the ends.
pub(crate) fn padded(range: &Range<f64>) -> Range<f64> {
    range.start * 0.999_99..range.end * 1.000_01
}

/// How many decades a range spans.
pub(crate) fn span(range: &Range<f64>) -> usize {
    (range.end / range.start).log10().round().max(1.0) as usize
}

/// `10 µs` at a power of ten.
pub(crate) fn time_tick(ns: &f64) -> String {
    let exponent = ns.log10().round() as i32;
    let (unit, scale) = match exponent {
        i32::MIN..=2 => ("ns", 0),
        3..=5 => ("µs", 3),
        6..=8 => ("ms", 6),
        _ => ("s", 9),
    };
    if exponent < 0 {
        let digits = exponent.unsigned_abs() as usize;
        return format!("{:.digits$} ns", 10f64.powi(exponent));
    }
    format!("{} {unit}", 10u64.pow((exponent - scale) as u32))
}

/// `1`, `0.1`, `0.01`, then `10⁻³`.
pub(crate) fn share_tick(share: &f64) -> String {
    let exponent = share.log10().round() as i32;
    match exponent {
        0 => "1".to_owned(),
        -1 => "0.1".to_owned(),
        -2 => "0.01".to_owned(),
        e => format!("10{}", superscript(e)),
    }
}

pub(super) fn superscript(n: i32) -> String {
    n.to_string()
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            d => char::from_u32('⁰' as u32 + d.to_digit(10).unwrap_or(0)).unwrap_or(d),
        })
        .collect()
}

/// Text of `size` SVG units. The style sheet sets fonts and colours; sizes here
/// only place the text.
pub(crate) fn text<'a>(ink: Ink, size: i32, h: HPos, v: VPos) -> TextStyle<'a> {
    ("sans-serif", f64::from(size * SCALE))
        .into_font()
        .color(&ink.color())
        .pos(Pos::new(h, v))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_hold_all_values() {
        assert_eq!(decades([17.2, 2_000_000.0, -4.0].into_iter()), 10.0..1e7);
        assert_eq!(decades([100.0].into_iter()), 100.0..1000.0);
        assert_eq!(decades([0.0].into_iter()), 1.0..10.0);
        assert_eq!(decades([0.001, 0.05].into_iter()), 0.1..1.0);
    }

    #[test]
    fn ticks_read_well() {
        let ticks: Vec<String> = [0.1, 1.0, 100.0, 1e3, 1e5, 1e6, 1e9, 1e10]
            .iter()
            .map(time_tick)
            .collect();
        assert_eq!(
            ticks,
            [
                "0.1 ns", "1 ns", "100 ns", "1 µs", "100 µs", "1 ms", "1 s", "10 s"
            ]
        );
        assert_eq!(share_tick(&1e-6), "10⁻⁶");
        assert_eq!(share_tick(&0.01), "0.01");
    }
}
