use super::*;
use crate::permutation_test;
use crate::test_noise::Noise;

const A: [f64; 6] = [50.1, 49.8, 50.6, 50.0, 49.5, 51.0];
const B: [f64; 6] = [50.9, 50.3, 51.2, 50.8, 52.4, 50.0];

fn asked(a: &[f64], b: &[f64], design: Design, margin: Margin) -> Equivalence {
    equivalence(a, b, design, margin, 0.05).unwrap()
}

fn near(got: f64, want: f64) {
    assert!((got / want - 1.0).abs() < 1e-8, "{got} {want}");
}

#[test]
fn both_tests_are_those_of_scipy() {
    // ttest_ind(equal_var=False) and ttest_rel of SciPy 1.17 on logarithms, against
    // ln 1.03 and ln 0.97, and confidence_interval(0.9).
    let of = |design, margin| asked(&A, &B, design, margin);
    let e = of(Design::Independent, Margin::Within(0.03));
    near(e.p, 0.053_104_551_829_250_66);
    near(e.ratio, 1.015_218_744_723_822_8);
    near(e.interval.low, 1.000_341_795_469_516_6);
    near(e.interval.high, 1.030_316_941_975_680_1);
    assert_eq!((e.answer, e.interval.level), (Answer::Undecided, 0.9));
    // exp(error (t.ppf(0.975, df) + t.ppf(0.8, df))), for pairs too.
    near(e.detectable, 1.025_664_203_287_855_8);
    let e = of(Design::Paired, Margin::Within(0.03));
    near(e.p, 0.104_184_093_879_500_93);
    near(e.interval.low, 0.994_944_622_701_838_7);
    near(e.interval.high, 1.035_905_995_273_367);
    near(e.detectable, 1.035_556_582_488_812_4);
    // The other side: against ln 0.97, a above b.
    let e = asked(&B, &A, Design::Paired, Margin::NoWorse(1.0 / 0.97 - 1.0));
    near(e.p, 0.003_052_334_850_495_048);
    assert_eq!(e.answer, Answer::Holds);
}

#[test]
fn answers_are_those_of_the_interval_and_of_p() {
    let within = |share| asked(&A, &B, Design::Independent, Margin::Within(share));
    assert_eq!(within(0.031).answer, Answer::Holds);
    assert_eq!(within(0.0003).answer, Answer::Fails);
    for share in [0.0003, 0.01, 0.02, 0.0303, 0.0304, 0.05, 0.5, 1.5] {
        for margin in [Margin::Within(share), Margin::NoWorse(share)] {
            let e = asked(&A, &B, Design::Independent, margin);
            assert_eq!(e.p <= 0.05, e.answer == Answer::Holds, "{margin:?} {e:?}");
        }
    }
    // Much better is no worse, but not within.
    let half: Vec<f64> = A.iter().map(|v| 0.5 * v).collect();
    let of = |margin| asked(&A, &half, Design::Independent, margin).answer;
    assert_eq!(of(Margin::NoWorse(0.1)), Answer::Holds);
    assert_eq!(of(Margin::Within(0.1)), Answer::Fails);
}

#[test]
fn figures_that_do_not_vary_are_a_point() {
    let of = |b: f64| asked(&[5.0; 6], &[b; 6], Design::Paired, Margin::Within(0.1));
    assert_eq!(
        (of(5.4).answer, of(5.4).p, of(5.4).detectable),
        (Answer::Holds, 0.0, 1.0)
    );
    assert_eq!((of(6.0).answer, of(6.0).p), (Answer::Fails, 1.0));
    assert_eq!(of(5.4).needed, Some(5));
}

#[test]
fn refusals_name_the_reason() {
    let ask = |a: &[f64], b: &[f64], design, share| {
        equivalence(a, b, design, Margin::Within(share), 0.05).unwrap_err()
    };
    let few = |have, need| EquivalenceError::TooFew { have, need };
    assert_eq!(ask(&A[..2], &B, Design::Independent, 0.1), few(2, 3));
    assert_eq!(ask(&A[..4], &B[..4], Design::Paired, 0.1), few(4, 5));
    assert_eq!(
        few(2, 3).to_string(),
        "a margin takes 3 replicates on each side, not 2"
    );
    assert_eq!(
        ask(&A, &[0.0; 6], Design::Paired, 0.1),
        EquivalenceError::NotPositive
    );
    for share in [0.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            ask(&A, &B, Design::Paired, share),
            EquivalenceError::NoMargin
        );
    }
    assert!(matches!(
        ask(&A[..5], &B, Design::Paired, 0.1),
        EquivalenceError::Replicates(ReplicateError::Unpaired { .. })
    ));
    assert!(matches!(
        ask(&[f64::NAN; 6], &B, Design::Paired, 0.1),
        EquivalenceError::Replicates(ReplicateError::NotFinite)
    ));
}

/// The median of 1000 lognormal samples of sigma 0.5 times `factor`.
fn median(noise: &mut Noise, factor: f64) -> f64 {
    let mut samples: Vec<f64> = (0..1000).map(|_| noise.normal()).collect();
    let (low, high, _) = samples.select_nth_unstable_by(500, f64::total_cmp);
    let below = low.iter().fold(f64::MIN, |m, v| m.max(*v));
    factor * (0.25 * (below + *high)).exp()
}

