//! Factorial analyses on ranks: worked examples, refusals, invariances.

use proptest::prelude::*;

use super::*;
use crate::test_noise::Noise;

/// Every combination of `shape` levels, `per_cell` times, with the values given.
fn table(shape: &[usize], per_cell: usize, mut value: impl FnMut(&[usize]) -> f64) -> FactorTable {
    let names = &["A", "B", "C"][..shape.len()];
    let cells: usize = shape.iter().product();
    let rows = (0..cells * per_cell).map(|i| {
        let mut rest = i % cells;
        let places: Vec<usize> = shape
            .iter()
            .map(|n| {
                let place = rest % n;
                rest /= n;
                place
            })
            .collect();
        let levels = places.iter().map(|p| ["p", "q", "r", "s"][*p]).collect();
        (levels, value(&places))
    });
    FactorTable::new(names, rows.collect::<Vec<_>>()).unwrap()
}

fn near(got: f64, want: f64, digits: f64) {
    assert!((got - want).abs() <= digits, "{got} {want}");
}

/// A table of two factors from a data file: comments, names, then rows.
fn worked(csv: &'static str) -> FactorTable {
    let mut lines = csv.lines().filter(|l| !l.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[..2].to_vec(), cells[2].parse().unwrap())
    });
    FactorTable::new(&names[..2], rows).unwrap()
}

/// A level apart from the other by all, over and over.
#[test]
fn no_p_is_zero() {
    let mut noise = Noise::new(4);
    let far = table(&[2, 2], 2000, |at| 1e3 * at[0] as f64 + noise.normal());
    for found in [aligned_rank_transform(&far), scheirer_ray_hare(&far)] {
        let effect = found.effect(&["A"]).unwrap();
        assert!(effect.statistic.is_finite());
        assert_eq!(effect.p, crate::SMALLEST_P);
    }
}

#[test]
fn scheirer_ray_hare_of_the_rats() {
    let found = scheirer_ray_hare(&worked(include_str!("../../tests/data/rats.csv")));
    for (factors, squares, h, p) in [
        (vec!["Sex"], 8.3333, 0.64103, 0.42334),
        (vec!["Fat"], 108.0, 8.3077, 0.0039478),
        (vec!["Fat", "Sex"], 5.3333, 0.41026, 0.52184),
    ] {
        let effect = found.effect(&factors).unwrap();
        near(effect.sum_of_squares, squares, 5e-5);
        near(effect.statistic, h, 5e-5);
        near(effect.p, p, 5e-6);
        near(effect.error_sum_of_squares, 21.333, 5e-4);
        assert_eq!((effect.df, effect.error_df), (1, 8));
    }
}

#[test]
fn aligned_ranks_of_the_midichlorians() {
    let table = worked(include_str!("../../tests/data/midichlorians.csv"));
    let found = aligned_rank_transform(&table);
    for (factors, df, f, p) in [
        (vec!["Tribe"], 1, 3.0606, 0.099364),
        (vec!["Location"], 3, 34.6201, 3.1598e-7),
        (vec!["Tribe", "Location"], 3, 29.9354, 8.4929e-7),
    ] {
        let effect = found.effect(&factors).unwrap();
        near(effect.statistic, f, 5e-5);
        near(effect.p / p, 1.0, 2e-5);
        assert_eq!((effect.df, effect.error_df), (df, 16));
    }
}

#[test]
fn one_value_per_cell_leaves_the_highest_interaction_untested() {
    let mut noise = Noise::new(5);
    let t = table(&[3, 3, 3], 1, |p| 10.0 * p[0] as f64 + noise.normal());
    for found in [aligned_rank_transform(&t), scheirer_ray_hare(&t)] {
        assert_eq!(found.assumptions.untested.as_deref(), Some("A:B:C"));
        assert_eq!(found.effects.len(), 6);
        assert!(found.effect(&["A", "B", "C"]).is_none());
        assert!(found.effects.iter().all(|e| e.error_df == 8));
        assert!(
            found
                .assumptions
                .to_string()
                .contains("A:B:C cannot be tested")
        );
    }
    let found = aligned_rank_transform(&t);
    assert!(found.effect(&["A"]).unwrap().p < 1e-3, "{found:?}");
}

#[test]
fn aligning_finds_an_interaction_that_plain_ranks_miss() {
    let mut noise = Noise::new(8);
    // Large main effects and a crossing one tenth their size.
    let t = table(&[2, 2], 20, |p| {
        let cross = if p[0] == p[1] { 2.0 } else { 0.0 };
        20.0 * (p[0] + p[1]) as f64 + cross + noise.normal()
    });
    let aligned = aligned_rank_transform(&t).effect(&["A", "B"]).unwrap().p;
    let plain = scheirer_ray_hare(&t).effect(&["A", "B"]).unwrap().p;
    assert!(aligned < 1e-4 && plain > 0.1, "{aligned} {plain}");
}

