use super::*;
use crate::test_noise::{Noise, autoregressive};

fn of(values: &[i64], limit: i64, q: f64) -> LimitTest {
    LimitTest::of(values, limit, q).unwrap()
}

#[test]
fn so_many_samples_as_a_binomial_test_takes_show_that_a_limit_is_kept() {
    // So many with none, one and two beyond, far from one another.
    for (q, needed) in [(0.999, [3_688, 5_570, 7_223]), (0.99, [368, 555, 720])] {
        for (beyond, needed) in needed.into_iter().enumerate() {
            let p = |samples: usize| {
                let mut values = vec![1; samples];
                (0..beyond).for_each(|late| values[(late + 1) * samples / 3] = 9);
                of(&values, 1, q).p_kept()
            };
            assert!(p(needed) <= 0.025 && p(needed - 1) > 0.025, "{q} {beyond}");
        }
    }
    let p = |n| of(&vec![1; n], 1, 0.999).p_kept();
    assert!(p(3_688) <= 0.025 && p(3_687) > 0.025);
    // 0.999^3688, of no sample beyond.
    assert!((p(3_688) / 0.999f64.powi(3_688) - 1.0).abs() < 1e-9);
}

#[test]
fn a_cluster_counts_as_many_as_are_in_it() {
    // Twenty clusters of five, far from one another.
    let mut values = vec![1; 10_000];
    (0..20).for_each(|i| values[i * 500..i * 500 + 5].fill(9));
    assert_eq!(of(&values, 5, 0.99).clustering, 5.0);
    // Of two sizes, 1 and 9: the mean size is 5, that which a late sample is in 8.2.
    let mut values = vec![1; 10_000];
    (0..20).for_each(|i| values[i * 500..i * 500 + 1 + 8 * (i % 2)].fill(9));
    assert!((of(&values, 5, 0.99).clustering - 8.2).abs() < 1e-9);
}

#[test]
fn clusters_at_any_time_are_no_slow_movement() {
    // Thirty clusters of ten, wherever they fall: parts scatter ten times as much as single samples.
    let mut noise = Noise::new(6);
    let mut is_slow = || {
        let mut late = vec![false; 30_000];
        for _ in 0..30 {
            let share = crate::tails::normal_upper(noise.normal());
            let from = (share * 29_900.0) as usize;
            late[from..from + 10].fill(true);
        }
        let late: Vec<usize> = (0..late.len()).filter(|i| late[*i]).collect();
        // Clusters that touch are larger ones.
        clustering(&late, 30_000) > 12.5
    };
    let share = (0..400).filter(|_| is_slow()).count() as f64 / 400.0;
    assert!(share < 0.1, "{share}");
}

#[test]
fn parts_of_which_less_than_half_is_late_show_nothing() {
    let late = |share: usize| -> Vec<usize> {
        let of_part = |part: usize| (0..share).map(move |at| part * 100 + at);
        (0..PARTS).flat_map(of_part).collect()
    };
    assert_eq!(p_of_parts(&late(49), 800, 0.01), 1.0);
    assert!(p_of_parts(&late(50), 800, 0.01) < 1e-9);
}

#[test]
fn many_samples_beyond_show_that_a_limit_is_exceeded() {
    let mut values = vec![1; 1000];
    (0..20).for_each(|i| values[i * 50 + (i * 7) % 13] = 9);
    let test = of(&values, 5, 0.99);
    assert_eq!((test.samples, test.beyond), (1000, 20));
    // P(X >= 20) of a binomial X of 1000 and 0.01, by SciPy.
    assert!(
        (test.p_exceeded() - 0.003_288_36).abs() < 1e-6,
        "{test:?} {}",
        test.p_exceeded()
    );
    assert!(test.p_exceeded() < 0.025 && test.p_kept() > 0.9, "{test:?}");
}

#[test]
fn one_pause_is_one_event_however_many_samples_it_makes_late() {
    let mut values: Vec<i64> = (0..4000).map(|i| i * 7919 % 1000).collect();
    values[1000..1050].fill(100_000);
    let test = of(&values, 5_000, 0.99);
    assert_eq!(test.beyond, 50);
    assert!((test.clustering - 50.0).abs() < 1e-9, "{test:?}");
    assert!(test.p_exceeded() > 0.1 && test.p_kept() > 0.1, "{test:?}");
    // Forty late samples of which each came by itself are another matter.
    let mut values: Vec<i64> = (0..4000).map(|i| i * 7919 % 1000).collect();
    (0..50).for_each(|i| values[i * 80 + (i * 37) % 61] = 100_000);
    assert!(of(&values, 5_000, 0.995).p_exceeded() < 1e-4);
}