/// The share of `draws` in which 8 with 8 such medians are "within 10 %" where `b` is
/// `factor` times `a`; and where blocks share an effect of 20 %, taken as pairs.
fn said(factor: f64, draws: u64, seed: u64) -> (f64, f64) {
    let (mut independent, mut paired) = (0, 0);
    for draw in 0..draws {
        let mut noise = Noise::new(seed + draw);
        let mut trials =
            |factor| -> Vec<f64> { (0..8).map(|_| median(&mut noise, factor)).collect() };
        let (a, b) = (trials(1.0), trials(factor));
        let blocks: Vec<f64> = (0..8).map(|_| (0.2 * noise.normal()).exp()).collect();
        let shared = |v: &[f64]| {
            v.iter()
                .zip(&blocks)
                .map(|(v, b)| v * b)
                .collect::<Vec<_>>()
        };
        let holds = |a: &[f64], b: &[f64], design| {
            u32::from(asked(a, b, design, Margin::Within(0.1)).answer == Answer::Holds)
        };
        independent += holds(&a, &b, Design::Independent);
        paired += holds(&shared(&a), &shared(&b), Design::Paired);
    }
    let share = |n| f64::from(n) / draws as f64;
    (share(independent), share(paired))
}

#[test]
fn within_ten_percent_is_said_as_often_as_it_may_be() {
    // 0.05 and three of its binomial errors.
    let (independent, paired) = said(1.1, 100, 1);
    assert!(
        independent <= 0.115 && paired <= 0.115,
        "{independent} {paired}"
    );
    let (independent, paired) = said(1.0, 30, 1_000);
    assert!(
        independent >= 0.9 && paired >= 0.9,
        "{independent} {paired}"
    );
}

#[test]
fn normal_logarithms_hold_the_level_at_any_number() {
    // Near the margin, with a scatter that leaves it in doubt: 2000 draws, and three errors.
    for (n, design) in [
        (3, Design::Independent),
        (5, Design::Paired),
        (8, Design::Independent),
    ] {
        let holds = (0..2000).filter(|seed| {
            let mut noise = Noise::new(seed + 77_000);
            let mut group = |factor: f64| -> Vec<f64> {
                (0..n)
                    .map(|_| factor * (0.03 * noise.normal()).exp())
                    .collect()
            };
            let (a, b) = (group(1.0), group(1.1));
            asked(&a, &b, design, Margin::Within(0.1)).answer == Answer::Holds
        });
        let share = holds.count() as f64 / 2000.0;
        assert!((0.02..=0.065).contains(&share), "{n} {design:?} {share}");
    }
}

#[test]
fn what_is_detectable_is_found_in_four_of_five() {
    // The exact test of ranks finds what Student's would, where its p is fine enough:
    // scatter of 1 % on each side, the factor that so many would find.
    for (n, design) in [
        (6, Design::Independent),
        (8, Design::Independent),
        (10, Design::Paired),
    ] {
        let error = match design {
            Design::Independent => 0.01 * (2.0 / n as f64).sqrt(),
            Design::Paired => 0.01 * (2.0 / n as f64).sqrt(),
        };
        let df = if design == Design::Paired {
            n - 1
        } else {
            2 * n - 2
        };
        let factor = (error * reach(df as f64, 0.025, POWER)).exp();
        let found = (0..400).filter(|seed| {
            let mut noise = Noise::new(seed + 5_000);
            let mut group = |factor: f64| -> Vec<f64> {
                (0..n)
                    .map(|_| factor * (0.01 * noise.normal()).exp())
                    .collect()
            };
            let (a, b) = (group(1.0), group(factor));
            permutation_test(&a, &b, design).unwrap().p <= 0.05
        });
        let share = found.count() as f64 / 400.0;
        assert!((0.68..=0.87).contains(&share), "{n} {design:?} {share}");
    }
}

#[test]
fn what_is_needed_suffices() {
    // Scatter of 10 % and a margin of 10 %: as many as are named hold in 80 %.
    let mut noise = Noise::new(3);
    let mut group =
        |n: usize| -> Vec<f64> { (0..n).map(|_| (0.1 * noise.normal()).exp()).collect() };
    let many = asked(
        &group(2000),
        &group(2000),
        Design::Independent,
        Margin::Within(0.1),
    );
    let n = many.needed.unwrap();
    assert!((16..=22).contains(&n), "{n}");
    let holds = (0..1000).filter(|_| {
        asked(
            &group(n),
            &group(n),
            Design::Independent,
            Margin::Within(0.1),
        )
        .answer
            == Answer::Holds
    });
    let share = holds.count() as f64 / 1000.0;
    assert!((0.74..=0.88).contains(&share), "{share}");
    // A smaller margin takes more, one on one side alone fewer.
    let needed = |m| asked(&A, &B, Design::Independent, m).needed.unwrap();
    assert!(needed(Margin::Within(0.01)) > needed(Margin::Within(0.03)));
    assert!(needed(Margin::NoWorse(0.03)) < needed(Margin::Within(0.03)));
    assert_eq!(
        asked(&A, &B, Design::Independent, Margin::Within(1e-5)).needed,
        None
    );
}

mod long {
    use super::*;

    #[test]
    fn the_table_of_a_thousand_draws() {
        if std::env::var_os("TOMPION_LONG").is_none() {
            return;
        }
        for (factor, seed) in [(1.1, 1_000_000), (0.9, 2_000_000), (1.0, 3_000_000)] {
            let (independent, paired) = said(factor, 1000, seed);
            println!(
                "truth {factor}: within 10 % said in {independent} of independent, {paired} of paired"
            );
            match factor == 1.0 {
                true => assert!(independent >= 0.9 && paired >= 0.9),
                // Two binomial errors.
                false => assert!(independent <= 0.064 && paired <= 0.064),
            }
        }
    }
}
