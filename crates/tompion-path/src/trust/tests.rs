//! Delays planted here, at the far end, on the path and nowhere.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp};

use super::*;

const US: i64 = 1_000;
const MS: i64 = 1_000 * US;
/// The far end's clock is another one.
const AHEAD: i64 = 3_000 * MS;

/// The parts of a probe's way, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Sending,
    Queue,
    Out,
    Stay,
    Home,
    Receiving,
}

const PARTS: [Part; 6] = [
    Part::Sending,
    Part::Queue,
    Part::Out,
    Part::Stay,
    Part::Home,
    Part::Receiving,
];

/// What each takes as a rule, in nanoseconds.
const USUAL: [i64; 6] = [8 * US, 3 * US, 10 * MS, 40 * US, 10 * MS, 30 * US];

/// Probes that take what `delay` says more in each part, and a few microseconds by chance.
fn probes(
    seed: u64,
    count: usize,
    delay: impl FnMut(&mut ChaCha8Rng, usize, Part) -> i64,
) -> Packets {
    probes_from(0, seed, count, delay)
}

/// The same, the first of which is sent so late, in nanoseconds.
fn probes_from(
    first_ns: i64,
    seed: u64,
    count: usize,
    mut delay: impl FnMut(&mut ChaCha8Rng, usize, Part) -> i64,
) -> Packets {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let jitter = Exp::new(1.0 / 4_000.0).unwrap();
    let mut packets = Packets::new();
    for row in 0..count {
        packets.push(100).unwrap();
        let mut now = first_ns + row as i64 * 50 * MS;
        let mut at = vec![now];
        for (part, usual) in PARTS.into_iter().zip(USUAL) {
            now += usual + jitter.sample(&mut random) as i64 + delay(&mut random, row, part);
            at.push(now);
        }
        let stamps = [
            (Stamp::UserSent, at[0]),
            (Stamp::Scheduled, at[1]),
            (Stamp::Sent, at[2]),
            (Stamp::FarReceived, at[3] + AHEAD),
            (Stamp::FarSent, at[4] + AHEAD),
            (Stamp::Received, at[5]),
            (Stamp::UserReceived, at[6]),
        ];
        for (stamp, ns) in stamps {
            packets.set(row, stamp, ns).unwrap();
        }
        packets.arrived(row).unwrap();
    }
    packets
}

/// One probe in twenty is held up in that part, by some milliseconds.
fn planted(seed: u64, part: Part) -> Packets {
    let wait = Exp::new(1.0 / (3 * MS) as f64).unwrap();
    probes(seed, 200, move |random, row, of| {
        match of == part && row % 20 == 7 {
            true => 150 * US + wait.sample(random) as i64,
            false => 0,
        }
    })
}

#[test]
fn who_is_to_blame_is_named_in_a_hundred_draws_of_each() {
    for (part, whose) in [
        (Part::Sending, Whose::Here),
        (Part::Queue, Whose::Here),
        (Part::Receiving, Whose::Here),
        (Part::Stay, Whose::FarEnd),
        (Part::Out, Whose::Path),
        (Part::Home, Whose::Path),
    ] {
        let blame = (0..100).map(|seed| Trust::of(&planted(seed, part)).unwrap().blame);
        let blame: Vec<_> = blame.collect();
        let right = blame
            .iter()
            .filter(|b| b.is_ok_and(|(found, _)| found == whose))
            .count();
        let wrong = blame
            .iter()
            .filter(|b| b.is_ok_and(|(found, _)| found != whose))
            .count();
        assert!(
            right >= 90 && wrong <= 5,
            "{part:?}: {right} right, {wrong} wrong"
        );
    }
    let undecided = |seed: &u64| {
        let trust = Trust::of(&probes(*seed, 200, |_, _, _| 0)).unwrap();
        matches!(trust.blame, Err(Undecided::NothingToExplain(_)))
    };
    let right = (0..100).filter(undecided).count();
    assert!(right >= 95, "{right}");
}

