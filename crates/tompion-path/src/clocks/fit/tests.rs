use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp, Pareto};

use super::*;

const EPOCH_NS: i64 = 1_700_000_000_000_000_000;
const MS: f64 = 1e6;

/// A path with a far end whose clock is known.
struct World<F> {
    rng: ChaCha8Rng,
    probes: usize,
    interval_ns: i64,
    /// The least delay each way, in nanoseconds.
    least_ns: [f64; 2],
    /// What a probe of that number waits each way beyond it.
    waits: F,
    loss: f64,
}

/// Delays each way as they were.
type Truth = Vec<(f64, f64)>;

fn quiet(seed: u64) -> World<impl Fn(&mut ChaCha8Rng, usize) -> [f64; 2]> {
    World {
        rng: ChaCha8Rng::seed_from_u64(seed),
        probes: 1200,
        interval_ns: 50_000_000,
        least_ns: [10.0 * MS; 2],
        waits: |rng: &mut ChaCha8Rng, _| {
            let wait = Exp::new(1.0 / 20_000.0).unwrap();
            [wait.sample(rng), wait.sample(rng)]
        },
        loss: 0.0,
    }
}

impl<F: Fn(&mut ChaCha8Rng, usize) -> [f64; 2]> World<F> {
    /// The stamps, where the far end's clock is ahead by `ahead` of the time since the first probe.
    fn happen(&mut self, ahead: impl Fn(f64) -> f64) -> (Vec<Exchange>, Truth) {
        let (mut found, mut truth) = (Vec::new(), Vec::new());
        for row in 0..self.probes {
            let waits = (self.waits)(&mut self.rng, row);
            let [out, home] = [0, 1].map(|way| self.least_ns[way] + waits[way]);
            let sent = (row as i64 * self.interval_ns) as f64;
            let (came, left) = (sent + out, sent + out + 45_000.0);
            let ns = |at: f64| EPOCH_NS + at.round() as i64;
            truth.push((out, home));
            if self.rng.random_bool(self.loss) {
                continue;
            }
            found.push(Exchange {
                row,
                sent_ns: ns(sent),
                far_received_ns: ns(came + ahead(came)),
                far_sent_ns: ns(left + ahead(left)),
                received_ns: ns(left + home),
            });
        }
        (found, truth)
    }

    fn fit(&mut self, ahead: impl Fn(f64) -> f64) -> (ClockFit, Truth) {
        let (exchanges, truth) = self.happen(ahead);
        (ClockFit::of(&exchanges, self.probes).unwrap(), truth)
    }
}

fn drifting(at: f64) -> f64 {
    3e9 + 80e-6 * at
}

/// How far delays are off, the largest first but so many.
fn errors(values: &Values, truth: impl Iterator<Item = f64>) -> Vec<f64> {
    let pairs = values.iter().zip(truth);
    let mut errors: Vec<f64> = pairs
        .filter_map(|(told, true_ns)| Some((told? as f64 - true_ns).abs()))
        .collect();
    errors.sort_by(f64::total_cmp);
    errors
}

#[test]
fn a_planted_drift_comes_back_and_delays_each_way_with_it() {
    for seed in 0..20 {
        let (fit, truth) = quiet(seed).fit(drifting);
        let [piece] = &fit.pieces[..] else {
            panic!("{:?}", fit.pieces);
        };
        assert!((piece.line.rate - 80e-6).abs() < 0.05e-6, "{piece:?}");
        assert!(piece.rates.contains(&80e-6) && fit.outliers == 0, "{fit:?}");
        let (whole, rest) = piece.line.ahead_ns;
        let ahead = whole as f64 + rest;
        assert!((ahead - 3e9).abs() < 5_000.0, "{ahead}");
        for (told, truth) in [
            (&fit.outward, truth.iter().map(|t| t.0).collect::<Vec<_>>()),
            (&fit.homeward, truth.iter().map(|t| t.1).collect()),
        ] {
            let errors = errors(told, truth.into_iter());
            assert_eq!(errors.len(), 1200);
            assert!(
                errors[600] < 1_000.0 && errors[1188] < 5_000.0,
                "{errors:?}"
            );
        }
    }
}

