//! Stability of a series of time errors: MTIE and TDEV.
//!
//! A series is x_1 .. x_N, the time error (TIE) against an ideal reference in
//! nanoseconds, one value every tau0. Sources: ITU-T G.810 (1996), 4.5.14 and
//! appendix II, for MTIE and TDEV; Riley, Handbook of Frequency Stability
//! Analysis, NIST Special Publication 1065 (2008), 5.2.6 and 5.2.16, for the
//! same estimators.

use std::collections::VecDeque;

/// The maximum time interval error over windows of `n` intervals: the largest
/// peak-to-peak time error within any `n + 1` successive values. In the unit of
/// `x`. `None` when `n` is 0, the series has fewer than `n + 1` values, or one of them
/// is not finite.
///
/// Linear in the length of the series.
pub fn mtie(x: &[f64], n: usize) -> Option<f64> {
    if n == 0 || x.len() <= n || !all_finite(x) {
        return None;
    }
    // Indices whose values fall (largest first) and rise (smallest first).
    let (mut largest, mut smallest) = (VecDeque::new(), VecDeque::new());
    let mut worst = 0.0f64;
    for i in 0..x.len() {
        while largest.back().is_some_and(|&j: &usize| x[j] <= x[i]) {
            largest.pop_back();
        }
        while smallest.back().is_some_and(|&j: &usize| x[j] >= x[i]) {
            smallest.pop_back();
        }
        largest.push_back(i);
        smallest.push_back(i);
        if largest[0] + n < i {
            largest.pop_front();
        }
        if smallest[0] + n < i {
            smallest.pop_front();
        }
        worst = worst.max(x[largest[0]] - x[smallest[0]]);
    }
    Some(worst)
}

/// The time deviation at tau = `n` tau0, in the unit of `x`: with all
/// overlapping windows,
/// TDEV^2 = sum over j of (sum over i = j .. j+n-1 of x_(i+2n) - 2 x_(i+n) + x_i)^2
/// / (6 n^2 (N - 3n + 1)).
///
/// White phase noise of standard deviation s gives s at n = 1 and falls as
/// n^(-1/2). `None` when `n` is 0, the series has fewer than `3 n` values, or one of
/// them is not finite.
/// Linear in the length of the series.
pub fn tdev(x: &[f64], n: usize) -> Option<f64> {
    if n == 0 || x.len() / 3 < n || !all_finite(x) {
        return None;
    }
    Some(tdev_of_sums(&running_sums(x), n))
}

/// MTIE at n = 1, 2, 4, .. intervals as `(tau_ns, value_ns)`, for a series in
/// nanoseconds with one value every `tau0_ns`; empty where a value is not finite.
pub fn mtie_curve(x: &[f64], tau0_ns: f64) -> Vec<(f64, f64)> {
    octaves(x.len().saturating_sub(1))
        .filter_map(|n| Some((n as f64 * tau0_ns, mtie(x, n)?)))
        .collect()
}

/// TDEV at n = 1, 2, 4, .. intervals as `(tau_ns, value_ns)`, for a series in
/// nanoseconds with one value every `tau0_ns`; empty where a value is not finite.
pub fn tdev_curve(x: &[f64], tau0_ns: f64) -> Vec<(f64, f64)> {
    if !all_finite(x) {
        return Vec::new();
    }
    let sums = running_sums(x);
    octaves(x.len() / 3)
        .map(|n| (n as f64 * tau0_ns, tdev_of_sums(&sums, n)))
        .collect()
}

fn all_finite(x: &[f64]) -> bool {
    x.iter().all(|v| v.is_finite())
}

/// 1, 2, 4, .. up to `most`.
fn octaves(most: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1usize), |n| n.checked_mul(2)).take_while(move |&n| n <= most)
}

/// s_k = sum of the first k values, counted from the first value: an offset
/// changes no second difference, and sums of whole nanoseconds stay exact.
fn running_sums(x: &[f64]) -> Vec<f64> {
    let origin = x.first().copied().unwrap_or(0.0);
    let mut sum = 0.0;
    std::iter::once(0.0)
        .chain(x.iter().map(|v| {
            sum += v - origin;
            sum
        }))
        .collect()
}