#[test]
fn no_scatter_at_all() {
    let flat = table(&[2, 3], 2, |_| 4.0);
    for found in [aligned_rank_transform(&flat), scheirer_ray_hare(&flat)] {
        assert!(
            found
                .effects
                .iter()
                .all(|e| e.statistic == 0.0 && e.p == 1.0)
        );
        assert_eq!(found.assumptions.ties_share, 1.0);
    }
    let step = aligned_rank_transform(&table(&[2, 2], 3, |p| p[0] as f64));
    assert_eq!(step.effect(&["A"]).unwrap().p, 0.0);
    assert_eq!(step.effect(&["B"]).unwrap().p, 1.0);
}

#[test]
fn refuses_what_is_not_balanced() {
    let row = |a, b, v| (vec![a, b], v);
    let of = |rows: Vec<(Vec<&'static str>, f64)>| FactorTable::new(&["load", "host"], rows);
    let mut rows = vec![
        row("idle", "x", 1.0),
        row("cpu", "x", 2.0),
        row("idle", "y", 3.0),
    ];
    let error = of(rows.clone()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no value for load=cpu host=y: every combination of levels needs one"
    );
    rows.extend([row("cpu", "y", 4.0), row("cpu", "y", 5.0)]);
    let error = of(rows).unwrap_err().to_string();
    assert!(
        error.contains("1 for load=idle host=x but 2 for load=cpu host=y"),
        "{error}"
    );
    let one = of(vec![row("idle", "x", 1.0), row("cpu", "x", 1.0)]);
    assert_eq!(one, Err(FactorialError::OneLevel("host".to_owned())));
    let bad = of(vec![row("idle", "x", f64::NAN)]);
    assert!(matches!(bad, Err(FactorialError::BadValue(0))));
    let four = FactorTable::new(&["a", "b", "c", "d"], Vec::new());
    assert_eq!(four, Err(FactorialError::Factors(4)));
    let short = FactorTable::new(&["a", "b"], vec![(vec!["x"], 1.0)]);
    assert_eq!(short, Err(FactorialError::RowLevels(0, 1)));
}

/// Shape, values per cell, and a seed for the values.
fn designs() -> impl Strategy<Value = (Vec<usize>, usize, u64)> {
    (
        prop::collection::vec(2usize..=4, 2..=3),
        1usize..5,
        any::<u64>(),
    )
}

fn random(shape: &[usize], per_cell: usize, seed: u64) -> FactorTable {
    let mut noise = Noise::new(seed);
    table(shape, per_cell, |p| {
        // Rounded, for ties; heavy tails.
        (noise.exponential() * 20.0).round() + noise.normal().powi(5).round() + 3.0 * p[0] as f64
    })
}

fn same(a: &Factorial, b: &Factorial) -> Result<(), TestCaseError> {
    for (x, y) in a.effects.iter().zip(&b.effects) {
        let near = |u: f64, v: f64| (u - v).abs() <= 1e-9 * (1.0 + u.abs()) || u == v;
        prop_assert!(
            near(x.statistic, y.statistic) && near(x.p, y.p),
            "{x:?} {y:?}"
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn sums_of_squares_add_up((shape, per_cell, seed) in designs()) {
        let t = random(&shape, per_cell, seed);
        let found = scheirer_ray_hare(&t);
        let parts: f64 = found.effects.iter().map(|e| e.sum_of_squares).sum();
        let ranks = anova::mid_ranks(&t.values, 0.0);
        let middle = (ranks.len() + 1) as f64 / 2.0;
        let total: f64 = ranks.iter().map(|r| (r - middle).powi(2)).sum();
        let all = parts + found.effects[0].error_sum_of_squares;
        prop_assert!((all - total).abs() <= 1e-9 * (1.0 + total));
        let df: u64 = found.effects.iter().map(|e| e.df).sum();
        prop_assert_eq!(df + found.effects[0].error_df, ranks.len() as u64 - 1);
    }

    #[test]
    fn shift_scale_and_order_of_rows_change_nothing(
        (shape, per_cell, seed) in designs(), by in -500i32..500, power in -3i32..4,
    ) {
        let t = random(&shape, per_cell, seed);
        let mut moved = t.clone();
        for v in &mut moved.values {
            *v = (*v + f64::from(by)) * 2f64.powi(power);
        }
        let mut reversed = t.clone();
        reversed.values.reverse();
        reversed.cells.reverse();
        for analysis in [aligned_rank_transform, scheirer_ray_hare] {
            let found = analysis(&t);
            for e in &found.effects {
                prop_assert!((0.0..=1.0).contains(&e.p) && e.statistic >= 0.0);
            }
            same(&found, &analysis(&moved))?;
            same(&found, &analysis(&reversed))?;
        }
        let left = aligned_rank_transform(&t).assumptions.largest_aligned_f.unwrap();
        prop_assert!(left < ALIGNED_LIMIT, "{}", left);
    }

    #[test]
    fn names_of_levels_do_not_matter((shape, per_cell, seed) in designs()) {
        // Levels in reverse order: the same cells under other places.
        let t = random(&shape, per_cell, seed);
        let mut renamed = t.clone();
        for cell in &mut renamed.cells {
            *cell = t.cell_count() - 1 - *cell;
        }
        for analysis in [aligned_rank_transform, scheirer_ray_hare] {
            same(&analysis(&t), &analysis(&renamed))?;
        }
    }
}
