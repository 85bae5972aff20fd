//! Round trips over a path that is planned, and what their stamps tell of it.

use std::collections::{BTreeMap, BTreeSet};

use tompion_path::Way;
use tompion_path::model::{
    Corrupting, Departure, Duplicating, Fate, Jitter, LossPlan, Path, PathPlan, Reorder, Truth,
    WayPlan,
};
use tompion_path::stamps::{
    Clock, Key, Loss, Outcome, Packets, Reordering, Stamp, StayBy, TapRecord, Vantage, delays,
    join_tap, layers, losses_by_last_place, order, pdv, rest, round_trips, stays,
};

const PROBES: usize = 3_000;
const INTERVAL_NS: i64 = 2_000_000;
const START_NS: i64 = 1_700_000_000_000_000_000;
/// From the program to the kernel, to the wire, to the far end's reply; and back.
const LAYER_NS: [i64; 2] = [3_000, 700];
const STAY_NS: i64 = 45_000;
/// Clocks of the tap and of the far end, against the sender's.
const TAP_NS: i64 = -7_000_000_000;
const FAR_NS: i64 = 3_000_000_000;

/// Everything that happened.
struct World {
    packets: Packets,
    keys: Vec<Key>,
    records: Vec<TapRecord>,
    /// Rows of the truth, by way.
    truth: [Vec<Truth>; 2],
    /// Which probe a packet on the way home belongs to.
    homeward_probe: Vec<usize>,
}

/// Drives a path with arrivals in order; gives the rows, and what leaves in the order of leaving.
fn drive(path: &mut Path, arrivals: impl Iterator<Item = i64>) -> (Vec<Truth>, Vec<Departure>) {
    let (mut rows, mut left) = (Vec::new(), Vec::new());
    for at in arrivals {
        left.extend(std::iter::from_fn(|| path.take_due(at)));
        let decision = path.offer(at, 100);
        rows.push(decision.packet);
        rows.extend(decision.copy.map(|c| c.0));
    }
    left.extend(std::iter::from_fn(|| path.take_due(i64::MAX)));
    (rows, left)
}

fn happen(plan: &PathPlan) -> World {
    let [mut outward, mut homeward] = Path::both(plan).unwrap();
    let mut packets = Packets::new();
    let mut keys = Vec::new();
    let mut records = Vec::new();
    let sent = |row: usize| START_NS + INTERVAL_NS * row as i64;
    for row in 0..PROBES {
        let due = sent(row) - LAYER_NS[0] - 100;
        let at = [due, due + 100, sent(row)];
        packets.push(100).unwrap();
        for (stamp, at) in [Stamp::Due, Stamp::UserSent, Stamp::Sent]
            .into_iter()
            .zip(at)
        {
            packets.set(row, stamp, at).unwrap();
        }
        keys.push(Key::stamp(0, row as u32, at[1] as u64));
        records.push(TapRecord {
            at_ns: sent(row) + LAYER_NS[1] + TAP_NS,
            way: Way::Outward,
            key: keys[row],
        });
    }
    let to_path = (0..PROBES).map(|row| sent(row) + LAYER_NS[1]);
    let (out_rows, arrived) = drive(&mut outward, to_path);
    // What is damaged the far end does not answer; of each probe it stamps every copy.
    let answered: Vec<&Departure> = arrived.iter().filter(|d| d.corruption.is_none()).collect();
    let replies = answered.iter().map(|d| d.due_ns + STAY_NS);
    let (home_rows, returned) = drive(&mut homeward, replies);
    let homeward_probe: Vec<usize> = answered.iter().map(|d| d.number as usize).collect();
    for reply in returned {
        let probe = homeward_probe[reply.number as usize];
        records.push(TapRecord {
            at_ns: reply.due_ns + TAP_NS,
            way: Way::Homeward,
            key: keys[probe],
        });
        if reply.corruption.is_some() {
            continue;
        }
        let is_first = packets.get(probe, Stamp::Received).is_none();
        packets.arrived(probe).unwrap();
        if is_first {
            let far = answered[reply.number as usize].due_ns + FAR_NS;
            let received = reply.due_ns + LAYER_NS[1];
            let stamps = [
                (Stamp::FarReceived, far),
                (Stamp::FarSent, far + STAY_NS),
                (Stamp::Received, received),
                (Stamp::UserReceived, received + LAYER_NS[0]),
            ];
            for (stamp, at) in stamps {
                packets.set(probe, stamp, at).unwrap();
            }
        }
    }
    for row in 0..PROBES {
        if packets.get(row, Stamp::Received).is_none() {
            packets.set_outcome(row, Outcome::Lost).unwrap();
        }
    }
    World {
        packets,
        keys,
        records,
        truth: [out_rows, home_rows],
        homeward_probe,
    }
}

fn way_plan() -> WayPlan {
    WayPlan {
        delay_ns: 10_000_000,
        jitter: Some(Jitter::Exponential { mean_ns: 200_000 }),
        loss: LossPlan::GilbertElliott {
            to_bad: 0.02,
            to_good: 0.4,
            loss_good: 0.0,
            loss_bad: 0.9,
        },
        duplication: Some(Duplicating {
            share: 0.02,
            after_ns: 10_000,
        }),
        reordering: Some(Reorder {
            share: 0.03,
            by_ns: 5_000_000,
        }),
        corruption: Some(Corrupting {
            share: 0.01,
            from_byte: 42,
        }),
        ..WayPlan::default()
    }
}

fn world() -> World {
    happen(&PathPlan {
        seed: 11,
        outward: way_plan(),
        homeward: way_plan(),
    })
}

