use std::net::IpAddr;

use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::stamps::place::Clock;

const START: i64 = 1_700_000_000_000_000_000;

/// So many probes, one each millisecond, whose replies come after 20 ms; with a tap.
fn probes(n: usize, clock: Clock) -> (Packets, Vec<Key>, TapId) {
    let mut packets = Packets::new();
    let tap = packets.add_tap("tap", clock).unwrap();
    let keys = (0..n).map(|i| {
        let sent = START + 1_000_000 * i as i64;
        let row = packets.push(100).unwrap();
        packets.set(row, Stamp::UserSent, sent).unwrap();
        packets
            .set(row, Stamp::Received, sent + 20_000_000)
            .unwrap();
        Key::stamp(3, i as u32, sent as u64)
    });
    let keys = keys.collect();
    (packets, keys, tap)
}

fn record(keys: &[Key], row: usize, way: Way, at_ns: i64) -> TapRecord {
    let key = keys[row];
    TapRecord { at_ns, way, key }
}

#[test]
fn stamps_go_to_the_probes_that_they_are_of() {
    let (mut packets, keys, tap) = probes(3, Clock::other(0));
    let records = [
        record(&keys, 2, Way::Homeward, START + 9),
        record(&keys, 0, Way::Outward, START + 1),
        record(&keys, 0, Way::Homeward, START + 7),
        record(&keys, 2, Way::Outward, START + 5),
        // The same packet a second time, and once more with an earlier stamp.
        record(&keys, 2, Way::Outward, START + 6),
        record(&keys, 0, Way::Outward, START),
        TapRecord {
            at_ns: START,
            way: Way::Outward,
            key: Key::stamp(4, 0, START as u64),
        },
        record(&keys, 1, Way::Outward, i64::MAX),
    ];
    let joined = join_tap(&mut packets, &keys, tap, records).unwrap();
    let expected = Joined {
        records: 8,
        outward: 2,
        homeward: 2,
        duplicates: 2,
        unmatched: 1,
        out_of_range: 1,
    };
    assert_eq!(joined, expected);
    let at = |way| [0, 1, 2].map(|row| packets.get(row, Stamp::Tap(tap, way)));
    assert_eq!(at(Way::Outward), [Some(START), None, Some(START + 5)]);
    assert_eq!(at(Way::Homeward), [Some(START + 7), None, Some(START + 9)]);
    let why = packets.missing(1, Stamp::Tap(tap, Way::Homeward));
    assert_eq!(why, Some(Missing::NotSeen));
}

#[test]
fn a_tap_of_another_time_or_place_is_told() {
    let (mut packets, keys, tap) = probes(2, Clock::other(0));
    let strange = |at_ns| TapRecord {
        at_ns,
        way: Way::Outward,
        key: Key::bytes(b"strange"),
    };
    let nothing = join_tap(&mut packets, &keys, tap, []);
    assert_eq!(nothing, Err(JoinError::Empty));
    let elsewhere = join_tap(&mut packets, &keys, tap, [strange(START + 5)]);
    assert_eq!(elsewhere, Err(JoinError::NothingMatches { records: 1 }));
    let before = join_tap(
        &mut packets,
        &keys,
        tap,
        [strange(START - 5), strange(START - 9)],
    );
    let error = JoinError::AnotherTime {
        probes: Range {
            from_ns: START,
            until_ns: START + 21_000_000,
        },
        tap: Range {
            from_ns: START - 9,
            until_ns: START - 5,
        },
    };
    assert_eq!(before, Err(error));
    assert!(!packets.has_any(Stamp::Tap(tap, Way::Outward)));
}

#[test]
fn what_matches_at_another_time_is_right_by_another_clock_alone() {
    let hour = 3_600_000_000_000;
    for (clock, is_right) in [(Clock::other(0), true), (Clock::SENDER, false)] {
        let (mut packets, keys, tap) = probes(2, clock);
        let records = [record(&keys, 1, Way::Outward, START + hour)];
        let joined = join_tap(&mut packets, &keys, tap, records);
        assert_eq!(joined.is_ok(), is_right, "{joined:?}");
    }
}

