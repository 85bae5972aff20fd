use super::*;
use crate::test_noise::{Noise, autoregressive};
use crate::test_wander::{STEADY, Series, stepped};

fn look(figures: &[f64], kind: Figures) -> Vec<ChangePoint> {
    change_points(figures, kind, 0.05).unwrap()
}

/// The share of series with a jump found by p, by p_wander; each is figures of
/// which 10 % are spread.
fn false_finds(series: Series, n: usize, draws: u64, seed: u64) -> (f64, f64) {
    let (mut any, mut wander) = (0, 0);
    for draw in 0..draws {
        let series = series(&mut Noise::new(seed + draw), n);
        let figures: Vec<f64> = series.iter().map(|v| 100.0 + 10.0 * v).collect();
        let found = look(&figures, Figures::Signed);
        any += u32::from(!found.is_empty());
        wander += u32::from(found.iter().any(|f| f.p_wander <= 0.05));
    }
    (
        f64::from(any) / draws as f64,
        f64::from(wander) / draws as f64,
    )
}

/// The share of steps in the middle found within two figures, and with a p_wander
/// below 5 %, too.
fn finds(by: f64, n: usize, draws: u64, seed: u64) -> (f64, f64) {
    let (mut near, mut wander) = (0, 0);
    for draw in 0..draws {
        let found = look(
            &stepped(&mut Noise::new(seed + draw), n, by),
            Figures::Positive,
        );
        let hit = found.iter().find(|f| f.index.abs_diff(n / 2) <= 2);
        near += u32::from(hit.is_some());
        wander += u32::from(hit.is_some_and(|f| f.p_wander <= 0.05));
    }
    (
        f64::from(near) / draws as f64,
        f64::from(wander) / draws as f64,
    )
}

#[test]
fn steps_are_found_and_wander_is_not() {
    // The bounds less, and more, three binomial errors.
    let (near, _) = finds(0.2, 60, 60, 1);
    assert!(near >= 0.71, "{near}");
    for (name, series) in STEADY {
        let (any, wander) = false_finds(series, 60, 60, 1_000);
        assert!(any <= 0.135 && wander <= any, "{name} {any} {wander}");
    }
}

#[test]
fn a_plain_step_has_its_place_its_size_and_p() {
    let figures: Vec<f64> = (0..60)
        .map(|i| (if i < 25 { 50.0 } else { 75.0 }) * (1.0 + 0.01 * (f64::from(i * 7 % 5) - 2.0)))
        .collect();
    let found = look(&figures, Figures::Positive);
    let [f] = found[..] else { panic!("{found:?}") };
    assert_eq!((f.index, f.between), (25, (25, 25)));
    assert!((f.before / 50.0 - 1.0).abs() < 1e-3 && (f.after / 75.0 - 1.0).abs() < 1e-3);
    let interval = f.ratio_interval.unwrap();
    assert!(
        interval.contains(1.5) && interval.high / interval.low < 1.03,
        "{f:?}"
    );
    assert!(f.p < 1e-4 && f.p_wander < 1e-4, "{f:?}");
}

#[test]
fn there_and_back_and_stairs_are_two() {
    for levels in [[1.0, 2.0, 1.0], [1.0, 1.5, 2.25]] {
        let mut noise = Noise::new(11);
        let figures: Vec<f64> = (0..90)
            .map(|i| levels[i / 30] * (0.1 * noise.normal()).exp())
            .collect();
        let found = look(&figures, Figures::Positive);
        let places: Vec<usize> = found.iter().map(|f| f.index).collect();
        assert_eq!(places, [30, 60]);
        let ratio = |i: usize| found[i].ratio.unwrap();
        assert!((ratio(0) * levels[0] / levels[1] - 1.0).abs() < 0.1);
        assert!((ratio(1) * levels[1] / levels[2] - 1.0).abs() < 0.1);
        // The level between them is one and the same.
        assert_eq!(found[0].after, found[1].before);
    }
}

