use proptest::prelude::*;

use super::*;
use crate::Way;
use crate::model::chance::Decides;

const RATE: u64 = 300_000_000;
const NO_LIMIT: Work = 1 << 100;
/// One packet of 1500 bytes at this rate takes 40 us.
const PACKET: Work = 1_500 * 8_000_000_000;

fn cross(load: f64, pattern: CrossPattern, seed: u64) -> Cross {
    let plan = CrossTraffic {
        rate_bps: (load * RATE as f64) as u64,
        packet_bytes: 1_500,
        pattern,
    };
    let chance = Chance::new(seed, Way::Outward, Decides::CrossTraffic);
    Cross::new(&plan, RATE, 0, chance)
}

/// Mean of what waits, in packets, seen at moments so far apart.
fn mean_work(cross: &mut Cross, apart_ns: i64, looks: u32) -> f64 {
    let mut work = cross.begin(0, NO_LIMIT);
    let (mut now, mut sum) = (0, 0.0);
    for _ in 0..looks {
        work = cross.advance(work, now, now + apart_ns, NO_LIMIT);
        now += apart_ns;
        sum += work as f64;
    }
    sum / f64::from(looks) / PACKET as f64
}

/// Pollaczek and Khinchine, service always the same: load / (2 (1 - load)) services. Looks are
/// closer together than a service, as far apart as some, farther than steps are taken, and so far
/// that what waited before is forgotten.
#[test]
fn random_arrivals_wait_as_in_m_d_1() {
    let looks = [
        (0.3, 13_000, 500_000),
        (0.3, 400_000, 50_000),
        (0.5, 13_000, 500_000),
        (0.5, 170_000, 200_000),
        (0.5, 90_000_000, 50_000),
        (0.8, 13_000, 2_000_000),
        (0.8, 3_000_000, 30_000),
        (0.8, 90_000_000, 50_000),
        (0.95, 60_000_000, 10_000),
        (0.95, 900_000_000, 50_000),
    ];
    for (load, apart_ns, looks) in looks {
        let theory = load / (2.0 * (1.0 - load));
        let mean = mean_work(&mut cross(load, CrossPattern::Poisson, 7), apart_ns, looks);
        let error = mean / theory - 1.0;
        assert!(
            error.abs() < 0.05,
            "load {load}, each {apart_ns} ns: {mean}, not {theory}"
        );
    }
}

/// A burst of n is a batch n times as large, that comes n times as seldom.
#[test]
fn bursts_wait_longer() {
    let theory = 10.0 * 0.4 / (2.0 * 0.6);
    for (apart_ns, looks) in [(37_000, 1_000_000), (2_000_000, 50_000)] {
        let mean = mean_work(
            &mut cross(0.4, CrossPattern::Bursts(10), 3),
            apart_ns,
            looks,
        );
        assert!((mean / theory - 1.0).abs() < 0.05, "{mean}, not {theory}");
    }
}

/// One packet at a time: the mean over time of what is left of it is load / 2 of a packet.
#[test]
fn equal_intervals_hardly_wait() {
    for load in [0.2, 0.9] {
        let mean = mean_work(
            &mut cross(load, CrossPattern::Constant, 11),
            123_457,
            100_000,
        );
        assert!((mean / (load / 2.0) - 1.0).abs() < 0.01, "{mean} at {load}");
    }
}

/// The share of looks that find nothing waiting is what the load leaves.
#[test]
fn the_queue_is_empty_as_often_as_it_should() {
    for pattern in [
        CrossPattern::Constant,
        CrossPattern::Poisson,
        CrossPattern::Bursts(5),
    ] {
        let mut cross = cross(0.7, pattern, 2);
        let mut work = cross.begin(0, NO_LIMIT);
        let mut empty = 0;
        for k in 0..200_000i64 {
            work = cross.advance(work, k * 61_007, (k + 1) * 61_007, NO_LIMIT);
            empty += u32::from(work == 0);
        }
        let share = f64::from(empty) / 200_000.0;
        assert!((share - 0.3).abs() < 0.01, "{pattern:?}: {share}");
    }
}

