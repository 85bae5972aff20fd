use super::*;
use crate::test_noise::{Noise, autoregressive};

/// `genpareto.rvs(0.3, scale=2)` of SciPy, to three digits.
const HEAVY: [f64; 40] = [
    4.22, 4.27, 1.618, 0.708, 0.112, 1.041, 1.137, 0.093, 0.101, 49.457, 2.487, 0.556, 1.245,
    13.302, 6.544, 4.979, 1.075, 1.507, 2.688, 0.127, 1.836, 0.664, 5.916, 0.134, 2.71, 5.631,
    0.536, 6.459, 5.691, 0.037, 2.973, 0.002, 1.558, 1.252, 0.47, 0.834, 4.241, 0.806, 0.331,
    2.886,
];

/// `genpareto.rvs(-0.2, scale=2)`.
const ENDING: [f64; 60] = [
    1.122, 2.745, 0.523, 0.742, 2.751, 1.319, 1.317, 0.525, 0.029, 4.18, 0.178, 3.112, 0.877, 4.53,
    0.969, 4.237, 1.499, 0.534, 2.37, 2.01, 2.059, 1.172, 0.489, 1.852, 0.224, 2.1, 1.827, 0.902,
    2.742, 0.422, 0.943, 2.737, 0.913, 2.211, 1.727, 4.322, 6.162, 2.268, 2.817, 0.326, 2.209,
    3.136, 0.975, 1.488, 1.224, 4.709, 0.735, 0.977, 0.002, 1.033, 1.81, 4.211, 4.022, 0.762,
    5.932, 0.407, 2.929, 0.336, 0.987, 0.151,
];

fn near(got: f64, want: f64, error: f64) {
    assert!((got / want - 1.0).abs() < error, "{got} {want}");
}

#[test]
fn the_distribution_is_scipys_genpareto() {
    // x, shape, scale; sf, logpdf and isf(0.001) of SciPy 1.17.
    let rows = [
        (
            0.5,
            0.2,
            1.0,
            0.620_921_323_059_155_2,
            -0.571_861_078_825_949,
            14.905_358_527_674_863,
        ),
        (
            3.0,
            -0.3,
            1.2,
            0.009_843_133_202_303_697,
            -3.417_008_399_407_03,
            3.496_429_835_282_333_5,
        ),
        (
            10.0,
            0.7,
            2.0,
            0.116_637_785_648_773_71,
            -4.345_906_572_730_897,
            356.835_831_941_204_7,
        ),
        (
            2.0,
            0.0,
            1.5,
            0.263_597_138_115_727_06,
            -1.738_798_441_441_497_6,
            10.361_632_918_473_205,
        ),
    ];
    for (x, shape, scale, upper, ln_density, rare) in rows {
        let p = Pareto { shape, scale };
        near(p.upper(x), upper, 1e-12);
        near(p.ln_likelihood(&[x]), ln_density, 1e-12);
        near(p.exceeded_with(1e-3), rare, 1e-12);
    }
    assert_eq!(
        Pareto {
            shape: -0.5,
            scale: 1.0
        }
        .upper(2.5),
        0.0
    );
}

#[test]
fn the_likeliest_is_scipys() {
    // genpareto.logpdf maximised by Nelder and Mead's method; A squared by NumPy.
    let p = Pareto::likeliest(&HEAVY);
    near(p.shape, 0.543_230_328_427, 1e-4);
    near(p.scale, 1.658_318_732_196, 1e-4);
    near(p.ln_likelihood(&HEAVY), -81.961_384_696_105, 1e-9);
    let mut sorted = HEAVY;
    sorted.sort_unstable_by(f64::total_cmp);
    near(p.anderson_darling(&sorted), 0.397_148_756_278, 1e-4);
    let p = Pareto::likeliest(&ENDING);
    near(p.shape, -0.312_343_441_186, 1e-4);
    near(p.scale, 2.456_554_338_636, 1e-4);
    near(p.ln_likelihood(&ENDING), -95.184_975_248_926, 1e-9);
}

#[test]
fn the_extremal_index_by_hand() {
    // Excesses at 0, 1, 2, 30: gaps 1, 1, 28; 2 * 27^2 / (3 * 27 * 26).
    let extremal_index = |places: &[usize]| {
        Excesses {
            samples: 40,
            threshold: 0.0,
            sizes: vec![1.0; places.len()],
            places: places.to_vec(),
        }
        .extremal_index()
    };
    near(
        extremal_index(&[0, 1, 2, 30]),
        2.0 * 729.0 / (3.0 * 702.0),
        1e-12,
    );
    // All gaps at most 2: 2 * 5^2 / (3 * 9), above 1.
    assert_eq!(extremal_index(&[0, 1, 3, 5]), 1.0);
}

