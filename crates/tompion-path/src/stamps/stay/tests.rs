use super::*;

/// A probe that the kernel sent at 0 and received at 1000, with these stamps of the far end.
fn packets_of(far: &[[Option<i64>; 3]]) -> Packets {
    let mut packets = Packets::new();
    let places = [Stamp::FarReceived, Stamp::FarSent, Stamp::FarSentKernel];
    for stamps in far {
        let row = packets.push(64).unwrap();
        packets.set(row, Stamp::Sent, 0).unwrap();
        packets.set(row, Stamp::Received, 1_000).unwrap();
        for (place, at) in places.into_iter().zip(stamps) {
            if let Some(at) = at {
                packets.set(row, place, *at).unwrap();
            }
        }
    }
    packets
}

#[test]
fn the_follow_up_stamp_goes_first_where_it_is_there() {
    let packets = packets_of(&[
        [Some(5_000), Some(5_040), Some(5_050)],
        [Some(5_000), Some(5_040), None],
        [None, Some(5_040), Some(5_050)],
    ]);
    let of = |by| stays(&packets, by).values.iter().collect::<Vec<_>>();
    assert_eq!(of(StayBy::Reply), [Some(40), Some(40), None]);
    assert_eq!(of(StayBy::FollowUp), [Some(50), None, None]);
    assert_eq!(of(StayBy::Best), [Some(50), Some(40), None]);
}

#[test]
fn beside_replies_that_waited_in_the_far_ends_queue_one_that_nobody_told_of_has_no_stay() {
    const MS: i64 = 1_000_000;
    let told = |waited| [Some(0), Some(400), Some(400 + waited)];
    let untold = [Some(0), Some(400), None];
    let mut packets = packets_of(&[
        untold,
        told(300),
        untold,
        told(3 * MS),
        untold,
        told(4 * MS),
        untold,
        told(300),
        untold,
        told(2 * MS),
        untold,
    ]);
    for row in 0..packets.len() {
        packets.set(row, Stamp::Received, 9 * MS).unwrap();
    }
    let stays = stays(&packets, StayBy::Best);
    let long = |ns| Some(400 + ns);
    let expected = [
        Some(400),
        long(300),
        Some(400),
        long(3 * MS),
        None,
        long(4 * MS),
        Some(400),
        long(300),
        Some(400),
        long(2 * MS),
        // The last one: what would follow comes with no reply.
        None,
    ];
    assert_eq!(stays.values.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_far_end_that_cannot_be_right_is_not_believed() {
    let packets = packets_of(&[
        [Some(10), Some(9), None],
        [Some(0), Some(1_001), None],
        [Some(0), Some(1_000), None],
        [Some(3), Some(3), None],
        [Some(-(1 << 61)), Some(1 << 61), None],
    ]);
    let stays = stays(&packets, StayBy::Best);
    let values: Vec<_> = stays.values.iter().collect();
    assert_eq!(values, [None, None, Some(1_000), Some(0), None]);
    assert_eq!((stays.negative, stays.too_long, stays.zero), (1, 2, 1));
    let path = stays.removed_from(&round_trips(&packets, Vantage::Kernel));
    let left: Vec<_> = path.iter().collect();
    assert_eq!(left, [None, None, Some(0), Some(1_000), None]);
}

#[test]
fn one_stamp_given_twice_is_no_stay() {
    let packets = packets_of(&[
        [Some(10), Some(10), None],
        [Some(20), Some(20), None],
        [None, None, None],
    ]);
    let stays = stays(&packets, StayBy::Best);
    assert_eq!((stays.zero, stays.values.missing()), (2, 3));
    let path = stays.removed_from(&round_trips(&packets, Vantage::Kernel));
    assert_eq!(path.missing(), 3);
}