#[test]
fn queues_of_one_side_and_loss_move_nothing() {
    for seed in 0..20 {
        let mut world = World {
            rng: ChaCha8Rng::seed_from_u64(seed),
            probes: 1200,
            interval_ns: 50_000_000,
            least_ns: [10.0 * MS; 2],
            // Five seconds behind a queue of milliseconds.
            waits: |rng: &mut ChaCha8Rng, row| {
                let wait = Exp::new(1.0 / 20_000.0).unwrap();
                let queue = f64::from((400..500).contains(&row)) * rng.random_range(2.0..8.0) * MS;
                [wait.sample(rng) + queue, wait.sample(rng)]
            },
            loss: 0.1,
        };
        let (fit, _) = world.fit(drifting);
        assert_eq!(fit.pieces.len(), 1, "{:?}", fit.pieces);
        assert!(
            (fit.pieces[0].line.rate - 80e-6).abs() < 0.05e-6,
            "{:?}",
            fit.pieces
        );
    }
}

#[test]
fn a_step_is_found_within_two_probes() {
    for (seed, size) in (0..20).flat_map(|seed| [5.0 * MS, -5.0 * MS, 0.2 * MS].map(|s| (seed, s)))
    {
        let middle = 600.0 * 50.0 * MS - 25.0 * MS;
        let (fit, truth) =
            quiet(seed).fit(|at| drifting(at) + if at < middle { 0.0 } else { size });
        let changes: Vec<Change> = fit.changes().collect();
        let [change] = &changes[..] else {
            panic!("{changes:?}");
        };
        let after = (change.at_ns - EPOCH_NS) as f64 - middle;
        assert!((0.0..100.0 * MS).contains(&after), "{after}");
        assert!(
            (change.step_ns - size).abs() < 20_000.0 && change.is_step(),
            "{change:?}"
        );
        let errors = errors(&fit.outward, truth.iter().map(|t| t.0));
        assert!(errors.len() >= 1195 && errors[errors.len() * 99 / 100] < 5_000.0);
    }
}

#[test]
fn a_change_of_rate_is_no_step() {
    for seed in 0..20 {
        let half = 600.0 * 50.0 * MS;
        let (fit, _) = quiet(seed).fit(|at| 80e-6 * at.min(half) - 20e-6 * (at - half).max(0.0));
        let changes: Vec<Change> = fit.changes().collect();
        let [change] = &changes[..] else {
            panic!("{changes:?}");
        };
        assert!(
            change.step_ns.abs() < 50_000.0 && !change.is_step(),
            "{change:?}"
        );
        assert!((change.rate + 100e-6).abs() < 1e-6, "{change:?}");
        assert!(((change.at_ns - EPOCH_NS) as f64 - half).abs() < 1_000.0 * MS);
    }
}

#[test]
fn nothing_is_invented_where_waits_have_heavy_tails() {
    for seed in 0..100 {
        let mut world = World {
            rng: ChaCha8Rng::seed_from_u64(seed),
            probes: 600,
            interval_ns: 10_000_000,
            least_ns: [1.0 * MS, 4.0 * MS],
            waits: |rng: &mut ChaCha8Rng, _| {
                let wait = Pareto::<f64>::new(3_000.0, 1.1).unwrap();
                [wait.sample(rng).min(1e9), wait.sample(rng).min(1e9)]
            },
            loss: 0.05,
        };
        let (fit, _) = world.fit(drifting);
        assert_eq!(
            (fit.pieces.len(), fit.outliers),
            (1, 0),
            "{seed}: {:?}",
            fit.pieces
        );
    }
}

