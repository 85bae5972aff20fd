use proptest::prelude::*;

use super::*;

/// By the words of RFC 4737, in quadratic time.
fn by_definition(s: &[u32]) -> Vec<Reordered> {
    let mut next_expected = 0;
    let mut found = Vec::new();
    for (i, &number) in s.iter().enumerate() {
        if number >= next_expected {
            next_expected = number + 1;
            continue;
        }
        let earliest = (0..i).find(|&j| s[j] > number).unwrap();
        let n = (0..i).rev().take_while(|&j| s[j] > number).count();
        found.push(Reordered {
            number,
            place: i as u32,
            extent: (i - earliest) as u32,
            n: n as u32,
        });
    }
    found
}

#[test]
fn one_late_packet() {
    let reordering = Reordering::of_arrivals(&[0, 2, 3, 4, 1, 5]);
    let late = Reordered {
        number: 1,
        place: 4,
        extent: 3,
        n: 3,
    };
    assert_eq!(reordering.reordered, [late]);
    assert_eq!(reordering.share(), Some(1.0 / 6.0));
    assert_eq!(
        (reordering.n_reordered(3), reordering.n_reordered(4)),
        (1, 0)
    );
}

#[test]
fn the_extent_goes_back_to_the_earliest_later_packet_and_n_to_the_streak() {
    let reordering = Reordering::of_arrivals(&[9, 1, 2, 8, 7, 3]);
    let told: Vec<_> = reordering
        .reordered
        .iter()
        .map(|r| (r.number, r.extent, r.n))
        .collect();
    assert_eq!(
        told,
        [(1, 1, 1), (2, 2, 0), (8, 3, 0), (7, 4, 1), (3, 5, 2)]
    );
    assert_eq!(
        reordering.extents().pairs(),
        [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]
    );
}

#[test]
fn gaps_are_no_reordering() {
    assert_eq!(Reordering::of_arrivals(&[1, 4, 9, 700]).share(), Some(0.0));
    assert_eq!(Reordering::of_arrivals(&[]).share(), None);
}

#[test]
fn of_a_table_it_goes_by_arrival_and_duplicates_are_left_out() {
    let mut packets = Packets::new();
    for _ in 0..4 {
        packets.push(64).unwrap();
    }
    for probe in [0, 2, 0, 1, 2, 3] {
        packets.arrived(probe).unwrap();
    }
    let reordering = Reordering::of(&packets);
    assert_eq!(reordering.arrived, 4);
    assert_eq!(
        reordering
            .reordered
            .iter()
            .map(|r| r.number)
            .collect::<Vec<_>>(),
        [1]
    );
    // At the far end probe 3 came before 2, and nothing else was out of order.
    for (row, at) in [10, 20, 40, 30].into_iter().enumerate() {
        packets.set(row, Stamp::FarReceived, at).unwrap();
    }
    let there = Reordering::at(&packets, Stamp::FarReceived);
    assert_eq!(
        there.reordered.iter().map(|r| r.number).collect::<Vec<_>>(),
        [2]
    );
}

#[test]
fn a_reply_after_its_timeout_is_lost_and_not_reordered() {
    let mut packets = Packets::new();
    for _ in 0..3 {
        packets.push(64).unwrap();
    }
    for probe in [1, 0, 2] {
        packets.arrived(probe).unwrap();
    }
    assert_eq!(Reordering::of(&packets).reordered.len(), 1);
    packets.set_outcome(0, Outcome::Lost).unwrap();
    let reordering = Reordering::of(&packets);
    assert_eq!(
        (reordering.arrived, reordering.reordered.len()),
        (2, 0),
        "{reordering:?}"
    );
}

proptest! {
    #[test]
    fn it_is_as_defined(
        numbers in Just((0..60u32).collect::<Vec<_>>()).prop_shuffle(),
        keep in 0..60usize,
    ) {
        let kept = &numbers[..keep];
        prop_assert_eq!(Reordering::of_arrivals(kept).reordered, by_definition(kept));
    }

    #[test]
    fn nothing_is_reordered_in_sorted_arrivals(
        numbers in prop::collection::btree_set(any::<u32>(), 0..200),
    ) {
        let sorted: Vec<u32> = numbers.into_iter().collect();
        prop_assert_eq!(Reordering::of_arrivals(&sorted).reordered, []);
    }

    #[test]
    fn tables_may_say_anything(places in prop::collection::vec(any::<Option<u32>>(), 0..50)) {
        use crate::stamps::probe::Probe;
        let mut packets = Packets::new();
        for arrival in places {
            let probe = Probe { bytes: 1, outcome: Outcome::Answered, duplicates: 0, arrival };
            packets.push_probe(probe).unwrap();
        }
        let reordering = Reordering::of(&packets);
        prop_assert!(reordering.reordered.len() as u64 <= reordering.arrived);
    }
}
