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
    mut delay: impl FnMut(&mut ChaCha8Rng, usize, Part) -> i64,
) -> Packets {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let jitter = Exp::new(1.0 / 4_000.0).unwrap();
    let mut packets = Packets::new();
    for row in 0..count {
        packets.push(100).unwrap();
        let mut now = row as i64 * 50 * MS;
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
        let found = [
            trust.sending,
            trust.queued,
            trust.receiving,
            trust.far_end.unwrap(),
        ];
        assert_eq!(found, counts, "{part:?}");
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
        assert_eq!((trust.judged, trust.far_end), (200, None));
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
