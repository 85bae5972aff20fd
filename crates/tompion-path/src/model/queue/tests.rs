use proptest::prelude::*;

use super::*;
use crate::Way;
use crate::model::chance::Decides;

fn queue(plan: &Bottleneck) -> Queue {
    let chance = Chance::new(1, Way::Outward, Decides::CrossTraffic);
    Queue::new(plan, 1_000, chance).unwrap()
}

fn leaves(queue: &mut Queue, at: i64, bytes: u32) -> i64 {
    match queue.arrive(at, bytes) {
        Queued::LeavesAt(ns) => ns,
        other => panic!("{other:?}"),
    }
}

#[test]
fn packets_at_once_leave_as_a_staircase() {
    // 142 bytes at 10 Mbit/s take 113.6 us.
    let mut queue = queue(&Bottleneck::of_rate(10_000_000));
    for k in 1..=500 {
        assert_eq!(leaves(&mut queue, 1_000, 142), 1_000 + 113_600 * k);
    }
}

#[test]
fn stairs_that_are_no_whole_nanoseconds_add_up_all_the_same() {
    // 100 bytes at 300 Mbit/s take 2666 2/3 ns.
    let mut queue = queue(&Bottleneck::of_rate(300_000_000));
    for k in 1..=900i64 {
        assert_eq!(leaves(&mut queue, 0, 100), (k * 8_000 + 2) / 3);
    }
}

#[test]
fn overhead_takes_its_time() {
    let plan = Bottleneck {
        overhead_bytes: 38,
        ..Bottleneck::of_rate(8_000_000)
    };
    assert_eq!(leaves(&mut queue(&plan), 0, 62), 100_000);
}

#[test]
fn a_queue_that_ran_empty_begins_anew() {
    let mut queue = queue(&Bottleneck::of_rate(8_000_000));
    assert_eq!(leaves(&mut queue, 0, 1_000), 1_000_000);
    assert_eq!(leaves(&mut queue, 400_000, 1_000), 2_000_000);
    assert_eq!(leaves(&mut queue, 5_000_000, 1_000), 6_000_000);
}

#[test]
fn the_tail_is_dropped_by_packets() {
    let plan = Bottleneck {
        limit: QueueLimit::Packets(3),
        ..Bottleneck::of_rate(8_000_000)
    };
    let mut queue = queue(&plan);
    for _ in 0..3 {
        leaves(&mut queue, 0, 1_000);
    }
    assert_eq!(queue.arrive(0, 1), Queued::Full);
    assert_eq!(queue.arrive(999_999, 1), Queued::Full);
    assert_eq!(leaves(&mut queue, 1_000_000, 1_000), 4_000_000);
    assert_eq!(queue.arrive(1_000_000, 1), Queued::Full);
}

#[test]
fn the_tail_is_dropped_by_bytes() {
    let plan = Bottleneck {
        limit: QueueLimit::Bytes(2_500),
        ..Bottleneck::of_rate(8_000_000)
    };
    let mut queue = queue(&plan);
    leaves(&mut queue, 0, 1_000);
    leaves(&mut queue, 0, 1_000);
    assert_eq!(queue.arrive(0, 501), Queued::Full);
    assert_eq!(leaves(&mut queue, 0, 500), 2_500_000);
    assert_eq!(queue.arrive(0, 1), Queued::Full);
    // The first has left, of the second half is left: it counts whole.
    assert_eq!(queue.arrive(1_500_000, 1_001), Queued::Full);
    assert_eq!(leaves(&mut queue, 1_500_000, 1_000), 3_500_000);
}

#[test]
fn no_more_packets_are_kept_in_mind_than_there_is_room_for() {
    let chance = Chance::new(1, Way::Outward, Decides::CrossTraffic);
    let mut queue = Queue::new(&Bottleneck::of_rate(8), 2, chance).unwrap();
    leaves(&mut queue, 0, 1);
    leaves(&mut queue, 0, 1);
    assert_eq!(queue.arrive(0, 1), Queued::TooMany);
}

proptest! {
    /// Lindley's recursion, in exact fractions of a nanosecond.
    #[test]
    fn departures_are_those_of_lindley(
        rate in 1_000u64..10_000_000_000,
        packets in prop::collection::vec((0..1_000_000i64, 1..10_000u32), 1..60),
    ) {
        let plan = Bottleneck { limit: QueueLimit::Bytes(1 << 40), ..Bottleneck::of_rate(rate) };
        let mut queue = queue(&plan);
        let (mut at, mut free) = (0i64, 0i128);
        for (gap, bytes) in packets {
            at += gap;
            // Times the rate, so that all are whole numbers.
            free = free.max(i128::from(at) * i128::from(rate)) + i128::from(bytes) * 8_000_000_000;
            let expected = (free + i128::from(rate) - 1) / i128::from(rate);
            prop_assert_eq!(i128::from(leaves(&mut queue, at, bytes)), expected);
        }
    }
}
