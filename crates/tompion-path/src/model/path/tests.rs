use super::*;
use crate::model::plan::{
    Bottleneck, Corrupting, CrossPattern, CrossTraffic, Duplicating, Jitter, LossPlan,
    MOST_DELAY_NS, QueueLimit, Reorder,
};

mod properties;
mod trains;

const MS: i64 = 1_000_000;

fn path(plan: WayPlan) -> Path {
    Path::new(&plan, 1).unwrap()
}

/// Offers a packet and lets those leave that are due.
fn pass(path: &mut Path, at: i64, bytes: u32) -> Decision {
    while path.take_due(at).is_some() {}
    path.offer(at, bytes)
}

fn share_of(n: usize, what: impl FnMut(&usize) -> bool) -> f64 {
    (0..n).filter(what).count() as f64 / n as f64
}

#[test]
fn without_a_plan_packets_pass_at_once() {
    let mut path = path(WayPlan::default());
    let decision = path.offer(5, 100);
    assert_eq!(decision.packet.due_ns, Some(5));
    assert_eq!(
        (decision.packet.left_queue_ns, decision.copy),
        (Some(5), None)
    );
    let left = path.take_due(5).unwrap();
    assert_eq!((left.number, left.due_ns, left.bytes), (0, 5, 100));
    assert_eq!((path.next_due(), path.in_flight()), (None, 0));
}

#[test]
fn all_are_lost_and_each_is_told() {
    let mut path = path(WayPlan {
        loss: LossPlan::Bernoulli { share: 1.0 },
        ..WayPlan::default()
    });
    for k in 0..10_000 {
        let truth = path.offer(k, 64).packet;
        assert_eq!((truth.fate, truth.due_ns), (Fate::Lost, None));
    }
    assert_eq!((path.counts().lost, path.in_flight()), (10_000, 0));
}

/// What is lost behind the queue is not kept in mind for ever either.
#[test]
fn lost_packets_fill_the_queue_and_nothing_else() {
    let mut path = path(WayPlan {
        bottleneck: Some(Bottleneck {
            limit: QueueLimit::Bytes(1 << 40),
            ..Bottleneck::of_rate(8_000_000)
        }),
        loss: LossPlan::Bernoulli { share: 1.0 },
        most_in_flight: 10,
        ..WayPlan::default()
    });
    let fates: Vec<Fate> = (0..12).map(|_| path.offer(0, 1_000).packet.fate).collect();
    assert_eq!(fates[..10], [Fate::Lost; 10]);
    assert_eq!(fates[10..], [Fate::FlightFull; 2]);
    assert_eq!(path.offer(MS, 1_000).packet.left_queue_ns, Some(11 * MS));
}

/// 100 s of delay in as little memory as planned; what does not fit is counted.
#[test]
fn a_hundred_seconds_of_delay_in_bounded_memory() {
    let mut path = path(WayPlan {
        delay_ns: MOST_DELAY_NS,
        most_in_flight: 100,
        ..WayPlan::default()
    });
    for k in 0..250 {
        let fate = path.offer(k, 64).packet.fate;
        assert_eq!(
            fate,
            if k < 100 {
                Fate::Leaves
            } else {
                Fate::FlightFull
            }
        );
    }
    assert_eq!((path.in_flight(), path.counts().flight_full), (100, 150));
    let delay = MOST_DELAY_NS as i64;
    assert_eq!(path.next_due(), Some(delay));
    assert_eq!(path.take_due(delay - 1), None);
    let left: Vec<_> = std::iter::from_fn(|| path.take_due(delay + 50)).collect();
    assert!(left.iter().map(|d| d.due_ns).eq(delay..=delay + 50));
    let slot = path.offer(delay + 50, 64).slot.unwrap();
    assert!(left.iter().any(|d| d.slot == slot));
    assert_eq!(path.in_flight(), 50);
}