/// That part stands still for 200 ms, some three times in ten seconds: what comes there meanwhile waits until it goes on. On
/// a busy machine each probe waits for its turn here besides, for 0.3 ms on average, sending and receiving.
fn stops(seed: u64, stopped: Option<Part>, is_busy: bool) -> Packets {
    let mut phases = ChaCha8Rng::seed_from_u64(seed ^ 0x5107);
    let begins: Vec<i64> = (0..3)
        .map(|n| 3_300 * n + phases.random_range(0..3_000))
        .collect();
    let turn = Exp::new(1.0 / (300 * US) as f64).unwrap();
    probes(seed, 200, move |random, row, part| {
        let at_ms = row as i64 * 50;
        let left = |begin: &i64| Some(begin + 200 - at_ms).filter(|ms| (1..=200).contains(ms));
        let waits = match Some(part) == stopped {
            true => begins.iter().find_map(left).unwrap_or(0) * MS,
            false => 0,
        };
        let waits_here = match is_busy && matches!(part, Part::Sending | Part::Receiving) {
            true => turn.sample(random) as i64,
            false => 0,
        };
        waits + waits_here
    })
}

#[test]
fn who_stands_still_is_named_though_probes_in_a_row_share_it_on_a_busy_machine_too() {
    for is_busy in [false, true] {
        for (part, whose) in [
            (Some(Part::Sending), Whose::Here),
            (Some(Part::Receiving), Whose::Here),
            (Some(Part::Stay), Whose::FarEnd),
            (Some(Part::Out), Whose::Path),
            (Some(Part::Home), Whose::Path),
        ] {
            let blame = (0..100).map(|seed| Trust::of(&stops(seed, part, is_busy)).unwrap().blame);
            let named: Vec<Whose> = blame.filter_map(|b| Some(b.ok()?.0)).collect();
            let right = named.iter().filter(|found| **found == whose).count();
            assert!(
                right >= 90 && named.len() - right <= 5,
                "{part:?}, busy {is_busy}: {right} right of {}",
                named.len()
            );
        }
        // Nobody stands still: no other place is blamed for a busy machine.
        let blame = (0..100).map(|seed| Trust::of(&stops(seed, None, is_busy)).unwrap().blame);
        let others = blame.filter(|b| b.is_ok_and(|(whose, _)| whose != Whose::Here));
        assert!(others.count() <= 5);
    }
}

/// Three targets whose paths stand still for 80 ms, at the same moments or each at its own.
fn three(seed: u64, at_once: bool, own: bool) -> Vec<Packets> {
    let begins = |seed: u64| -> Vec<i64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        (0..6)
            .map(|n| 2_000 * n + random.random_range(0..1_800))
            .collect()
    };
    let shared = begins(seed ^ 0x0c0);
    let target = |number: u64| {
        let seed = 100 * seed + number;
        let own_begins = begins(seed ^ 0x0f0);
        // As they are sent: one target after another, by half a millisecond.
        let first_ns = number as i64 * MS / 2;
        probes_from(first_ns, seed, 240, |_, row, part| {
            let at_ms = row as i64 * 50;
            let left = |begin: &i64| Some(begin + 80 - at_ms).filter(|ms| (1..=80).contains(ms));
            let stop = |begins: &[i64]| begins.iter().find_map(left).unwrap_or(0);
            let ms = match part {
                Part::Home => {
                    let of_all = if at_once { stop(&shared) } else { 0 };
                    of_all.max(if own { stop(&own_begins) } else { 0 })
                }
                _ => 0,
            };
            ms * MS
        })
    };
    (0..3).map(target).collect()
}

