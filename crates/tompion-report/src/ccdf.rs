//! Complementary cumulative distributions, thinned to what an eye can tell
//! apart on logarithmic axes.

use tompion_stats::MeanDistribution;

/// Two steps closer than this on both axes become one, in decades.
const VALUE_STEP: f64 = 0.004;
/// The same for shares.
const SHARE_STEP: f64 = 0.012;

/// `(value in nanoseconds, share of samples greater or equal)` in rising order
/// of the value. The first and the last step of the distribution, hence its
/// extremes, are always among them. Each block weighs the same.
pub(crate) fn steps(d: &MeanDistribution) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut skipped = None;
    for (value_ps, share) in d.ccdf() {
        let point = (value_ps as f64 / 1000.0, share);
        if kept.last().is_none_or(|last| apart(*last, point)) {
            kept.push(point);
            skipped = None;
        } else {
            skipped = Some(point);
        }
    }
    kept.extend(skipped);
    kept
}

fn apart(a: (f64, f64), b: (f64, f64)) -> bool {
    // Values that no logarithmic axis can show share its edge.
    let value = match (a.0 > 0.0, b.0 > 0.0) {
        (true, true) => is_step(b.0 / a.0, VALUE_STEP),
        (is_shown, is_next_shown) => !is_shown && is_next_shown,
    };
    value || is_step(a.1 / b.1, SHARE_STEP)
}

fn is_step(ratio: f64, decades: f64) -> bool {
    // A logarithm only where it may be one: for nearly all points it is not. This is less than
    // 10 to the `decades`.
    ratio > 1.0 + std::f64::consts::LN_10 * decades && ratio.log10() >= decades
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tompion_stats::Distribution;

    fn of(values: impl IntoIterator<Item = i64>) -> MeanDistribution {
        MeanDistribution::of([&Distribution::from_values(values)])
    }

    #[test]
    fn the_extremes_stay() {
        let d = of(1_000_000..1_050_000);
        let s = steps(&d);
        assert_eq!(s.first(), Some(&(1000.0, 1.0)));
        let last = s.last().unwrap();
        assert!((last.0 - 1049.999).abs() < 1e-9 && (last.1 - 1.0 / 50_000.0).abs() < 1e-12);
        assert!(s.len() < 500, "{}", s.len());
    }

    #[test]
    fn a_fast_block_draws_no_more_than_its_share() {
        let slow = Distribution::from_values(vec![3_800_000; 20]);
        let fast = Distribution::from_values(vec![67_000; 1000]);
        let drawn = steps(&MeanDistribution::of([&slow, &slow, &slow, &fast]));
        assert_eq!(drawn, [(67.0, 1.0), (3_800.0, 0.75)]);
    }

    proptest! {
        #[test]
        fn a_drawn_step_never_strays_further_than_the_tolerance(
            values in prop::collection::vec(1i64..1_000_000_000_000, 1..3000)
        ) {
            let d = of(values);
            let drawn = steps(&d);
            for (value_ps, share) in d.ccdf() {
                let value = value_ps as f64 / 1000.0;
                // The last step drawn at or before this value.
                let at = drawn.partition_point(|s| s.0 <= value) - 1;
                let near = drawn[at];
                prop_assert!((value / near.0).log10() < VALUE_STEP + 1e-12);
                prop_assert!((near.1 / share).log10() < SHARE_STEP + 1e-12);
            }
        }
    }
}