fn tdev_of_sums(s: &[f64], n: usize) -> f64 {
    let windows = s.len() - 3 * n;
    let squares: f64 = (0..windows)
        .map(|j| {
            // Sums of three adjoining stretches of n values.
            let third = s[j + 3 * n] - s[j + 2 * n];
            let second = s[j + 2 * n] - s[j + n];
            let first = s[j + n] - s[j];
            ((third - second) - (second - first)).powi(2)
        })
        .sum();
    (squares / (6.0 * (n as f64).powi(2) * windows as f64)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::Noise;
    use proptest::prelude::*;

    #[test]
    fn a_constant_offset_is_no_instability() {
        let x = vec![1234.5; 100];
        assert!(mtie_curve(&x, 10.0).iter().all(|p| p.1 == 0.0));
        assert!(tdev_curve(&x, 10.0).iter().all(|p| p.1 == 0.0));
    }

    #[test]
    fn a_step_is_seen_at_its_size_by_every_window() {
        let x: Vec<f64> = (0..200).map(|i| if i < 77 { 3.0 } else { 53.0 }).collect();
        let curve = mtie_curve(&x, 1.0);
        assert_eq!(curve.len(), 8);
        assert!(curve.iter().all(|p| p.1 == 50.0));
    }

    #[test]
    fn a_frequency_offset_grows_with_tau_and_has_no_tdev() {
        let x: Vec<f64> = (0..1000).map(|i| -0.25 * f64::from(i)).collect();
        for (tau, value) in mtie_curve(&x, 1.0) {
            assert!((value - 0.25 * tau).abs() < 1e-9);
        }
        assert!(tdev_curve(&x, 1.0).iter().all(|p| p.1 < 1e-9));
    }

    #[test]
    fn white_phase_noise_has_its_sigma_and_slope() {
        let mut noise = Noise::new(1);
        let x: Vec<f64> = (0..100_000).map(|_| 40.0 * noise.normal()).collect();
        let curve = tdev_curve(&x, 1.0);
        // Theory: sigma n^(-1/2). Relative deviation of the estimate is below
        // sqrt(n / N) or so; five times that is allowed.
        for (n, value) in curve.iter().take(8) {
            let want = 40.0 / n.sqrt();
            assert!(
                (value / want - 1.0).abs() < 5.0 * (n / 1e5).sqrt(),
                "{n}: {value}"
            );
        }
    }

    #[test]
    fn windows_that_do_not_fit_give_nothing() {
        assert_eq!(mtie(&[1.0, 2.0], 2), None);
        assert_eq!(mtie(&[1.0, 2.0], 0), None);
        assert_eq!(tdev(&[1.0, 2.0, 3.0], 0), None);
        assert_eq!(tdev(&[1.0, 2.0, 3.0, 4.0, 5.0], 2), None);
        assert!(mtie_curve(&[], 1.0).is_empty() && tdev_curve(&[1.0], 1.0).is_empty());
    }

    #[test]
    fn what_is_no_number_has_no_stability() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let all = vec![bad; 40];
            let mut one: Vec<f64> = (0..40).map(f64::from).collect();
            one[17] = bad;
            for x in [all, one] {
                assert_eq!((mtie(&x, 1), tdev(&x, 1)), (None, None), "{bad}");
                assert!(mtie_curve(&x, 1.0).is_empty() && tdev_curve(&x, 1.0).is_empty());
            }
        }
    }

    /// Phase data of the 1000-point test set of NIST SP 1065, 12.4: a
    /// portable generator (n_(i+1) = 16807 n_i mod 2147483647, n_0 =
    /// 1234567890) gives frequency values; phase is their running sum.
    fn nist_1000_point_set() -> Vec<f64> {
        let mut n = 1_234_567_890u64;
        let mut phase = 0.0;
        std::iter::once(0.0)
            .chain((0..1000).map(move |_| {
                let y = n as f64 / 2_147_483_647.0;
                n = 16_807 * n % 2_147_483_647;
                phase += y;
                phase
            }))
            .collect()
    }

    #[test]
    fn published_values_of_the_nist_test_set() {
        // SP 1065, table 31 ("Time deviation"): 1.687 202e-1, 3.563 623e-1
        // and 1.253 382e0 at averaging factors 1, 10 and 100.
        let x = nist_1000_point_set();
        for (n, want) in [(1, 1.687_202e-1), (10, 3.563_623e-1), (100, 1.253_382)] {
            let got = tdev(&x, n).unwrap();
            assert!((got / want - 1.0).abs() < 1e-6, "{n}: {got}");
        }
    }

    proptest! {
        #[test]
        fn equal_their_definitions(x in prop::collection::vec(-1000i32..1000, 3..60), n in 1usize..25) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let peak = |w: &[f64]| {
                w.iter().copied().fold(f64::MIN, f64::max) - w.iter().copied().fold(f64::MAX, f64::min)
            };
            let brute = x.windows(n + 1).map(peak).reduce(f64::max);
            prop_assert_eq!(mtie(&x, n), brute);

            let brute = (x.len() >= 3 * n).then(|| {
                let windows = x.len() - 3 * n + 1;
                let sum: f64 = (0..windows)
                    .map(|j| (j..j + n).map(|i| x[i + 2 * n] - 2.0 * x[i + n] + x[i]).sum::<f64>().powi(2))
                    .sum();
                (sum / (6.0 * (n * n * windows) as f64)).sqrt()
            });
            match (tdev(&x, n), brute) {
                (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-9 * (1.0 + b)),
                (a, b) => prop_assert_eq!(a.is_some(), b.is_some()),
            }
        }
    }
}