#[test]
fn what_several_targets_have_in_common_is_named_and_what_each_has_for_itself_is_not() {
    let said = |at_once: bool, own: bool| {
        let draws = (0..100).map(|seed| {
            let all = three(seed, at_once, own);
            let all: Vec<&Packets> = all.iter().collect();
            common(&all, 50_000_000)
        });
        draws.collect::<Vec<_>>()
    };
    let named = |of: &[Result<Common, NotCommon>]| of.iter().filter(|d| d.is_ok()).count();
    let shared = said(true, false);
    let others: Vec<_> = shared.iter().filter(|d| d.is_err()).collect();
    assert!(named(&shared) >= 90, "{others:?}");
    for draw in shared.iter().flatten() {
        assert!(draw.share > 0.6 && draw.p_value <= 0.01);
    }
    let apart = said(false, true);
    assert!(named(&apart) <= 5, "{}", named(&apart));
    let nothing = said(false, false);
    assert!(
        nothing
            .iter()
            .all(|d| *d == Err(NotCommon::NothingToExplain))
    );
    // As much of its own as they have in common: it may be said to be either, not to be none of both.
    let both = said(true, true);
    let chance = |d: &&Result<Common, NotCommon>| matches!(d, Err(NotCommon::Chance(_)));
    assert!(both.iter().filter(chance).count() <= 10);
}

/// Delays that come and go slowly, each path's for itself: series that hang together within themselves.
#[test]
fn paths_that_drift_each_for_itself_have_nothing_in_common_more_often_than_the_test_may_err() {
    let drifting = |seed: u64| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut level = 0.0_f64;
        let levels: Vec<i64> = (0..240)
            .map(|_| {
                level = 0.95 * level + random.random_range(-1.0..1.0);
                (level.max(0.0) * MS as f64) as i64
            })
            .collect();
        probes(
            seed,
            240,
            move |_, row, part| if part == Part::Out { levels[row] } else { 0 },
        )
    };
    let draws = (0..200).map(|seed| {
        let all = [drifting(2 * seed), drifting(2 * seed + 1)];
        common(&[&all[0], &all[1]], 50_000_000)
    });
    let chance = |d: &Result<Common, NotCommon>| !matches!(d, Err(NotCommon::Chance(_)));
    let wrong = draws.filter(chance).count();
    // One in a hundred, and what counting 200 draws adds.
    assert!(wrong <= 8, "{wrong}");
}

/// The machine stands still for 50 ms once a second; what comes or goes meanwhile waits.
fn paused(seed: u64, pauses: bool) -> (Packets, Vec<Standstill>) {
    let at = |second: i64| {
        (
            second * 1_000 * MS + 313 * MS,
            second * 1_000 * MS + 363 * MS,
        )
    };
    let packets = probes(seed, 200, |_, row, part| {
        let sent = row as i64 * 50 * MS;
        let home = sent + 20 * MS;
        let (from, until) = at(sent / (1_000 * MS));
        // The reply would have come within it.
        match part == Part::Home && pauses && (from..until).contains(&home) {
            true => until - home,
            false => 0,
        }
    });
    let standstills = (0..10)
        .map(at)
        .map(|(from_ns, until_ns)| Standstill { from_ns, until_ns });
    (packets, standstills.collect())
}

#[test]
fn what_waits_for_a_machine_that_stands_still_is_no_path() {
    let (packets, standstills) = paused(3, true);
    let without = Trust::of(&packets).unwrap();
    assert_eq!(without.clean, 200);
    assert_eq!(without.blame.unwrap().0, Whose::Path);
    let trust = Trust::beside(&packets, &standstills).unwrap();
    assert_eq!(trust.held_up_at(Side::UnderWay), Some(10));
    assert_eq!((trust.clean, trust.blame.unwrap().0), (190, Whose::Here));
    let slowest = trust.path.distribution().max().unwrap();
    assert!(slowest < 21 * MS, "{slowest}");
    // Nobody waited for it then: a machine that stands still holds up only what is under way.
    let (packets, standstills) = paused(3, false);
    let trust = Trust::beside(&packets, &standstills).unwrap();
    assert_eq!(
        (trust.held_up_at(Side::UnderWay), trust.clean),
        (Some(0), 200)
    );
}