/// In short series and under dependence too.
#[test]
fn rates_and_asymmetry_are_within_what_is_said_of_them() {
    let (mut missed, mut divided) = ([0; 3], 0);
    for seed in 0..3000 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rate = rng.random_range(-100e-6..100e-6);
        let asymmetry = rng.random_range(-10.0..10.0) * MS;
        let mut world = World {
            probes: [8, 20, 200][seed as usize % 3],
            interval_ns: 20_000_000,
            least_ns: [10.0 * MS + asymmetry, 10.0 * MS - asymmetry],
            // Waits that come in stretches.
            waits: |rng: &mut ChaCha8Rng, row| {
                let wait = Exp::new(1.0 / 300_000.0).unwrap();
                let share = f64::from(u32::try_from(row / 7 % 3).unwrap());
                [share * wait.sample(rng), (2.0 - share) * wait.sample(rng)]
            },
            loss: 0.0,
            rng,
        };
        let (fit, truth) = world.fit(|at| -1e9 + rate * at);
        let [piece] = &fit.pieces[..] else {
            divided += 1;
            continue;
        };
        missed[seed as usize % 3] += u32::from(!piece.rates.contains(&rate));
        let off = errors(&fit.outward, truth.iter().map(|t| t.0));
        let worst = off.last().unwrap();
        assert!(
            *worst <= fit.may_be_off_ns,
            "{seed}: {worst} {}",
            fit.may_be_off_ns
        );
    }
    // Of a thousand of each length.
    assert!(missed.iter().all(|missed| *missed <= 50), "{missed:?}");
    assert!(divided <= 15, "{divided} of 3000");
}

#[test]
fn a_stamp_that_cannot_be_is_an_outlier() {
    let (mut exchanges, _) = quiet(3).happen(drifting);
    for (row, off) in [(100, -3_000_000), (101, 2_000_000), (700, 1_000_000)] {
        exchanges[row].far_received_ns += off;
        exchanges[row].far_sent_ns += off;
    }
    let fit = ClockFit::of(&exchanges, 1200).unwrap();
    assert_eq!((fit.pieces.len(), fit.outliers), (1, 3), "{:?}", fit.pieces);
}

#[test]
fn who_shows_no_clock_is_not_believed() {
    let (exchanges, _) = quiet(1).happen(drifting);
    let changed = |change: &dyn Fn(usize, &mut Exchange)| {
        let mut changed = exchanges.clone();
        for (row, exchange) in changed.iter_mut().enumerate() {
            let stay = exchange.far_sent_ns - exchange.far_received_ns;
            change(row, exchange);
            exchange.far_sent_ns = exchange.far_received_ns + stay;
        }
        ClockFit::of(&changed, 1200)
    };
    let constant = changed(&|_, exchange| exchange.far_received_ns = 7);
    assert_eq!(constant, Err(NoFit::NoClock));
    let stepping = changed(&|row, exchange| {
        exchange.far_received_ns += 1_000_000 * (row as i64 * 7919 % 1009);
    });
    assert_eq!(stepping, Err(NoFit::Unsteady));
    // Now and then so far off that what lies between never joins.
    let many = changed(&|row, exchange| {
        let turn = row as i64 / 12 % 2;
        exchange.far_received_ns += 10_000_000 * turn * (row as i64 / 24);
    });
    assert_eq!(many, Err(NoFit::Unsteady));
    let few = ClockFit::of(&exchanges[..7], 1200);
    assert_eq!(
        few,
        Err(NoFit::TooFew {
            found: 7,
            needed: 8
        })
    );
}

proptest! {
    /// Whatever stamps a stranger sends.
    #[test]
    fn any_stamps_are_survived(stamps in prop::collection::vec(any::<[i32; 4]>(), 0..40), scale in 0_u32..31) {
        let of = |(row, [a, b, c, d]): (usize, [i32; 4])| {
            let [a, b, c, d] = [a, b, c, d].map(|ns| i64::from(ns) << scale);
            let exchange = Exchange { row, sent_ns: a.min(d), far_received_ns: b, far_sent_ns: c, received_ns: a.max(d) };
            (c >= b && exchange.path_ns() >= 0).then_some(exchange)
        };
        let exchanges: Vec<Exchange> = stamps.into_iter().enumerate().filter_map(of).collect();
        if let Ok(fit) = ClockFit::of(&exchanges, 40) {
            prop_assert!(fit.pieces.iter().all(|piece| piece.rates.start() <= piece.rates.end()));
        }
    }
}
