//! Verdicts on the growth of maxima, on planted truths: how often they are wrong, and
//! that they are not always "undecided". Seeded, so the same every time.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tompion_stats::{GROWTH_LIMIT, GrowthVerdict, Maxima};

const RUNS: usize = 1_000;

/// One maximum of a replicate, from a uniform value between 0 and 1.
struct Planted {
    name: &'static str,
    maximum: fn(f64) -> f64,
}

const PLANTED: [Planted; 7] = [
    Planted {
        name: "a quota's stall, within 1 %",
        maximum: |u| 80.0 * (1.0 + 0.01 * u),
    },
    Planted {
        name: "bounded, the upper half",
        maximum: |u| 0.5 + 0.5 * u,
    },
    Planted {
        name: "bounded, far from its bound",
        maximum: |u| u.max(1e-9),
    },
    Planted {
        name: "greatest of 1000 exponential ones",
        maximum: |u| 1000f64.ln() - (-u.ln()).ln(),
    },
    Planted {
        name: "log-logistic, index 3",
        maximum: |u| (u / (1.0 - u)).powf(1.0 / 3.0),
    },
    Planted {
        name: "Frechet, index 2",
        maximum: |u| (-u.ln()).powf(-0.5),
    },
    Planted {
        name: "Frechet, index 1.2",
        maximum: |u| (-u.ln()).powf(-1.0 / 1.2),
    },
];

fn draw(planted: &Planted, n: usize, random: &mut ChaCha8Rng) -> Vec<f64> {
    let one = |_| (planted.maximum)(random.random_range(1e-12..1.0));
    (0..n).map(one).collect()
}

/// The true growth from `from` replicates to twice as many: the maximum of m has the
/// quantile function of one at u^(1/m).
fn truth(planted: &Planted, from: usize) -> f64 {
    let expected = |m: usize| {
        let steps = 1_000_000;
        let middle = |i: usize| (i as f64 + 0.5) / steps as f64;
        let values = (0..steps).map(|i| (planted.maximum)(middle(i).powf(1.0 / m as f64)));
        values.sum::<f64>() / steps as f64
    };
    expected(2 * from) / expected(from)
}

#[test]
fn either_verdict_is_rarely_wrong_and_clear_cases_are_decided() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    for n in [5, 10, 20] {
        for planted in &PLANTED {
            let mut counts = [0usize; 2];
            for _ in 0..RUNS {
                let found = Maxima::of(&draw(planted, n, &mut random), 0.95).unwrap();
                match found.growth.verdict {
                    GrowthVerdict::LevelsOff => counts[0] += 1,
                    GrowthVerdict::Grows => counts[1] += 1,
                    GrowthVerdict::Undecided => {}
                    GrowthVerdict::TooFew => unreachable!("{n} are enough"),
                }
            }
            let [levels, grows] = counts.map(|c| c as f64 / RUNS as f64);
            let truth = truth(planted, (n / 4).max(1));
            let told = format!(
                "{n} of {}: {truth:.3}, levels {levels}, grows {grows}",
                planted.name
            );
            println!("{told}");
            let wrong = if truth < GROWTH_LIMIT { grows } else { levels };
            assert!(wrong <= 0.05, "{told}");
            if truth < 1.01 {
                assert!(levels > 0.95, "{told}");
            }
            if n >= 10 && truth > 1.6 {
                assert!(grows > 0.4, "{told}");
            }
        }
    }
}