#[test]
fn order_is_kept_where_the_plan_says_so() {
    let plan = |keep_order| WayPlan {
        jitter: Some(Jitter::Exponential { mean_ns: 5_000_000 }),
        keep_order,
        ..WayPlan::default()
    };
    for keep_order in [true, false] {
        let mut path = path(plan(keep_order));
        let dues: Vec<i64> = (0..2_000)
            .map(|k| pass(&mut path, k * MS, 64).packet.due_ns.unwrap())
            .collect();
        assert_eq!(dues.is_sorted(), keep_order);
    }
}

#[test]
fn what_is_held_back_is_overtaken_and_holds_nobody() {
    let mut path = path(WayPlan {
        delay_ns: 5_000_000,
        reordering: Some(Reorder {
            share: 0.1,
            by_ns: 3_000_000,
        }),
        ..WayPlan::default()
    });
    let truths: Vec<Truth> = (0..20_000)
        .map(|k| pass(&mut path, k * MS, 64).packet)
        .collect();
    for truth in &truths {
        let delay = if truth.is_held_back { 8 * MS } else { 5 * MS };
        assert_eq!(truth.due_ns, Some(truth.arrival_ns + delay));
    }
    let share = share_of(truths.len(), |&i| truths[i].is_held_back);
    assert!((share - 0.1).abs() < 0.01, "{share}");
    let told = truths.iter().filter(|t| t.is_held_back).count() as u64;
    assert_eq!(path.counts().held_back, told);
}

#[test]
fn copies_follow_their_packets() {
    let mut path = path(WayPlan {
        delay_ns: 1_000,
        duplication: Some(Duplicating {
            share: 0.3,
            after_ns: 70,
        }),
        ..WayPlan::default()
    });
    let mut copies = 0;
    for k in 0..10_000 {
        let decision = pass(&mut path, k * MS, 64);
        let Some((copy, slot)) = decision.copy else {
            continue;
        };
        copies += 1;
        assert!(copy.is_copy && slot.is_some() && slot != decision.slot);
        assert_eq!(copy.due_ns, decision.packet.due_ns.map(|due| due + 70));
        assert_eq!(copy.number, k as u64);
    }
    assert_eq!(
        (path.counts().copies, path.counts().leave),
        (copies, 10_000 + copies)
    );
    assert!((2_800..3_200).contains(&copies), "{copies}");
}

#[test]
fn a_copy_without_room_is_told() {
    let mut path = path(WayPlan {
        delay_ns: 1_000,
        duplication: Some(Duplicating {
            share: 1.0,
            after_ns: 0,
        }),
        most_in_flight: 3,
        ..WayPlan::default()
    });
    path.offer(0, 64);
    let (copy, slot) = path.offer(0, 64).copy.unwrap();
    assert_eq!(
        (copy.fate, copy.due_ns, slot),
        (Fate::FlightFull, None, None)
    );
    let dropped = path.offer(0, 64);
    assert_eq!(
        (dropped.packet.fate, dropped.copy),
        (Fate::FlightFull, None)
    );
    let counts = path.counts();
    assert_eq!((counts.leave, counts.copies, counts.flight_full), (3, 2, 2));
}

#[test]
fn each_bit_is_flipped_as_often_as_any() {
    let mut path = path(WayPlan {
        corruption: Some(Corrupting {
            share: 0.5,
            from_byte: 42,
        }),
        ..WayPlan::default()
    });
    let mut hits = [0u32; 32];
    let n = 200_000;
    for k in 0..n {
        if let Some(hit) = pass(&mut path, k, 46).packet.corruption {
            hits[8 * (hit.byte as usize - 42) + usize::from(hit.bit)] += 1;
        }
    }
    let expected = n as f64 / 2.0 / 32.0;
    for hit in hits {
        assert!((f64::from(hit) / expected - 1.0).abs() < 0.1, "{hits:?}");
    }
    // What ends before the first byte that may be hit is left whole.
    assert!((0..100).all(|k| pass(&mut path, n + k, 42).packet.corruption.is_none()));
}