#[test]
fn the_largest_are_kept_however_long_the_series() {
    let mut noise = Noise::new(9);
    for n in [500, 1999, 20_000] {
        // Some values many times.
        let values: Vec<f64> = (0..n)
            .map(|_| (1e4 * noise.exponential()).floor())
            .collect();
        let kept = TailSeries::of(&values).excesses().unwrap();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let threshold = sorted[(n / 10).min(200)];
        let places: Vec<usize> = (0..n).filter(|i| values[*i] > threshold).collect();
        assert_eq!((kept.threshold, kept.places), (threshold, places));
        let smallest = sorted[kept.sizes.len() - 1] - threshold;
        assert_eq!((kept.sizes[0], kept.samples), (smallest, n));
    }
}

/// Series of known truth.
#[derive(Clone, Copy, Debug)]
enum Truth {
    Exponential,
    Lognormal,
    Pareto,
    /// 0.5 % of lognormal samples are longer by a Pareto stall.
    Stalls,
    Autoregressive,
    Clusters,
}

impl Truth {
    fn series(self, noise: &mut Noise, n: usize) -> Vec<f64> {
        let pareto = |noise: &mut Noise| (1.0 - noise.uniform()).powf(-1.0 / 1.5);
        match self {
            Self::Exponential => (0..n).map(|_| noise.exponential()).collect(),
            Self::Lognormal => (0..n).map(|_| (0.5 * noise.normal()).exp()).collect(),
            Self::Pareto => (0..n).map(|_| pareto(noise)).collect(),
            Self::Stalls => (0..n)
                .map(|_| {
                    let stalled = noise.uniform() < 0.005;
                    (0.5 * noise.normal()).exp() + if stalled { 10.0 * pareto(noise) } else { 0.0 }
                })
                .collect(),
            Self::Autoregressive => autoregressive(noise, n, 0.9)
                .into_iter()
                .map(|v| (0.5 * v).exp())
                .collect(),
            Self::Clusters => (0..n / 10)
                .flat_map(|_| {
                    let size = pareto(noise);
                    (0..10)
                        .map(|_| size * (1.0 + 0.01 * noise.uniform()))
                        .collect::<Vec<_>>()
                })
                .collect(),
        }
    }

    /// The quantile that is exceeded with probability `p`, by formula.
    fn quantile(self, p: f64) -> f64 {
        let normal = crate::tails::normal_half_width(1.0 - 2.0 * p);
        match self {
            Self::Exponential => -p.ln(),
            Self::Lognormal | Self::Autoregressive => (0.5 * normal).exp(),
            Self::Pareto | Self::Clusters => p.powf(-1.0 / 1.5),
            // Stalls are so much longer that the rest adds its mean, nearly.
            Self::Stalls => 0.125f64.exp() + 10.0 * (p / 0.005).powf(-1.0 / 1.5),
        }
    }
}

/// Of `draws` series: the share printed, the share of these covered, the mean width as a
/// ratio; and of the refused, the shares for clusters and for the fit.
fn coverage(truth: Truth, n: usize, q: f64, draws: u64, seed: u64) -> [f64; 5] {
    let (mut printed, mut covered, mut width, mut clustered, mut unfit) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for draw in 0..draws {
        let series = truth.series(&mut Noise::new(seed + draw), n);
        match extrapolate(&series, q, 0.95) {
            Ok(e) => {
                printed += 1.0;
                covered += f64::from(e.interval.contains(truth.quantile(1.0 - q)));
                width += e.interval.high / e.interval.low;
            }
            Err(NoTail::Clustered { .. }) => clustered += 1.0,
            Err(NoTail::NoFit { .. }) => unfit += 1.0,
            Err(other) => panic!("{other:?}"),
        }
    }
    let draws = draws as f64;
    let row = [
        printed / draws,
        covered / printed,
        width / printed,
        clustered / draws,
        unfit / draws,
    ];
    println!("{truth:?} {n} {q}: printed, covered, width, clustered, no fit {row:.3?}");
    row
}

#[test]
fn intervals_cover_where_there_is_a_tail() {
    for truth in [Truth::Exponential, Truth::Lognormal, Truth::Pareto] {
        let [printed, covered, ..] = coverage(truth, 1000, 0.999, 40, 1);
        // 0.9 less three binomial errors of so few draws.
        assert!(printed >= 0.7 && covered >= 0.76, "{truth:?}");
    }
}

/// The quantiles of an exponential distribution at so many equal distances, in disorder.
fn exponential_scores(n: usize) -> Vec<f64> {
    let place = |i: usize| (i * 7919) % n;
    (0..n)
        .map(|i| -((place(i) as f64 + 0.5) / n as f64).ln())
        .collect()
}

#[test]
fn the_quantile_is_that_of_the_distribution_beyond_all_samples() {
    let values = exponential_scores(1000);
    for beyond in [1e-3, 1e-4] {
        let e = extrapolate(&values, 1.0 - beyond, 0.95).unwrap();
        let truth = -f64::ln(beyond);
        assert!((e.quantile / truth - 1.0).abs() < 0.05, "{e:?} {truth}");
        assert!(e.interval.contains(e.quantile), "{e:?}");
    }
}