/// Replies that reach the program by the rows of the truth: when each is due, and its probe.
fn replies(world: &World) -> Vec<(i64, usize)> {
    let home = world.truth[1].iter().filter(|t| t.fate == Fate::Leaves);
    let whole = home.filter(|t| t.corruption.is_none());
    let mut replies: Vec<(i64, u64, bool, usize)> = whole
        .map(|t| {
            let probe = world.homeward_probe[t.number as usize];
            (t.due_ns.unwrap(), t.number, t.is_copy, probe)
        })
        .collect();
    replies.sort();
    replies.into_iter().map(|r| (r.0, r.3)).collect()
}

#[test]
fn loss_and_duplicates_are_those_of_the_truth() {
    let world = world();
    let mut by_probe: BTreeMap<usize, u64> = BTreeMap::new();
    for (_, probe) in replies(&world) {
        *by_probe.entry(probe).or_default() += 1;
    }
    let loss = Loss::of(&world.packets);
    assert_eq!(loss.lost, (PROBES - by_probe.len()) as u64);
    assert!(loss.lost > 100 && loss.longest_streak() > 2, "{loss:?}");
    assert_eq!(
        loss.duplicates,
        by_probe.values().map(|n| n - 1).sum::<u64>()
    );
    assert_eq!(
        loss.duplicated,
        by_probe.values().filter(|&&n| n > 1).count() as u64
    );
    for (row, probe) in world.packets.probes().enumerate() {
        assert_eq!(probe.outcome == Outcome::Lost, !by_probe.contains_key(&row));
    }
}

#[test]
fn reordering_is_that_of_the_truth() {
    let world = world();
    let mut seen = BTreeSet::new();
    let firsts: Vec<u32> = replies(&world)
        .into_iter()
        .filter(|r| seen.insert(r.1))
        .map(|r| r.1 as u32)
        .collect();
    let found = Reordering::of(&world.packets);
    assert_eq!(found, Reordering::of_arrivals(&firsts));
    // Held back by 5 ms at an interval of 2 ms: two packets pass.
    assert!(found.n_reordered(2) > 100, "{}", found.n_reordered(2));
    let sent = Reordering::at(&world.packets, Stamp::Sent);
    assert_eq!((sent.arrived, sent.reordered.len()), (PROBES as u64, 0));
}

#[test]
fn each_layer_has_what_was_planted_in_it() {
    let mut world = world();
    let tap = world.packets.add_tap("wire", Clock::other(0)).unwrap();
    let joined = join_tap(&mut world.packets, &world.keys, tap, world.records).unwrap();
    assert_eq!((joined.outward, joined.unmatched), (PROBES as u64, 0));
    let packets = &world.packets;
    let found = layers(packets);
    let named: Vec<_> = found.iter().map(|l| (l.upper, l.lower)).collect();
    let expected = [
        (Vantage::User, Vantage::Kernel),
        (Vantage::Kernel, Vantage::Tap(tap)),
    ];
    assert_eq!(named, expected);
    let stays = stays(packets, StayBy::Best);
    let rest = rest(packets, &stays);
    let mut first_due = BTreeMap::new();
    for (due, probe) in {
        let home = world.truth[1].iter().filter(|t| t.fate == Fate::Leaves);
        let home = home.map(|t| (t.due_ns.unwrap(), world.homeward_probe[t.number as usize]));
        home.collect::<BTreeSet<_>>()
    } {
        first_due.entry(probe).or_insert(due);
    }
    let mut compared = 0;
    for row in 0..PROBES {
        let Some(whole) = round_trips(packets, Vantage::User).get(row) else {
            continue;
        };
        // A damaged reply passes the tap before its copy does, and reaches nobody.
        let wire_ns = START_NS + INTERVAL_NS * row as i64 + LAYER_NS[1];
        let received = packets.get(row, Stamp::Received).unwrap();
        if first_due[&row] + LAYER_NS[1] != received {
            continue;
        }
        compared += 1;
        assert_eq!(found[0].added(packets).get(row), Some(2 * LAYER_NS[0]));
        assert_eq!(found[1].added(packets).get(row), Some(2 * LAYER_NS[1]));
        assert_eq!(stays.values.get(row), Some(STAY_NS));
        let path_ns = first_due[&row] - wire_ns - STAY_NS;
        assert_eq!(rest.get(row), Some(path_ns));
        assert_eq!(whole, path_ns + STAY_NS + 2 * (LAYER_NS[0] + LAYER_NS[1]));
        if compared == 300 {
            break;
        }
    }
    assert_eq!(compared, 300);
    assert_eq!(order(packets).violated, 0);
}

#[test]
fn losses_are_placed_between_the_taps() {
    let mut world = world();
    let tap = world.packets.add_tap("wire", Clock::other(0)).unwrap();
    join_tap(&mut world.packets, &world.keys, tap, world.records).unwrap();
    // Damaged replies came as far as the tap, the others were lost beyond it.
    let placed = losses_by_last_place(&world.packets);
    let lost = Loss::of(&world.packets).lost;
    assert_eq!(placed.iter().map(|p| p.1).sum::<u64>(), lost);
    let places: Vec<Stamp> = placed.iter().map(|p| p.0).collect();
    let at = |way| Stamp::Tap(tap, way);
    assert_eq!(places, [at(Way::Outward), at(Way::Homeward)]);
}

/// One way's variation is seen without a clock in common.
#[test]
fn variation_of_one_way_is_that_of_the_path() {
    let world = world();
    let delays = delays(&world.packets, Stamp::Sent, Stamp::FarReceived);
    let seen = pdv(&delays).distribution();
    // Held back by 5 ms: 3 %.
    assert!(
        seen.quantile(0.9).unwrap() < 1e6,
        "{:?}",
        seen.quantile(0.9)
    );
    assert!(
        seen.quantile(0.99).unwrap() > 5e6,
        "{:?}",
        seen.quantile(0.99)
    );
}