#[test]
fn the_level_holds_between_real_jumps() {
    // Four levels, so far apart that all three jumps are found: is anything else?
    let (mut exact, mut more) = (0, 0);
    for seed in 0..60 {
        let mut noise = Noise::new(seed + 500);
        let figures: Vec<f64> = (0..160)
            .map(|i| [1.0, 3.0, 9.0, 2.0][i / 40] * (0.1 * noise.normal()).exp())
            .collect();
        let places: Vec<usize> = look(&figures, Figures::Positive)
            .iter()
            .map(|f| f.index)
            .collect();
        exact += u32::from(places == [40, 80, 120]);
        more += u32::from(places.len() > 3);
    }
    assert!(exact >= 51 && more <= 7, "{exact} {more}");
}

#[test]
fn rates_of_events_jump_too() {
    // Poisson counts: 4 a stretch, then 8.
    let (mut near, mut covered) = (0, 0);
    for seed in 0..40 {
        let mut noise = Noise::new(seed);
        let counts: Vec<f64> = (0..100)
            .map(|i| {
                let rate = if i < 60 { 4.0 } else { 8.0 };
                let mut time = noise.exponential();
                let mut count = 0.0;
                while time < rate {
                    count += 1.0;
                    time += noise.exponential();
                }
                count
            })
            .collect();
        let found = look(&counts, Figures::Counts);
        let Some(f) = found.iter().find(|f| f.index.abs_diff(60) <= 4) else {
            continue;
        };
        near += 1;
        covered += u32::from(f.ratio_interval.unwrap().contains(2.0));
    }
    assert!(near >= 36 && covered >= 30, "{near} {covered}");
    // From no event on there is no ratio.
    let counts: Vec<f64> = (0..40)
        .map(|i| if i < 20 { 0.0 } else { f64::from(5 + i % 3) })
        .collect();
    let found = look(&counts, Figures::Counts);
    assert_eq!((found.len(), found[0].index, found[0].before), (1, 20, 0.0));
    assert_eq!((found[0].ratio, found[0].ratio_interval), (None, None));
}

#[test]
fn sizes_and_places_are_covered() {
    for (phi, least) in [(0.0, 80), (0.5, 30)] {
        let (mut found, mut size, mut place) = (0, 0, 0);
        for seed in 0..100 {
            let mut noise = Noise::new(seed + 90);
            let figures: Vec<f64> = autoregressive(&mut noise, 100, phi)
                .iter()
                .zip(0..)
                .map(|(v, i)| if i < 40 { 1.0 } else { 1.6 } * (0.1 * v).exp())
                .collect();
            let all = look(&figures, Figures::Positive);
            let [f] = all[..] else { continue };
            found += 1;
            size += u32::from(f.ratio_interval.unwrap().contains(1.6));
            place += u32::from(f.between.0 <= 40 && 40 <= f.between.1);
        }
        let share = |n: u32| f64::from(n) / f64::from(found);
        println!(
            "AR({phi}): {found} found, size covered {}, place {}",
            share(size),
            share(place)
        );
        assert!(found >= least && share(size) >= 0.86 && share(place) >= 0.86);
    }
}

#[test]
fn a_spike_and_heavy_tails_are_no_change() {
    let mut noise = Noise::new(5);
    let mut figures: Vec<f64> = (0..60).map(|_| 1.0 + 0.1 * noise.normal()).collect();
    figures[30] = 50.0;
    assert_eq!(look(&figures, Figures::Positive), []);
    let pareto = |kind| {
        let found = (0..60).filter(|seed| {
            let mut noise = Noise::new(seed + 40);
            let figures: Vec<f64> = (0..60)
                .map(|_| (1.0 - noise.uniform()).powf(-1.0 / 1.5))
                .collect();
            !look(&figures, kind).is_empty()
        });
        found.count()
    };
    assert!(pareto(Figures::Positive) <= 8 && pareto(Figures::Signed) <= 8);
}

#[test]
fn long_series_are_averaged() {
    let figures = stepped(&mut Noise::new(9), 2_000, 0.2);
    let found = look(&figures, Figures::Positive);
    let [f] = found[..] else { panic!("{found:?}") };
    assert!(f.index.abs_diff(1_000) <= 18 && f.between.0 <= 1_000 && 1_000 <= f.between.1 + 9);
    assert!((f.ratio.unwrap() - 1.2).abs() < 0.02, "{f:?}");
}

