use super::*;
use crate::test_noise::Noise;
use proptest::prelude::*;

/// Mid-ranks, doubled, by counting.
fn doubled_ranks(values: &[i32]) -> Vec<i64> {
    values
        .iter()
        .map(|v| {
            let below = values.iter().filter(|w| *w < v).count() as i64;
            let equal = values.iter().filter(|w| *w == v).count() as i64;
            2 * below + equal + 1
        })
        .collect()
}

/// Every relabelling one by one.
fn brute_independent(a: &[i32], b: &[i32]) -> f64 {
    let pooled: Vec<i32> = a.iter().chain(b).copied().collect();
    let ranks = doubled_ranks(&pooled);
    let sum = |mask: u32| -> i64 {
        let chosen = (0..ranks.len()).filter(|i| mask >> i & 1 == 1);
        chosen.map(|i| ranks[i]).sum()
    };
    let observed = sum((1 << a.len()) - 1);
    let masks = (0u32..1 << ranks.len()).filter(|m| m.count_ones() as usize == a.len());
    share(masks.map(sum), observed)
}

fn brute_paired(a: &[i32], b: &[i32]) -> f64 {
    let d: Vec<i32> = a.iter().zip(b).map(|(x, y)| y - x).collect();
    let ranks = doubled_ranks(&d.iter().map(|x| x.abs()).collect::<Vec<_>>());
    let sum = |flip: u32| -> i64 {
        (0..d.len())
            .map(|i| {
                let sign = i64::from(d[i].signum());
                if flip >> i & 1 == 1 {
                    -sign * ranks[i]
                } else {
                    sign * ranks[i]
                }
            })
            .sum()
    };
    share((0u32..1 << d.len()).map(sum), sum(0))
}

fn share(sums: impl Iterator<Item = i64>, observed: i64) -> f64 {
    let sums: Vec<i64> = sums.collect();
    let below = sums.iter().filter(|s| **s <= observed).count();
    let above = sums.iter().filter(|s| **s >= observed).count();
    (2.0 * below.min(above) as f64 / sums.len() as f64).min(1.0)
}

fn floats(v: &[i32]) -> Vec<f64> {
    v.iter().map(|x| f64::from(*x)).collect()
}

#[test]
fn tables_of_the_textbook() {
    // Complete separation of 4 and 4: 2 of 70; of 6 pairs: 2 of 64.
    let t = permutation_test(
        &[1.0, 2.0, 3.0, 4.0],
        &[5.0, 6.0, 7.0, 8.0],
        Design::Independent,
    )
    .unwrap();
    assert!(
        (t.p - 2.0 / 70.0).abs() < 1e-15 && (t.p - t.least_p).abs() < 1e-15,
        "{t:?}"
    );
    let t = permutation_test(&[0.0; 6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Design::Paired).unwrap();
    assert!(
        (t.p - 2.0 / 64.0).abs() < 1e-15 && t.p == t.least_p,
        "{t:?}"
    );
    // Table A9 of Lehmann 1975 / qsignrank: W+ <= 8 of n = 10 has 0.0244.
    let d = [-8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0, 10.0];
    let t = permutation_test(&[0.0; 10], &d, Design::Paired).unwrap();
    assert!((t.p - 2.0 * 25.0 / 1024.0).abs() < 1e-12, "{t:?}");
}

#[test]
fn replicates_that_a_level_needs() {
    let need = |design, family| replicates_needed(design, 0.05, family).unwrap();
    assert_eq!([1, 10, 45].map(|f| need(Design::Independent, f)), [4, 6, 7]);
    assert_eq!([1, 10, 45].map(|f| need(Design::Paired, f)), [6, 9, 11]);
    // 2/40 is the level exactly.
    assert_eq!(replicates_needed(Design::Independent, 0.1, 1), Some(3));
    assert_eq!(replicates_needed(Design::Independent, 0.0, 1), None);
}

#[test]
fn nothing_to_tell_is_p_one() {
    let p = |a: &[f64], b: &[f64], d| permutation_test(a, b, d).unwrap().p;
    assert_eq!(p(&[], &[1.0, 2.0], Design::Independent), 1.0);
    assert_eq!(p(&[], &[], Design::Paired), 1.0);
    assert_eq!(p(&[3.0; 5], &[3.0; 5], Design::Independent), 1.0);
    assert_eq!(p(&[3.0; 5], &[3.0; 5], Design::Paired), 1.0);
}

#[test]
fn refusals_name_the_reason() {
    let error = permutation_test(&[1.0], &[1.0, 2.0], Design::Paired).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a paired design needs as many replicates on both sides, not 1 and 2"
    );
    let error = permutation_test(&[f64::NAN], &[1.0], Design::Independent).unwrap_err();
    assert_eq!(error, ReplicateError::NotFinite);
}