#[test]
fn what_waited_before_is_served_first() {
    for pattern in [CrossPattern::Poisson, CrossPattern::Constant] {
        let mut sum = 0.0;
        for seed in 0..2_000 {
            let mut cross = cross(0.5, pattern, seed);
            cross.begin(0, NO_LIMIT);
            // A hundred packets at half the speed: 50 are left after the time of a hundred.
            sum += cross.advance(100 * PACKET, 0, 4_000_000, NO_LIMIT) as f64;
        }
        let mean = sum / 2_000.0 / PACKET as f64;
        assert!((mean - 50.0).abs() < 1.0, "{pattern:?}: {mean}");
    }
}

/// Idle time costs nothing: 2·10^9 packets would come between each two looks.
#[test]
fn idle_time_takes_no_work() {
    let plan = |pattern| CrossTraffic {
        rate_bps: 9_990_000_000,
        packet_bytes: 62,
        pattern,
    };
    for pattern in [
        CrossPattern::Constant,
        CrossPattern::Poisson,
        CrossPattern::Bursts(3),
    ] {
        let chance = Chance::new(1, Way::Outward, Decides::CrossTraffic);
        let mut cross = Cross::new(&plan(pattern), 10_000_000_000, 0, chance);
        let most = 1_000_000 * 8_000_000_000;
        let mut work = cross.begin(0, most);
        for k in 0..2_000 {
            let second = 1_000_000_000;
            work = cross.advance(work, k * 100 * second, (k + 1) * 100 * second, most);
            assert!(work <= most);
        }
    }
}

/// Half of twice the rate finds no room.
#[test]
fn a_queue_that_is_overfilled_has_room_now_and_then() {
    // Two at once find room for one of them more often.
    let patterns = [
        (CrossPattern::Poisson, 0.55),
        (CrossPattern::Bursts(2), 0.85),
    ];
    for (pattern, at_most) in patterns {
        for apart_ns in [61_007, 900_000_000] {
            let mut cross = cross(2.0, pattern, 4);
            let most = 50 * PACKET;
            let mut work = cross.begin(0, most);
            let mut room = 0;
            for k in 0..40_000i64 {
                work = cross.advance(work, k * apart_ns, (k + 1) * apart_ns, most);
                assert!(work <= most && work > 30 * PACKET, "{work}");
                room += u32::from(work + PACKET <= most);
            }
            let share = f64::from(room) / 40_000.0;
            assert!(
                (0.45..at_most).contains(&share),
                "{pattern:?} each {apart_ns} ns: {share}"
            );
        }
    }
}

fn served(work: Work, from: i64, until: i64) -> Work {
    work.saturating_sub(Work::from(until.abs_diff(from)) * Work::from(RATE))
}

proptest! {
    /// What is reckoned for equal intervals is what comes of going from arrival to arrival.
    #[test]
    fn equal_intervals_as_one_by_one(
        load in 0.05..1.5f64,
        seed in any::<u64>(),
        looks in prop::collection::vec((0..3_000_000i64, 0..5_000u32), 1..30),
        limit in prop::option::of(1..40u32),
    ) {
        let mut cross = cross(load, CrossPattern::Constant, seed);
        let most = limit.map_or(NO_LIMIT, |l| Work::from(l) * PACKET);
        let mut work = cross.begin(0, most);
        let Arrivals::Constant(grid) = cross.arrivals else { unreachable!() };
        let (mut now, mut slow, mut next) = (0, work, grid.come(0));
        for (gap, bytes) in looks {
            let until = now + gap;
            work = cross.advance(work, now, until, most);
            let mut at = now;
            while grid.comes_ns(next) <= until {
                slow = served(slow, at, grid.comes_ns(next));
                if slow + PACKET <= most {
                    slow += PACKET;
                }
                at = grid.comes_ns(next);
                next += 1;
            }
            slow = served(slow, at, until);
            prop_assert_eq!(work, slow);
            // A packet of our own.
            let own = Work::from(bytes) * 8_000_000_000;
            if work + own <= most {
                work += own;
                slow += own;
            }
            now = until;
        }
    }
}