#[test]
fn nothing_moves_and_refusals() {
    assert_eq!(look(&[3.0; 40], Figures::Positive), []);
    assert_eq!(look(&[0.1 + 0.2; 40], Figures::Signed), []);
    let error = |figures: &[f64], kind| change_points(figures, kind, 0.05).unwrap_err();
    let few = ChangePointError::TooFew { have: 15, need: 16 };
    assert_eq!(error(&[1.0; 15], Figures::Signed), few);
    assert_eq!(few.to_string(), "change points take 16 figures, not 15");
    assert_eq!(
        error(&[f64::NAN; 20], Figures::Signed),
        ChangePointError::NotFinite
    );
    assert_eq!(
        error(&[0.0; 20], Figures::Positive),
        ChangePointError::NotPositive
    );
    assert_eq!(
        error(&[-1.0; 20], Figures::Counts),
        ChangePointError::NotPositive
    );
}

#[test]
fn unit_and_origin_do_not_matter() {
    let figures = stepped(&mut Noise::new(21), 60, 0.3);
    let plain = look(&figures, Figures::Signed);
    let moved: Vec<f64> = figures.iter().map(|v| 1e9 * v - 4e9).collect();
    let other = look(&moved, Figures::Signed);
    assert_eq!((plain.len(), other.len()), (1, 1));
    assert_eq!(
        (plain[0].index, plain[0].between),
        (other[0].index, other[0].between)
    );
    assert!((plain[0].p / other[0].p - 1.0).abs() < 1e-6);
}

#[test]
fn p_is_read_between_the_rows_and_the_columns() {
    let at = |n, ratio| levels::p(ratio, n);
    assert_eq!(at(60, -100.0), (1.0, 1.0));
    assert!(at(60, 100.0).0 < 1e-15 && at(60, 100.0).1 > 0.0);
    // Of 5 % in the rows of 60 and 90; between them, linear in the logarithm of the length.
    let part = (75.0f64 / 60.0).ln() / 1.5f64.ln();
    for (n, part) in [(60, 0.0), (75, part), (90, 1.0)] {
        let (first, both) = (0.84 + part * (0.96 - 0.84), 2.94 + part * (3.18 - 2.94));
        assert!((at(n, first).0 - 0.05).abs() < 1e-9, "{n}");
        assert!((at(n, both).1 - 0.05).abs() < 1e-9, "{n}");
    }
    for n in [16, 17, 23, 60, 75, 239, 240, 500] {
        let mut before = (1.0, 1.0);
        for step in -50..120 {
            let p = at(n, 0.1 * f64::from(step));
            assert!(
                p.0 <= before.0 && p.1 <= before.1 && p.0 <= p.1,
                "{n} {step} {p:?}"
            );
            before = p;
        }
    }
}

#[test]
fn a_latency_and_a_rate_that_is_its_reciprocal_change_alike() {
    let figure = |i: i32| if i < 20 { 50.0 } else { 90.0 } + f64::from(i * 7 % 5) - 2.0;
    let latencies: Vec<f64> = (0..40).map(figure).collect();
    let rates: Vec<f64> = latencies.iter().map(|v| 1.0 / v).collect();
    let of = |figures: &[f64]| {
        change_points(figures, Figures::Positive, 0.05)
            .unwrap()
            .remove(0)
    };
    let (a, b) = (of(&latencies), of(&rates));
    assert_eq!((a.index, b.index), (20, 20));
    assert!((a.p - b.p).abs() <= 1e-6 * a.p, "{} {}", a.p, b.p);
    assert!((a.ratio.unwrap() * b.ratio.unwrap() - 1.0).abs() < 1e-9);
}

/// p of the best jumps of a series as the table has it, before it is adjusted.
fn raw_p(series: &[f64]) -> f64 {
    let evidence = evidence(series).unwrap();
    levels::p(evidence.ln_ratio, series.len()).0
}

/// Levels far apart, each of so many figures that scatter by 1, before figures that scatter
/// by 1 and jump by 2.2 in their middle.
fn before_a_small_jump(far: &[(usize, f64)], n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut noise = Noise::new(seed);
    let mut all = Vec::new();
    for &(length, level) in far {
        all.extend((0..length).map(|_| level + noise.normal()));
    }
    let small = |i: usize| if i < n / 2 { 0.0 } else { 2.2 };
    let part: Vec<f64> = (0..n).map(|i| small(i) + noise.normal()).collect();
    all.extend(&part);
    (all, part)
}