#[test]
fn probes_that_cannot_be_told_apart_are_refused() {
    let (mut packets, mut keys, tap) = probes(5, Clock::SENDER);
    keys[4] = keys[1];
    let records = [record(&keys, 0, Way::Outward, START)];
    let joined = join_tap(&mut packets, &keys, tap, records);
    assert_eq!(
        joined,
        Err(JoinError::SameKey {
            first: 1,
            second: 4
        })
    );
    keys.pop();
    let joined = join_tap(&mut packets, &keys, tap, records);
    assert_eq!(joined, Err(JoinError::KeyCount { keys: 4, probes: 5 }));
}

#[test]
fn keys_tell_what_packets_carry() {
    let v4 = |last| IpAddr::from([10, 0, 0, last]);
    let v6 = IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 1u16]);
    let keys = [
        Key::stamp(1, 2, 3),
        Key::stamp(2, 1, 3),
        Key::stamp(1, 3, 2),
        Key::icmp(1, 2, b"\0\x03"),
        Key::icmp(2, 1, b"\0\x03"),
        Key::icmp(1, 2, b"\x03"),
        Key::icmp(1, 2, b""),
        Key::flow(v4(1), v4(2), 17, 9),
        Key::flow(v4(2), v4(1), 17, 9),
        Key::flow(v4(1), v4(2), 1, 9),
        Key::flow(v4(1), v4(2), 17, 10),
        Key::flow(v6, v4(2), 17, 9),
        Key::bytes(b""),
        Key::bytes(b"a"),
    ];
    let mut distinct = keys.to_vec();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), keys.len());
    assert_eq!(Key::icmp(7, 8, b"time"), Key::icmp(7, 8, b"time"));
}

proptest! {
    /// A tap that sees each packet or not, some twice, in any order, among packets of others.
    #[test]
    fn joining_undoes_a_shuffle(
        seen in prop::collection::vec(
            (prop::option::of(0..1_000i64), prop::option::of(0..1_000i64), 0..3usize),
            1..40,
        ),
        strangers in 0..20usize,
        seed in any::<u64>(),
    ) {
        let (mut packets, keys, tap) = probes(seen.len(), Clock::other(0));
        let mut records = Vec::new();
        let mut copies = 0;
        for (row, &(out, home, doubled)) in seen.iter().enumerate() {
            for (way, at) in [(Way::Outward, out), (Way::Homeward, home)] {
                if let Some(at) = at {
                    records.push(record(&keys, row, way, START + at));
                    for k in 1..=doubled {
                        records.push(record(&keys, row, way, START + at + k as i64));
                        copies += 1;
                    }
                }
            }
        }
        prop_assume!(!records.is_empty());
        let matched = records.len() as u64 - copies;
        for i in 0..strangers {
            let key = Key::icmp(i as u16, 0, b"other");
            records.push(TapRecord { at_ns: START, way: Way::Outward, key });
        }
        records.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let joined = join_tap(&mut packets, &keys, tap, records).unwrap();
        prop_assert_eq!(joined.duplicates, copies);
        prop_assert_eq!(joined.unmatched, strangers as u64);
        prop_assert_eq!(joined.outward + joined.homeward, matched);
        for (row, &(out, home, _)) in seen.iter().enumerate() {
            for (way, at) in [(Way::Outward, out), (Way::Homeward, home)] {
                let expected = at.map(|at| START + at);
                prop_assert_eq!(packets.get(row, Stamp::Tap(tap, way)), expected);
            }
        }
    }
}

/// A million probes against a million records: a join that compared each with each would take days.
#[test]
fn a_million_probes_are_joined() {
    let n = 1_000_000;
    let (mut packets, keys, tap) = probes(n, Clock::other(0));
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut records: Vec<TapRecord> = (0..n / 2)
        .flat_map(|row| {
            let out = record(&keys, row, Way::Outward, START + row as i64);
            let home = record(&keys, row, Way::Homeward, START + row as i64 + 9);
            [out, home]
        })
        .collect();
    records.shuffle(&mut random);
    let begun = std::time::Instant::now();
    let joined = join_tap(&mut packets, &keys, tap, records).unwrap();
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    let half = n as u64 / 2;
    assert_eq!(
        (joined.outward, joined.homeward, joined.unmatched),
        (half, half, 0)
    );
    for _ in 0..1_000 {
        let row = random.random_range(0..n);
        let expected = (row < n / 2).then_some(START + row as i64 + 9);
        assert_eq!(packets.get(row, Stamp::Tap(tap, Way::Homeward)), expected);
    }
}