#[test]
fn a_slow_path_stays_one_beside_short_standstills() {
    let packets = planted(5, Part::Out);
    let standstills: Vec<_> = (0..1_000)
        .map(|n| Standstill {
            from_ns: n * 10 * MS,
            until_ns: n * 10 * MS + MS / 10,
        })
        .collect();
    let trust = Trust::beside(&packets, &standstills).unwrap();
    assert_eq!(trust.blame.unwrap().0, Whose::Path);
    assert!(
        trust.held_up_at(Side::UnderWay).unwrap() <= 2,
        "{:?}",
        trust.held_up
    );
}

#[test]
fn a_queue_that_is_never_empty_has_the_blame_though_no_probe_waits_longer_than_usual() {
    for (part, side, whose) in [
        (Part::Queue, Side::Queued, Whose::Here),
        (Part::Stay, Side::FarEnd, Whose::FarEnd),
    ] {
        // Each waits for some 30 ms, and a few are held up while they are received.
        let packets = probes(1, 200, |random, row, at| match at {
            _ if at == part => 30 * MS + random.random_range(0..200 * US),
            Part::Receiving if row % 50 == 7 => 2 * MS,
            _ => 0,
        });
        let trust = Trust::of(&packets).unwrap();
        let standing = trust.standing.unwrap();
        assert_eq!(standing.side, side);
        assert!((standing.part_ns / 1e6 - 30.1).abs() < 0.2, "{standing:?}");
        let (blamed, share) = trust.blame.unwrap();
        assert!(blamed == whose && (0.55..0.65).contains(&share), "{share}");
    }
    // A path that is long by itself is nobody's standing queue.
    let far = probes(1, 200, |_, _, _| 0);
    assert_eq!(Trust::of(&far).unwrap().standing, None);
}

#[test]
fn of_one_target_or_few_blocks_nothing_is_common() {
    let one = planted(1, Part::Home);
    assert_eq!(common(&[&one], 50_000_000), Err(NotCommon::OneTarget));
    let few = planted(2, Part::Home);
    assert_eq!(
        common(&[&one, &few], 500_000_000),
        Err(NotCommon::TooFew(11))
    );
    let empty = Packets::new();
    assert_eq!(
        common(&[&one, &empty], 50_000_000),
        Err(NotCommon::TooFew(0))
    );
}

#[test]
fn two_that_are_to_blame_alike_are_not_told_apart() {
    let both = |seed: u64| {
        probes(seed, 200, |_, row, part| match (row % 20, part) {
            (7, Part::Receiving) | (7, Part::Home) => 2 * MS,
            _ => 0,
        })
    };
    let named = (0..100)
        .filter(|seed| Trust::of(&both(*seed)).unwrap().blame.is_ok())
        .count();
    assert!(named <= 5, "{named}");
}

#[test]
fn what_held_a_probe_up_is_counted_where_it_did_and_leaves_the_path_out() {
    for (part, counts) in [
        (Part::Sending, [10, 0, 0, 0]),
        (Part::Queue, [0, 10, 0, 0]),
        (Part::Receiving, [0, 0, 10, 0]),
        (Part::Stay, [0, 0, 0, 10]),
        (Part::Out, [0; 4]),
        (Part::Home, [0; 4]),
    ] {
        let trust = Trust::of(&planted(1, part)).unwrap();
        let found = [Side::Sending, Side::Queued, Side::Receiving, Side::FarEnd]
            .map(|side| trust.held_up_at(side).unwrap());
        assert_eq!(found, counts, "{part:?}");
        // When it was, by the clock of that place.
        let at = PARTS.iter().position(|p| *p == part).unwrap();
        for held_up in &trust.held_up {
            let usual: i64 = USUAL[..at].iter().sum();
            let ahead = if part == Part::Stay { AHEAD } else { 0 };
            let from = held_up.row as i64 * 50 * MS + usual + ahead;
            assert!((0..200 * US).contains(&(held_up.from_ns - from)));
            let took = held_up.until_ns - held_up.from_ns;
            assert!((took - USUAL[at] - held_up.excess_ns).abs() < 50 * US);
            assert!(held_up.row % 20 == 7 && held_up.excess_ns > 140 * US);
        }
        let held_up: usize = counts.iter().sum();
        assert_eq!((trust.judged, trust.clean), (200, 200 - held_up));
        assert_eq!(trust.path.missing(), held_up);
        // What lies on the path stays in it, and nothing else is in it.
        let longest = trust.path.present().max().unwrap();
        let is_on_path = matches!(part, Part::Out | Part::Home);
        assert_eq!(
            longest > 20 * MS + 150 * US,
            is_on_path,
            "{part:?}: {longest}"
        );
    }
}

