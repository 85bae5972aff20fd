//! Times side by side in one unit.

/// The unit that suits the largest of some times in nanoseconds, and its length.
fn unit(values_ns: &[f64]) -> (&'static str, f64) {
    let largest = values_ns.iter().fold(0f64, |most, ns| most.max(ns.abs()));
    match largest {
        ns if ns >= 999.5e6 => ("s", 1e9),
        ns if ns >= 999.5e3 => ("ms", 1e6),
        ns if ns >= 999.5 => ("µs", 1e3),
        _ => ("ns", 1.0),
    }
}

/// Three digits of the largest, and as many decimals for all.
fn decimals(largest: f64) -> usize {
    match largest.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    }
}

/// For example `57.2 to 8.1 µs`.
pub fn from_to(from_ns: f64, to_ns: f64) -> String {
    let (unit, scale) = unit(&[from_ns, to_ns]);
    let digits = decimals(from_ns.abs().max(to_ns.abs()) / scale);
    format!(
        "{:.digits$} to {:.digits$} {unit}",
        from_ns / scale,
        to_ns / scale
    )
}

/// For example `-49.1 [-49.6, -48.8] µs`.
pub fn change(change_ns: f64, low_ns: f64, high_ns: f64) -> String {
    let (unit, scale) = unit(&[change_ns, low_ns, high_ns]);
    let digits = decimals(low_ns.abs().max(high_ns.abs()) / scale);
    let number = |ns: f64| {
        let text = format!("{:+.digits$}", ns / scale);
        // -0.0 and +0.0 are the same.
        match text.trim_start_matches(['+', '-', '0', '.']).is_empty() {
            true => text[1..].to_owned(),
            false => text,
        }
    };
    format!(
        "{} [{}, {}] {unit}",
        number(change_ns),
        number(low_ns),
        number(high_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_one_cell_share_a_unit() {
        assert_eq!(from_to(57_234.0, 8_120.0), "57.2 to 8.1 µs");
        assert_eq!(from_to(31.24, 1_240.0), "0.03 to 1.24 µs");
        assert_eq!(
            change(-49_110.0, -49_570.0, -48_840.0),
            "-49.1 [-49.6, -48.8] µs"
        );
        assert_eq!(change(-0.2, -130.0, 140.0), "0 [-130, +140] ns");
        assert_eq!(change(2.5e6, 1.0e6, 4.0e6), "+2.50 [+1.00, +4.00] ms");
    }
}