#[test]
fn what_arrives_earlier_takes_its_place_behind() {
    let mut path = path(WayPlan {
        bottleneck: Some(Bottleneck::of_rate(8_000_000)),
        ..WayPlan::default()
    });
    path.offer(10 * MS, 1_000);
    let truth = path.offer(3 * MS, 1_000).packet;
    assert_eq!(
        (truth.arrival_ns, truth.left_queue_ns),
        (3 * MS, Some(12 * MS))
    );
    assert_eq!(path.counts().backward, 1);
}

fn rich() -> WayPlan {
    WayPlan {
        bottleneck: Some(Bottleneck {
            limit: QueueLimit::Packets(20),
            cross_traffic: Some(CrossTraffic {
                rate_bps: 60_000_000,
                packet_bytes: 700,
                pattern: CrossPattern::Bursts(3),
            }),
            ..Bottleneck::of_rate(100_000_000)
        }),
        delay_ns: 2_000_000,
        jitter: Some(Jitter::Normal {
            deviation_ns: 300_000,
        }),
        keep_order: false,
        duplication: Some(Duplicating {
            share: 0.05,
            after_ns: 10,
        }),
        reordering: Some(Reorder {
            share: 0.05,
            by_ns: 900_000,
        }),
        corruption: Some(Corrupting {
            share: 0.05,
            from_byte: 0,
        }),
        most_in_flight: 64,
        ..WayPlan::default()
    }
}

fn run(path: &mut Path) -> Vec<Truth> {
    let decisions = (0..5_000).map(|k| pass(path, k * 300_000, 1_000));
    decisions
        .flat_map(|d| [Some(d.packet), d.copy.map(|c| c.0)])
        .flatten()
        .collect()
}

#[test]
fn the_seed_decides_everything() {
    let of = |seed| run(&mut Path::new(&rich(), seed).unwrap());
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    let plan = PathPlan {
        seed: 1,
        outward: rich(),
        homeward: rich(),
    };
    let [mut outward, mut homeward] = Path::both(&plan).unwrap();
    let (out, home) = (run(&mut outward), run(&mut homeward));
    assert_eq!(out, of(1));
    assert_ne!(out, home);
}

/// Whoever adds loss sees the other packets as they were.
#[test]
fn a_decision_more_changes_no_other() {
    let whole = run(&mut path(rich()));
    let mut lossy = path(WayPlan {
        loss: LossPlan::Bernoulli { share: 0.3 },
        ..rich()
    });
    let lossy = run(&mut lossy);
    let left: Vec<&Truth> = lossy.iter().filter(|t| t.fate == Fate::Leaves).collect();
    assert!(left.len() > 3_000 && left.len() < 4_200, "{}", left.len());
    let same = left.iter().filter(|t| whole.contains(t)).count();
    assert_eq!(same, left.len());
}

/// Half of the packets that are not lost are held back, and half of these have a flipped bit.
#[test]
fn what_happens_to_a_packet_says_nothing_of_what_else_does() {
    let mut path = path(WayPlan {
        loss: LossPlan::Bernoulli { share: 0.5 },
        reordering: Some(Reorder {
            share: 0.5,
            by_ns: 1,
        }),
        corruption: Some(Corrupting {
            share: 0.5,
            from_byte: 0,
        }),
        ..WayPlan::default()
    });
    let truths: Vec<Truth> = (0..40_000).map(|k| pass(&mut path, k, 64).packet).collect();
    let left: Vec<&Truth> = truths.iter().filter(|t| t.fate == Fate::Leaves).collect();
    let held: Vec<&&Truth> = left.iter().filter(|t| t.is_held_back).collect();
    let hit = held.iter().filter(|t| t.corruption.is_some()).count();
    let shares = [
        left.len() as f64 / truths.len() as f64,
        held.len() as f64 / left.len() as f64,
        hit as f64 / held.len() as f64,
    ];
    assert!(shares.iter().all(|s| (s - 0.5).abs() < 0.02), "{shares:?}");
}

#[test]
fn rows_of_truth_survive_json() {
    for truth in run(&mut path(rich())).into_iter().take(300) {
        let text = serde_json::to_string(&truth).unwrap();
        assert_eq!(serde_json::from_str::<Truth>(&text).unwrap(), truth);
    }
}