#[test]
fn dependence_is_seen_at_the_samples_own_quantile_where_none_is_beyond_the_limit() {
    let mut noise = Noise::new(3);
    let mut at = |phi: f64| {
        let values: Vec<i64> = autoregressive(&mut noise, 20_000, phi)
            .iter()
            .map(|v| (v * 1e6) as i64)
            .collect();
        of(&values, i64::MAX, 0.99).clustering
    };
    let (independent, dependent) = (at(0.0), at(0.95));
    assert!((1.0..1.4).contains(&independent), "{independent}");
    assert!(dependent > 3.0, "{dependent}");
}

#[test]
fn late_samples_of_one_hour_of_the_day_do_not_count_as_if_they_were_of_all() {
    // Single ones, so that there are no clusters, all of them in an eighth of the time.
    let mut values = vec![1; 80_000];
    (0..200).for_each(|i| values[10_000 + i * 50] = 9);
    let test = of(&values, 5, 0.99);
    assert!(test.clustering > 50.0, "{test:?}");
}

#[test]
fn ties_at_the_quantile_are_no_clusters() {
    // A coarse clock: nine in ten values are the same.
    let mut noise = Noise::new(4);
    let values: Vec<i64> = (0..10_000)
        .map(|_| 1000 * i64::from(noise.uniform() < 0.1))
        .collect();
    let test = of(&values, 2_000, 0.99);
    assert!(test.clustering < 1.5 && test.p_kept() < 1e-9, "{test:?}");
}

#[test]
fn what_is_late_all_the_time_exceeds_a_limit() {
    let test = of(&vec![2; 2_000], 1, 0.99);
    assert!(test.p_exceeded() < 1e-9 && test.p_kept() > 0.99, "{test:?}");
    // Most of the time, with clusters that are long.
    let values: Vec<i64> = (0..2_000).map(|i| i64::from(i % 100 < 70)).collect();
    assert!(of(&values, 0, 0.99).p_exceeded() < 1e-9);
    // Of no more than a fifth, all: a look at the latest of them tells what eight parts cannot.
    let mut noise = Noise::new(4);
    let values: Vec<i64> = (0..2_000).map(|_| (1e3 * noise.normal()) as i64).collect();
    assert!(of(&values, -10_000, 0.8).p_exceeded() < 1e-9);
    // One long pause alone does not.
    let mut values = vec![0; 2_000];
    values[300..500].fill(9);
    assert!(of(&values, 1, 0.99).p_exceeded() > 0.01);
}

#[test]
fn looks_spend_no_more_than_there_is() {
    let mut looks = Looks::new(0.025);
    let spent: Vec<f64> = [0.25, 0.5, 0.5, 0.75, 1.0, 1.0]
        .into_iter()
        .map(|done| looks.next(done))
        .collect();
    assert!(
        (spent.iter().sum::<f64>() - 0.025).abs() < 1e-12,
        "{spent:?}"
    );
    assert!(
        spent[0] < 1e-4 && spent[2] == 0.0 && spent[5] == 0.0,
        "{spent:?}"
    );
    assert!(spent[0] < spent[1] && spent[1] < spent[3], "{spent:?}");
    let mut last = Looks::new(0.025);
    assert_eq!(last.next(0.0), 0.0);
    assert_eq!(last.next(2.0), 0.025);
}

#[test]
fn without_values_or_a_quantile_there_is_no_test() {
    assert!(LimitTest::of(&[], 1, 0.5).is_none() && LimitTest::of(&[1], 1, 1.0).is_none());
}

#[test]
fn a_limit_is_kept_only_after_the_time_that_rare_pauses_need() {
    let (kept, late) = (of(&vec![1; 10_000], 1, 0.99), of(&vec![2; 10_000], 1, 0.99));
    let mut watch = LimitWatch::new(0.025, 0.6);
    assert_eq!(watch.look(&kept, 0.5), Limit::Open);
    assert_eq!(watch.look(&kept, 0.6), Limit::Kept);
    let mut watch = LimitWatch::new(0.025, 0.6);
    assert_eq!(watch.look(&late, 0.1), Limit::Exceeded);
}

