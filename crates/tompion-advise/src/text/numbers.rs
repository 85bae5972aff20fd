//! Times side by side in one unit.

use tompion_model::format_ns;

/// The unit that suits a time in nanoseconds, and its length.
fn unit(ns: f64) -> (&'static str, f64) {
    match ns.abs() {
        ns if ns >= 999.5e6 => ("s", 1e9),
        ns if ns >= 999.5e3 => ("ms", 1e6),
        ns if ns >= 999.5 => ("µs", 1e3),
        _ => ("ns", 1.0),
    }
}

/// Decimals that give a number three digits.
fn decimals(number: f64) -> usize {
    match number.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    }
}

/// For example `57.2 to 8.1 µs`, or `3.82 ms to 52.0 µs` where one unit would not do.
pub fn from_to(from_ns: f64, to_ns: f64) -> String {
    let (least, most) = match from_ns.abs() < to_ns.abs() {
        true => (from_ns.abs(), to_ns.abs()),
        false => (to_ns.abs(), from_ns.abs()),
    };
    if most > 20.0 * least {
        return format!("{} to {}", format_ns(from_ns), format_ns(to_ns));
    }
    let (unit, scale) = unit(most);
    let digits = decimals(most / scale);
    format!(
        "{:.digits$} to {:.digits$} {unit}",
        from_ns / scale,
        to_ns / scale
    )
}

/// For example `-49.1 [-49.6, -48.8] µs`. The middle one sets unit and digits: one end
/// may lie far out.
pub fn change(change_ns: f64, low_ns: f64, high_ns: f64) -> String {
    let mut sizes = [change_ns.abs(), low_ns.abs(), high_ns.abs()];
    sizes.sort_by(f64::total_cmp);
    let (unit, scale) = unit(sizes[1]);
    let digits = decimals(sizes[1] / scale);
    let number = |ns: f64| signed(ns / scale, digits);
    format!(
        "{} [{}, {}] {unit}",
        number(change_ns),
        number(low_ns),
        number(high_ns)
    )
}

/// A change in per cent with its interval, for example `-20 % [-24, -17]`.
pub fn share(low: f64, change: f64, high: f64) -> String {
    let mut sizes = [change.abs(), low.abs(), high.abs()];
    sizes.sort_by(f64::total_cmp);
    let digits = usize::from(sizes[1] < 0.0995);
    let number = |share: f64| signed(100.0 * share, digits);
    format!("{} % [{}, {}]", number(change), number(low), number(high))
}

/// With its sign; -0.0 and +0.0 are the same.
fn signed(number: f64, digits: usize) -> String {
    let text = format!("{number:+.digits$}");
    match text.trim_start_matches(['+', '-', '0', '.']).is_empty() {
        true => text[1..].to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_a_sign_and_two_digits() {
        assert_eq!(share(-0.241, -0.2, -0.168), "-20 % [-24, -17]");
        assert_eq!(share(-0.021, 0.0004, 0.034), "0.0 % [-2.1, +3.4]");
        assert_eq!(share(-0.386, -0.02, 0.85), "-2 % [-39, +85]");
    }

    #[test]
    fn numbers_of_one_cell_share_a_unit_where_one_will_do() {
        assert_eq!(from_to(57_234.0, 8_120.0), "57.2 to 8.1 µs");
        assert_eq!(from_to(31.24, 1_240.0), "31.2 ns to 1.24 µs");
        assert_eq!(
            change(-49_110.0, -49_570.0, -48_840.0),
            "-49.1 [-49.6, -48.8] µs"
        );
        assert_eq!(change(-0.2, -130.0, 140.0), "0 [-130, +140] ns");
        assert_eq!(
            change(-50_100.0, -9.5e6, -48_000.0),
            "-50.1 [-9500.0, -48.0] µs"
        );
        assert_eq!(change(2.5e6, 1.0e6, 4.0e6), "+2.50 [+1.00, +4.00] ms");
    }
}