#[test]
fn the_interval_of_a_textbook_shift() {
    // 4 against 4 at 95 %: the interval is all of the differences.
    let s = shift_interval(
        &[1.0, 2.0, 4.0, 8.0],
        &[16.0, 32.0, 64.0, 128.0],
        Design::Independent,
        0.95,
    );
    let s = s.unwrap().unwrap();
    let i = s.interval.unwrap();
    assert_eq!((i.low, i.high), (8.0, 127.0));
    // wilcox.test(conf.int = TRUE) of 10 pairs: Walsh averages 9 and 47 of 55.
    let d = [0.8, 1.7, 2.9, 4.1, 5.6, 7.7, 9.3, 12.0, 14.6, 18.1];
    let s = shift_interval(&[0.0; 10], &d, Design::Paired, 0.95)
        .unwrap()
        .unwrap();
    let mut walsh: Vec<f64> = (0..10)
        .flat_map(|i| (i..10).map(move |j| 0.5 * (d[i] + d[j])))
        .collect();
    walsh.sort_unstable_by(f64::total_cmp);
    let i = s.interval.unwrap();
    assert_eq!((i.low, i.high), (walsh[8], walsh[46]));
    assert_eq!(s.estimate, walsh[27]);
}

#[test]
fn too_few_replicates_have_a_shift_without_interval() {
    let s = shift_interval(
        &[1.0, 2.0, 3.0],
        &[4.0, 5.0, 6.0],
        Design::Independent,
        0.95,
    );
    let s = s.unwrap().unwrap();
    assert_eq!((s.estimate, s.interval), (3.0, None));
    assert_eq!(
        shift_interval(&[], &[1.0], Design::Independent, 0.9),
        Ok(None)
    );
}

#[test]
fn constant_groups_shift_by_a_point() {
    let s = shift_interval(&[5.0; 4], &[7.0; 4], Design::Independent, 0.95)
        .unwrap()
        .unwrap();
    let i = s.interval.unwrap();
    assert_eq!((s.estimate, i.low, i.high), (2.0, 2.0, 2.0));
}

#[test]
fn intervals_cover_the_shift_as_often_as_they_say() {
    // 7 against 9 normal figures: confidence at least 90 %, and the next shorter
    // interval would have less; 2000 intervals leave out at most 10 % + 3 sigma.
    let mut noise = Noise::new(17);
    let missed = (0..2000)
        .filter(|_| {
            let a: Vec<f64> = (0..7).map(|_| noise.normal()).collect();
            let b: Vec<f64> = (0..9).map(|_| 3.0 + noise.normal()).collect();
            let shift = shift_interval(&a, &b, Design::Independent, 0.9)
                .unwrap()
                .unwrap();
            !shift.interval.unwrap().contains(3.0)
        })
        .count();
    assert!((100..=240).contains(&missed), "{missed}");
}

/// Mann and Whitney's U of these, as a normal one.
fn normal_p(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let larger = larger_share(a, b, Design::Independent) * n * m;
    let z = (larger - n * m / 2.0).abs() / (n * m * (n + m + 1.0) / 12.0).sqrt();
    statrs::function::erf::erfc(z / 2.0f64.sqrt())
}

#[test]
fn what_is_not_counted_agrees_with_a_normal_approximation_where_that_is_good() {
    let mut noise = Noise::new(2);
    let mut normal =
        |count: usize, by: f64| -> Vec<f64> { (0..count).map(|_| by + noise.normal()).collect() };
    let (a, b) = (normal(250, 0.0), normal(250, 0.15));
    let t = permutation_test(&a, &b, Design::Independent).unwrap();
    assert_eq!(t.relabelings, Relabelings::Approximated);
    let want = normal_p(&a, &b);
    assert!((t.p / want - 1.0).abs() < 0.01, "{} {want}", t.p);
    // Few of one group, very many of the other: these are sampled.
    let (a, b) = (normal(15, 0.0), normal(3000, 0.5));
    let t = permutation_test(&a, &b, Design::Independent).unwrap();
    let count = 99_999;
    assert!(matches!(t.relabelings, Relabelings::Sampled { count: c, .. } if c == count));
    let want = normal_p(&a, &b);
    assert!((t.p / want - 1.0).abs() < 0.2, "{} {want}", t.p);
}

