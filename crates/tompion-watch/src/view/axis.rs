//! A logarithmic axis of time.

/// From `low_ns` to `high_ns`, both positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Wide enough for the values and at least for a factor of ten.
    pub fn around(low_ns: f64, high_ns: f64) -> Self {
        let (low, high) = (low_ns.max(1.0).log10(), high_ns.max(1.0).log10());
        // Steps of a third of a decade keep the axis still while values move a little.
        let low = (low * 3.0 + 1e-9).floor() / 3.0;
        let high = ((high * 3.0 - 1e-9).ceil() / 3.0).max(low + 1.0);
        Self { low, high }
    }

    /// Where a value lies among `cells` cells, from 0 at the low end; those beyond an end
    /// lie on it.
    pub fn cell(self, ns: f64, cells: u16) -> u16 {
        let share = (ns.max(1.0).log10() - self.low) / (self.high - self.low);
        let last = f64::from(cells.saturating_sub(1));
        (share * last).round().clamp(0.0, last) as u16
    }

    /// The value in the middle of a cell, in nanoseconds.
    pub fn value(self, cell: u16, cells: u16) -> f64 {
        let share = f64::from(cell) / f64::from(cells.saturating_sub(1).max(1));
        10f64.powf(self.low + share * (self.high - self.low))
    }
}

/// A length with two digits, for an axis: `100us`, `3.2ms`.
pub fn label(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 995.0 => (ns, "ns"),
        ns if ns < 995e3 => (ns / 1e3, "us"),
        ns if ns < 995e6 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    match value {
        v if v < 9.95 => format!("{v:.1}{unit}"),
        v if v < 99.5 => format!("{v:.0}{unit}"),
        v => format!("{:.0}{unit}", (v / 10.0).round() * 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_holds_its_values_and_a_decade() {
        let axis = Axis::around(50_000.0, 60_000.0);
        assert_eq!(axis.cell(1.0, 10), 0);
        assert_eq!(axis.cell(1e9, 10), 9);
        for cell in 0..10 {
            assert_eq!(axis.cell(axis.value(cell, 10), 10), cell);
        }
        assert!(axis.value(9, 10) / axis.value(0, 10) > 9.99);
        let wide = Axis::around(1e3, 1e8);
        assert!((wide.value(0, 5) - 1e3).abs() < 1e-6 && (wide.value(4, 5) - 1e8).abs() < 1.0);
    }

    #[test]
    fn labels_are_short() {
        for (ns, text) in [
            (46.4, "46ns"),
            (215.4, "220ns"),
            (1e3, "1.0us"),
            (46_415.0, "46us"),
            (1e6, "1.0ms"),
            (2.154e8, "220ms"),
            (1e10, "10s"),
        ] {
            assert_eq!(label(ns), text);
        }
    }
}