#[test]
fn delays_of_a_few_microseconds_hold_nobody_up() {
    let trust = Trust::of(&probes(3, 2_000, |random, _, _| {
        random.random_range(0..20 * US)
    }))
    .unwrap();
    assert!(
        trust.judged - trust.clean <= 40,
        "{} of {}",
        trust.clean,
        trust.judged
    );
}

#[test]
fn who_keeps_back_the_stamps_of_slow_probes_is_no_fine_path() {
    let mut packets = probes(5, 300, |random, row, part| match part {
        Part::Stay if row % 5 < 3 => 8 * MS,
        _ => random.random_range(0..20 * US),
    });
    for row in (0..300).filter(|row| row % 5 < 3) {
        for stamp in [Stamp::FarReceived, Stamp::FarSent] {
            packets
                .set_missing(row, stamp, crate::stamps::Missing::NotGiven)
                .unwrap();
        }
    }
    let trust = Trust::of(&packets).unwrap();
    assert_eq!(trust.judged, 300);
    assert!(trust.clean <= 120 && !trust.is_path_known(), "{trust:?}");
    assert!(
        matches!(trust.blame, Err(Undecided::Unknown(_))),
        "{:?}",
        trust.blame
    );
}

#[test]
fn a_far_end_that_says_nothing_cannot_be_told_from_the_path() {
    for part in [Part::Stay, Part::Home, Part::Receiving] {
        let mut packets = planted(1, part);
        for row in 0..packets.len() {
            for stamp in [Stamp::FarReceived, Stamp::FarSent] {
                packets
                    .set_missing(row, stamp, crate::stamps::Missing::NotGiven)
                    .unwrap();
            }
        }
        let trust = Trust::of(&packets).unwrap();
        assert_eq!((trust.judged, trust.held_up_at(Side::FarEnd)), (200, None));
        let (whose, share) = trust.blame.unwrap();
        let expected = if part == Part::Receiving {
            Whose::Here
        } else {
            Whose::Beyond
        };
        assert_eq!(whose, expected);
        assert!(share > 0.9, "{share}");
    }
}

#[test]
fn few_probes_say_nothing_and_none_without_stamps() {
    let few = Trust::of(&probes(1, 29, |_, _, _| MS)).unwrap();
    assert_eq!(few.blame, Err(Undecided::TooFew(29)));
    assert!(!few.is_path_known());
    let mut packets = planted(1, Part::Sending);
    for row in 0..packets.len() {
        packets
            .set_missing(row, Stamp::Sent, crate::stamps::Missing::Refused)
            .unwrap();
    }
    assert!(Trust::of(&packets).is_none());
    assert!(Trust::of(&Packets::new()).is_none());
}

/// Three of five are held up, so that nobody knows what the others stand for.
#[test]
fn a_path_of_less_than_half_of_the_probes_is_not_known() {
    let busy = |share: usize| {
        let held_up = move |row: usize, part| part == Part::Receiving && row % 5 < share;
        let packets = probes(
            1,
            200,
            move |_, row, part| if held_up(row, part) { MS } else { 0 },
        );
        Trust::of(&packets).unwrap()
    };
    assert!(busy(2).is_path_known());
    assert!(!busy(3).is_path_known());
    assert_eq!(busy(3).clean, 80);
}
