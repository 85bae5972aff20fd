//! What holds whatever the host does.

use proptest::prelude::*;

use super::*;

proptest! {
    /// Whatever the latencies, the stalls, the error of the cheap clock and what
    /// cuts kernel sleeps short: no sleep ends early, and the account of the lateness is right.
    #[test]
    fn no_sleep_ends_early(
        seed: u64,
        share in 0.0..=1.0f64,
        name in prop::sample::select(&Policy::NAMES[..]),
        cheap_error_ns in -100_000..100_000i64,
        cut_short: bool,
        lengths in prop::collection::vec(1..8 * MS, 1..60),
    ) {
        let policy = match name {
            "hybrid" => hybrid(share),
            other => other.parse().unwrap(),
        };
        let mut random = uniform(seed);
        let mut s = sleeper(policy, move |_| (random() * 80_000.0) as u64);
        s.host().cheap_error_ns = cheap_error_ns;
        s.host().cut_short = cut_short;
        for length in lengths {
            let now = s.host().now_ns;
            s.host().stall(now + length / 2, length / 3);
            let deadline = now + length;
            let slept = s.sleep_until_ns(deadline);
            let end = s.host().now_ns;
            prop_assert!(end >= deadline);
            prop_assert!(end - deadline - slept.late_ns <= READS);
        }
    }
}

proptest! {
    // Each case is thousands of sleeps.
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// No window of one second holds more spinning than the budget allows.
    #[test]
    fn the_budget_holds_over_every_second(
        seed: u64,
        share in 0.0..0.3f64,
        lengths in prop::collection::vec(1..60 * US, 20..40),
        rests in prop::collection::vec(0..90 * MS, 1..40),
    ) {
        let mut random = uniform(seed);
        let mut s = sleeper(hybrid(share), move |_| (random() * 50_000.0) as u64);
        let mut spins = Vec::new();
        for rest in rests {
            s.host().now_ns += rest;
            for &length in lengths.iter().cycle().take(600) {
                let deadline = s.host().now_ns + length;
                let slept = s.sleep_until_ns(deadline);
                spins.push((deadline, slept.spun_ns));
            }
        }
        let most = (share * SECOND as f64).round() as u64;
        let mut from = 0;
        let mut spun = 0;
        for &(end, ns) in &spins {
            spun += ns;
            // Spins wholly before the second that ends here.
            while spins[from].0 + SECOND <= end {
                spun -= spins[from].1;
                from += 1;
            }
            // The oldest may begin before the second.
            let (first_end, first_ns) = spins[from];
            let before = (end - SECOND).saturating_sub(first_end - first_ns);
            prop_assert!(spun - before <= most, "{} ns of {most}", spun - before);
        }
    }
}