#[test]
fn as_many_samples_are_needed_as_binomial_tables_say() {
    // None, one and two beyond, as often in the literature: 0.999^3688 = 0.02497.
    for (q, beyond, needed) in [
        (0.999, 0, 3688),
        (0.999, 1, 5570),
        (0.999, 2, 7223),
        (0.99, 0, 368),
        (0.99, 1, 555),
        (0.99, 2, 720),
    ] {
        // Apart from one another, so that none is a cluster.
        let mut values = vec![1i64; 8_000];
        (0..beyond).for_each(|i| values[1_000 + 3_000 * i] = 100);
        let test = LimitTest::of(&values, 50, q).unwrap();
        assert_eq!(test.samples_needed(0.025), Some(needed), "{q} {beyond}");
        let fewer = LimitTest::of(&values[..values.len() / 8], 50, q).unwrap();
        if beyond == 0 {
            assert_eq!(fewer.samples_needed(0.025), Some(needed));
        }
    }
    let late = vec![100i64; 100];
    let test = LimitTest::of(&late, 50, 0.99).unwrap();
    assert_eq!(test.samples_needed(0.025), None);
}

#[test]
fn parts_that_scatter_may_truly_scatter_by_more_than_eight_of_them_show() {
    // 800 late samples in eight parts of 10,000, three in five of them beyond the limit: no clusters.
    let series = |counts: [usize; 8]| {
        let mut values = vec![1; 80_000];
        for (part, count) in counts.into_iter().enumerate() {
            for i in 0..count {
                let late = if i * 5 < count * 3 { 3 } else { 2 };
                values[part * 10_000 + i * (10_000 / count)] = late;
            }
        }
        LimitTest::of(&values, 2, 0.99).expect("values")
    };
    let even = series([100; 8]);
    assert_eq!((even.beyond, even.clustering), (480, 1.0));
    assert!(even.p_kept() < 1e-9);
    // Their scatter, 22.9, would show that the limit is kept.
    let uneven = series([160, 40, 120, 80, 40, 160, 80, 120]);
    assert_eq!(uneven.beyond, 480);
    let by_scatter = LimitTest {
        clustering: 160.0 / 7.0,
        ..uneven
    };
    assert!(by_scatter.p_kept() < 0.025);
    assert!(uneven.p_kept() > 0.025, "{uneven:?}");
}

#[test]
fn two_looks_share_the_error() {
    let error = 0.025;
    for (q, first) in [(0.999f64, 4_056), (0.99, 404)] {
        let outlook = |n: usize, late: usize| {
            let mut values = vec![1i64; n];
            (0..late).for_each(|i| values[(i + 1) * n / 3] = 100);
            LimitTest::of(&values, 50, q).unwrap().outlook(error)
        };
        // While none is late the first look is as far away, and the likelier the nearer it is.
        let [near, far] = [first * 9 / 10, first / 10].map(|n| outlook(n as usize, 0));
        assert_eq!([near.samples, far.samples], [first, first]);
        assert!(
            near.kept > 0.7 && far.kept < 0.4 && near.exceeded < 0.01,
            "{near:?} {far:?}"
        );
        let there = outlook(first as usize, 0);
        assert_eq!((there.samples, there.kept), (first, 1.0));
        // One late: the second look is so far away that both are wrong no more often than one may be.
        let second = outlook(first as usize, 1);
        let wrong_at_first = q.powf(first as f64);
        let n = second.samples as f64;
        let wrong_at_second = q.powf(n) + n * (1.0 - q) * q.powf(n - 1.0);
        let both = wrong_at_first + wrong_at_second;
        assert!((0.97 * error..=error).contains(&both), "{both}");
    }
}

#[test]
fn what_is_hopeless_is_told_from_what_is_not() {
    let of = |n: usize, late: usize| {
        let mut values = vec![1i64; n];
        (0..late).for_each(|i| values[i * n / late] = 100);
        LimitTest::of(&values, 50, 0.99).unwrap().outlook(0.025)
    };
    // Ten times as many late as may be: it exceeds the limit. As many as may be: nobody will know.
    let late = of(60, 6);
    assert!(late.exceeded > 0.9 && late.kept < 0.01, "{late:?}");
    let near = of(1_000, 10);
    assert!(near.kept + near.exceeded < 0.3, "{near:?}");
    // More than can be counted in a lifetime.
    let many = of(100_000, 90_000);
    assert_eq!((many.kept, many.exceeded), (0.0, 1.0));
    let few = LimitTest::of(&vec![1; 100_000], 50, 0.5)
        .unwrap()
        .outlook(0.025);
    assert_eq!((few.samples, few.kept), (100_000, 1.0));
}