#[test]
fn a_part_is_tested_at_its_share_of_the_level() {
    // One jump leaves two parts, two at once leave three.
    let one: &[(usize, f64)] = &[(30, 1000.0)];
    let two: &[(usize, f64)] = &[(16, 1000.0), (16, -1000.0)];
    for far in [one, two] {
        let parts = 1.0 + far.len() as f64;
        let (mut told, mut withheld) = (0, 0);
        for seed in 0..100 {
            let (all, part) = before_a_small_jump(far, 40, seed);
            let p = raw_p(&part);
            let found = look(&all, Figures::Signed);
            let from = all.len() - part.len();
            // Where the small one is found together with the others it is in no part.
            let first = raw_p(&all);
            let within: Vec<f64> = found
                .iter()
                .filter(|f| f.index > from)
                .map(|f| f.p)
                .collect();
            if far.len() == 1 && within.len() == 1 && within[0] == first {
                continue;
            }
            let expected = (p * parts).max(first);
            if expected <= 0.05 {
                assert!(within.contains(&expected), "{seed} {p} {found:?}");
                told += 1;
            } else {
                assert!(within.is_empty(), "{seed} {p} {found:?}");
                withheld += u32::from(p <= 0.05);
            }
        }
        // Both were to be seen.
        assert!(told >= 10 && withheld >= 3, "{told} {withheld}");
    }
}

#[test]
fn the_whole_of_a_long_series_has_four_fifths_of_the_level() {
    for (n, share) in [(78, 1.0), (79, 1.0), (80, 0.8), (120, 0.8), (240, 0.8)] {
        let figures: Vec<f64> = (0..n)
            .map(|i| f64::from(i32::from(i >= n / 2)) + 0.3 * f64::from(i * 7 % 5 - 2))
            .collect();
        let found = look(&figures, Figures::Signed);
        let f = found.iter().find(|f| f.index == n as usize / 2).unwrap();
        assert_eq!(f.p, raw_p(&figures) * (1.0 / share), "{n}");
    }
    // A p between four fifths of the level and all of it is none.
    let decided = |n: usize| {
        let mut between = 0;
        for seed in 0..400 {
            let figures = stepped(&mut Noise::new(seed), n, 0.12);
            let p = raw_p(&figures);
            if p > 0.04 && p <= 0.05 {
                between += 1;
                let found = look(&figures, Figures::Signed);
                assert_eq!(found.is_empty(), n >= HALVED, "{seed} {p} {found:?}");
            }
        }
        between
    };
    assert!(decided(79) >= 2 && decided(80) >= 2);
}

#[test]
fn a_jump_between_unrest_is_seen_in_the_middle_half() {
    // Waves at both ends make all of it look like wander; the jump in the middle is in neither half.
    for (n, seed) in [(163, 1), (163, 2), (160, 3)] {
        let mut noise = Noise::new(seed);
        let figures: Vec<f64> = (0..n)
            .map(|i| {
                let calm = (n / 4..n / 4 + n / 2).contains(&i);
                let wave = 5.0 * (0.3 * i as f64).sin();
                let level = if i < n / 2 { 0.0 } else { 4.0 };
                level + if calm { 0.0 } else { wave } + noise.normal()
            })
            .collect();
        assert!(raw_p(&figures) > 0.04, "the whole shows it");
        for half in [&figures[..n / 2], &figures[n - n / 2..]] {
            assert!(15.0 * raw_p(half) > 0.05, "a half shows something");
        }
        let found = look(&figures, Figures::Signed);
        let [f] = found[..] else {
            panic!("{n} {found:?}")
        };
        assert!(f.index.abs_diff(n / 2) <= 1, "{f:?}");
        // Three halves share a fifth of the level.
        let middle = &figures[n / 4..n / 4 + n / 2];
        assert!((f.p / raw_p(middle) / 15.0 - 1.0).abs() < 1e-9, "{f:?}");
    }
}