/// How far twice the logarithm of the likelihood falls from its top where the quantile that is exceeded
/// with probability `p` lies `x` above the threshold: the best of all shapes and all shares of samples
/// above the threshold, of which `excesses` of `n` are a binomial draw.
fn fall(excesses: &[f64], n: usize, x: f64, p: f64) -> f64 {
    let (k, n) = (excesses.len() as f64, n as f64);
    let binomial = |share: f64| k * share.ln() + (n - k) * (1.0 - share).ln();
    let error = (k * (1.0 - k / n)).sqrt() / n;
    let mut best = f64::MIN;
    for share in (-40..=40).map(|by| k / n + error * f64::from(by) / 12.0) {
        for shape in (-50..=200).map(|s| f64::from(s) / 100.0) {
            let scale = x / pareto::growth(shape, (share / p).ln());
            let tail = Pareto { shape, scale };
            best = best.max(tail.ln_likelihood(excesses) + binomial(share));
        }
    }
    let top = Pareto::likeliest(excesses).ln_likelihood(excesses) + binomial(k / n);
    2.0 * (top - best)
}

#[test]
fn how_many_samples_lie_above_the_threshold_is_as_uncertain_as_a_binomial_share() {
    // Close above the threshold, where that counts most.
    let values = exponential_scores(1000);
    let excesses = TailSeries::of(&values).excesses().unwrap();
    assert_eq!(excesses.sizes.len(), 100);
    for p in [0.03, 0.01] {
        let e = extrapolate(&values, 1.0 - p, 0.95).unwrap();
        let as_far_as = crate::student::student_half_width(0.95, 98.0).powi(2);
        for end in [e.interval.low, e.interval.high] {
            let fallen = fall(&excesses.sizes, 1000, end - e.threshold, p) / as_far_as;
            println!("{p} {end}: {fallen}");
            assert!((fallen - 1.0).abs() < 0.08, "{p} {end}: {fallen}");
        }
    }
}

#[test]
fn clusters_and_other_causes_have_no_tail() {
    for truth in [Truth::Autoregressive, Truth::Clusters] {
        let [_, _, _, clustered, _] = coverage(truth, 1000, 0.999, 20, 1);
        assert!(clustered >= 0.95, "{truth:?} {clustered}");
    }
    let [.., unfit] = coverage(Truth::Stalls, 4000, 0.999, 20, 1);
    assert!(unfit >= 0.8, "{unfit}");
}

#[test]
fn refusals_name_the_reason() {
    let values = Truth::Exponential.series(&mut Noise::new(4), 1000);
    let error = |values: &[f64], q| extrapolate(values, q, 0.95).unwrap_err();
    assert_eq!(
        error(&values[..499], 0.999),
        NoTail::TooFew {
            have: 499,
            need: 500
        }
    );
    assert_eq!(
        error(&values[..499], 0.999).to_string(),
        "a tail takes 500 samples, not 499"
    );
    assert_eq!(error(&values, 0.8), NoTail::Inside);
    assert_eq!(error(&values, 1.0), NoTail::NotAShare);
    // Microseconds of a coarse clock.
    let coarse: Vec<f64> = values.iter().map(|v| (2.0 * v).floor()).collect();
    assert_eq!(error(&coarse, 0.999), NoTail::Coarse);
    assert_eq!(error(&[7.0; 1000], 0.999), NoTail::Coarse);
    let mut not = values;
    not[3] = f64::NAN;
    assert!(matches!(
        error(&not, 0.999),
        NoTail::TooFew { have: 999, .. }
    ));
}

#[test]
fn unit_and_origin_do_not_matter() {
    let values = Truth::Lognormal.series(&mut Noise::new(8), 700);
    let e = extrapolate(&values, 0.999, 0.95).unwrap();
    let moved: Vec<f64> = values.iter().map(|v| 1e6 * v - 3e6).collect();
    let m = extrapolate(&moved, 0.999, 0.95).unwrap();
    assert_eq!(
        (e.excesses, e.fit_p, e.extremal_index),
        (m.excesses, m.fit_p, m.extremal_index)
    );
    near(m.quantile, 1e6 * e.quantile - 3e6, 1e-6);
    near(m.interval.high, 1e6 * e.interval.high - 3e6, 1e-4);
    assert!(e.interval.low < e.quantile && e.quantile < e.interval.high);
    near(e.expected_beyond, 0.7, 1e-9);
}

mod long {
    use super::*;

    #[test]
    fn the_table_of_coverage() {
        if std::env::var_os("TOMPION_LONG").is_none() {
            return;
        }
        for (n, q) in [(500, 0.999), (1000, 0.999), (4000, 0.9999)] {
            for truth in [Truth::Exponential, Truth::Lognormal, Truth::Pareto] {
                let [printed, covered, ..] = coverage(truth, n, q, 200, 100_000);
                // 0.9, and two binomial errors.
                assert!(printed >= 0.7 && covered >= 0.857, "{truth:?} {n} {q}");
            }
        }
    }
}