#[test]
fn whoever_goes_on_as_far_as_the_outlook_says_is_wrong_as_seldom() {
    const BLOCKS: usize = 6;
    const DRAWS: u64 = 4_000;
    let error = 0.025;
    let is_wrong = |which: usize, values: &[i64], limit| {
        let test = of(values, limit, 0.99);
        [test.p_kept(), test.p_exceeded()][which] <= error
    };
    // Where a limit of the p99 is just exceeded, and just kept, by single samples and by stalls that two or three meet.
    for size in [1, 2, 3] {
        let often = 0.05;
        let limit = |share: f64| (1e6 * (often / share).ln()) as i64;
        let [kept, exceeded] = [limit(0.0101), limit(0.0099)];
        // As it goes on, and of as many samples as were planned.
        let (mut wrong, mut planned) = ([0; 2], [0; 2]);
        for seed in 0..DRAWS {
            for (which, limit) in [kept, exceeded].into_iter().enumerate() {
                let mut noise = Noise::new(seed);
                let mut values: Vec<i64> = Vec::new();
                for block in 0..BLOCKS {
                    let more = match LimitTest::of(&values, limit, 0.99).map(|t| t.outlook(error)) {
                        None => 404.0 / BLOCKS as f64,
                        Some(o) if o.kept + o.exceeded < 0.1 => 8.0,
                        Some(o) => {
                            (o.samples as f64 - values.len() as f64) / (BLOCKS - block) as f64
                        }
                    };
                    stalls(
                        &mut noise,
                        &mut values,
                        more.ceil().max(8.0) as usize,
                        often,
                        size,
                    );
                }
                wrong[which] += u64::from(is_wrong(which, &values, limit));
                let missing = 404usize.saturating_sub(values.len());
                stalls(&mut noise, &mut values, missing, often, size);
                planned[which] += u64::from(is_wrong(which, &values[..404], limit));
            }
        }
        let scatter = 3.0 * (2.0 * error * DRAWS as f64).sqrt();
        println!(
            "stalls of {size}: wrong {wrong:?} of {DRAWS}, {planned:?} with as many as planned"
        );
        let most = error * DRAWS as f64;
        for (wrong, planned) in wrong.into_iter().zip(planned) {
            assert!(
                wrong as f64 <= most.max(planned as f64) + scatter,
                "{size}: {wrong} {planned}"
            );
        }
    }
}

/// So many samples more, of which a share of `often` meets stalls of exponential lengths, `size` of them each.
fn stalls(noise: &mut Noise, values: &mut Vec<i64>, more: usize, often: f64, size: usize) {
    let until = values.len() + more;
    while values.len() < until {
        let is_late = noise.uniform() < often / size as f64;
        let value = if is_late {
            1e6 * noise.exponential()
        } else {
            -1e6 * noise.uniform()
        };
        values.extend(vec![value as i64; if is_late { size } else { 1 }]);
    }
}

#[test]
fn a_share_that_chance_seldom_brings_is_so_seldom_however_samples_depend() {
    // Regimes that outlast a run of 8 blocks: in the bad one, which a part of the runs meet, so many samples are late
    // that one in a hundred is in the long run. Looked at after each block.
    let mut noise = Noise::new(11);
    for (bad, fails) in [(0.5, false), (0.02, true), (0.0125, true), (0.2, false)] {
        let late_then = 0.01 / bad;
        let mut wrong = 0;
        for _ in 0..4_000 {
            let is_bad = crate::tails::normal_upper(noise.normal()) < bad;
            let mut late = 0.0;
            let is_wrong = (1..=8).any(|block| {
                let some = (0.5 + 0.1 * noise.normal()).clamp(0.0, 1.0);
                late += if is_bad { late_then * 2.0 * some } else { 0.0 };
                share_by_chance((late / f64::from(block)).min(1.0), 0.01) <= 0.025
            });
            wrong += usize::from(is_wrong);
        }
        // Binomial: 2.5 % of 4,000 and three standard deviations.
        assert!(wrong <= 130, "{bad}: {wrong}");
        // Nor is it a test that never says anything.
        assert_eq!(wrong > 0, fails, "{bad}: {wrong}");
    }
    assert_eq!(share_by_chance(0.005, 0.01), 1.0);
    assert!(share_by_chance(0.41, 0.01) < 0.025 && share_by_chance(0.39, 0.01) > 0.025);
}