#[test]
fn thousands_of_replicates_take_a_moment() {
    // It took minutes, with relabellings drawn for each shift that the interval asks for.
    let began = std::time::Instant::now();
    let mut noise = Noise::new(9);
    let a: Vec<f64> = (0..1000).map(|_| noise.normal()).collect();
    let b: Vec<f64> = a.iter().map(|x| x + 0.2 + 0.5 * noise.normal()).collect();
    for design in [Design::Independent, Design::Paired] {
        let test = permutation_test(&a, &b, design).unwrap();
        assert!(test.p < 0.01 && test.p >= test.least_p, "{test:?}");
        let interval = shift_interval(&a, &b, design, 0.95).unwrap().unwrap();
        let interval = interval.interval.unwrap();
        assert!(interval.low > 0.0 && interval.contains(0.2), "{interval:?}");
    }
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}

proptest! {
    #[test]
    fn independent_p_is_that_of_every_relabelling(a in prop::collection::vec(-6i32..6, 1..7), b in prop::collection::vec(-6i32..6, 1..7)) {
        let t = permutation_test(&floats(&a), &floats(&b), Design::Independent).unwrap();
        prop_assert!((t.p - brute_independent(&a, &b)).abs() < 1e-12, "{}", t.p);
        prop_assert!(t.p > 0.0 && t.p <= 1.0 && t.p >= t.least_p * (1.0 - 1e-12));
    }

    #[test]
    fn paired_p_is_that_of_every_flip(pairs in prop::collection::vec((-6i32..6, -6i32..6), 1..11)) {
        let (a, b): (Vec<i32>, Vec<i32>) = pairs.into_iter().unzip();
        let t = permutation_test(&floats(&a), &floats(&b), Design::Paired).unwrap();
        prop_assert!((t.p - brute_paired(&a, &b)).abs() < 1e-12, "{}", t.p);
        prop_assert!(t.p > 0.0 && t.p <= 1.0 && t.p >= t.least_p * (1.0 - 1e-12));
    }

    #[test]
    fn place_scale_order_and_names_of_groups_do_not_matter(
        a in prop::collection::vec(-50i32..50, 1..12), b in prop::collection::vec(-50i32..50, 1..12),
        by in -1000i32..1000, times in 1i32..20,
    ) {
        let p = |a: &[i32], b: &[i32]| permutation_test(&floats(a), &floats(b), Design::Independent).unwrap().p;
        let moved = |v: &[i32]| v.iter().map(|x| x * times + by).collect::<Vec<_>>();
        let want = p(&a, &b);
        prop_assert!((p(&moved(&a), &moved(&b)) - want).abs() < 1e-12);
        prop_assert!((p(&b, &a) - want).abs() < 1e-12);
        let mut sorted = a.clone();
        sorted.sort_unstable();
        prop_assert!((p(&sorted, &b) - want).abs() < 1e-12);
    }

    #[test]
    fn test_and_interval_agree(
        a in prop::collection::vec(-8i32..8, 4..9), b in prop::collection::vec(-8i32..12, 4..9), paired: bool,
    ) {
        let (design, n) = match paired {
            true => (Design::Paired, a.len().min(b.len())),
            false => (Design::Independent, usize::MAX),
        };
        let (a, b) = (floats(&a[..n.min(a.len())]), floats(&b[..n.min(b.len())]));
        let p = permutation_test(&a, &b, design).unwrap().p;
        let shift = shift_interval(&a, &b, design, 0.95).unwrap().unwrap();
        let Some(i) = shift.interval else { return Ok(()) };
        prop_assert!(i.low <= shift.estimate && shift.estimate <= i.high);
        if p > 0.05 + 1e-9 {
            prop_assert!(i.contains(0.0), "p {p} {i:?}");
        }
        if !i.contains(0.0) {
            prop_assert!(p <= 0.05 + 1e-9, "p {p} {i:?}");
        }
    }

    #[test]
    fn shifts_move_and_turn_with_the_figures(
        a in prop::collection::vec(-50i32..50, 5..10), b in prop::collection::vec(-50i32..50, 5..10), by in -500i32..500,
    ) {
        let shift = |a: &[i32], b: &[i32]| shift_interval(&floats(a), &floats(b), Design::Independent, 0.95).unwrap().unwrap();
        let plain = shift(&a, &b);
        let moved = shift(&a, &b.iter().map(|x| x + by).collect::<Vec<_>>());
        let turned = shift(&b, &a);
        prop_assert_eq!(moved.estimate, plain.estimate + f64::from(by));
        prop_assert_eq!(turned.estimate, -plain.estimate);
        let (p, m, t) = (plain.interval.unwrap(), moved.interval.unwrap(), turned.interval.unwrap());
        prop_assert_eq!((m.low, m.high), (p.low + f64::from(by), p.high + f64::from(by)));
        prop_assert_eq!((t.low, t.high), (-p.high, -p.low));
    }
}
