use proptest::prelude::*;

use super::*;
use crate::Way;
use crate::stamps::place::{Clock, TapId};
use crate::stamps::stay::{StayBy, stays};

/// A table with a tap by the sender's clock and one by its own; each probe has these gaps
/// between the places on its way.
fn table(gaps: &[[i64; 14]]) -> (Packets, [TapId; 2]) {
    let mut packets = Packets::new();
    let near = packets.add_tap("near", Clock::SENDER).unwrap();
    let far = packets.add_tap("far", Clock::other(0)).unwrap();
    let places = packets.places();
    for (i, gaps) in gaps.iter().enumerate() {
        let row = packets.push(100).unwrap();
        let mut at = 1_000_000 * i as i64;
        packets.set(row, Stamp::Due, at).unwrap();
        for (&place, gap) in places.iter().zip(gaps) {
            at += gap;
            let shift = match packets.clock(place) {
                Some(Clock::SENDER) => 0,
                Some(Clock::DEVICE) => 77_000,
                Some(Clock::FAR_END) => -3_000_000_000,
                _ => 5_000_000_000,
            };
            packets.set(row, place, at + shift).unwrap();
        }
    }
    (packets, [near, far])
}

const GAPS: [i64; 14] = [
    7, 20, 300, 5, 4, 1_000, 2_000, 90, 10, 2_100, 1_100, 6, 3, 40,
];

#[test]
fn each_vantage_point_sees_what_lies_beyond_it() {
    let (packets, [near, far]) = table(&[GAPS]);
    let all = [
        Vantage::User,
        Vantage::Qdisc,
        Vantage::Kernel,
        Vantage::Hardware,
        Vantage::Tap(near),
        Vantage::Tap(far),
    ];
    assert_eq!(vantages(&packets), all);
    let seen = all.map(|v| round_trips(&packets, v).get(0).unwrap());
    assert_eq!(seen, [6_678, 6_618, 6_318, 6_310, 6_300, 4_200]);
    let added: Vec<_> = layers(&packets)
        .iter()
        .map(|l| {
            let way = |v: Option<Values>| v.map(|v| v.get(0).unwrap());
            let ways = (way(l.outward(&packets)), way(l.homeward(&packets)));
            (l.upper, l.lower, l.added(&packets).get(0).unwrap(), ways)
        })
        .collect();
    let expected = [
        (all[0], all[1], 60, (Some(20), Some(40))),
        (all[1], all[2], 300, (Some(300), Some(0))),
        (all[2], all[3], 8, (None, None)),
        (all[3], all[4], 10, (None, None)),
        (all[4], all[5], 2_100, (None, None)),
    ];
    assert_eq!(added, expected);
    let stays = stays(&packets, StayBy::Best);
    assert_eq!(stays.values.get(0), Some(100));
    assert_eq!(rest(&packets, &stays).get(0), Some(4_100));
    assert_eq!(lateness(&packets).get(0), Some(7));
}

#[test]
fn a_tap_of_the_own_device_splits_what_lies_between_queue_and_driver() {
    let mut packets = Packets::new();
    let own = packets.add_own_tap("tap").unwrap();
    let row = packets.push(64).unwrap();
    let stamps = [
        (Stamp::Scheduled, 10),
        (Stamp::Tap(own, Way::Outward), 300),
        (Stamp::Sent, 304),
        (Stamp::Tap(own, Way::Homeward), 900),
        (Stamp::Received, 900),
    ];
    for (place, at) in stamps {
        packets.set(row, place, at).unwrap();
    }
    let seen = [Vantage::Qdisc, Vantage::Tap(own), Vantage::Kernel];
    assert_eq!(vantages(&packets), seen);
    let added: Vec<_> = layers(&packets)
        .iter()
        .map(|layer| layer.added(&packets).get(0))
        .collect();
    assert_eq!(added, [Some(290), Some(4)]);
}

#[test]
fn a_layer_is_between_the_vantage_points_that_there_are() {
    let mut packets = Packets::new();
    let row = packets.push(64).unwrap();
    for (place, at) in [
        (Stamp::UserSent, 0),
        (Stamp::Sent, 30),
        (Stamp::UserReceived, 100),
    ] {
        packets.set(row, place, at).unwrap();
    }
    assert_eq!(vantages(&packets), [Vantage::User]);
    assert_eq!(layers(&packets), []);
    packets.set(row, Stamp::Received, 80).unwrap();
    let layer = Layer {
        upper: Vantage::User,
        lower: Vantage::Kernel,
    };
    assert_eq!(layers(&packets), [layer]);
    assert_eq!(layer.added(&packets).get(0), Some(50));
    assert_eq!(rest(&packets, &stays(&packets, StayBy::Best)).get(0), None);
    assert_eq!(lateness(&packets).missing(), 1);
}

#[test]
fn a_tap_of_the_senders_clock_is_split_by_way() {
    let (packets, [near, _]) = table(&[GAPS]);
    let layer = Layer {
        upper: Vantage::Kernel,
        lower: Vantage::Tap(near),
    };
    let out = layer.outward(&packets).unwrap();
    let home = layer.homeward(&packets).unwrap();
    assert_eq!((out.get(0), home.get(0)), (Some(9), Some(9)));
}

#[test]
fn one_place_with_two_clocks_sees_no_round_trip() {
    let (mut packets, [near, _]) = table(&[GAPS]);
    let place = Stamp::Tap(near, Way::Homeward);
    packets.set_clock(place, Clock::other(9)).unwrap();
    assert!(!vantages(&packets).contains(&Vantage::Tap(near)));
    assert_eq!(round_trips(&packets, Vantage::Tap(near)).missing(), 1);
}

proptest! {
    #[test]
    fn layers_stay_and_rest_sum_to_the_whole(
        gaps in prop::collection::vec(prop::array::uniform14(0..1_000_000_000i64), 1..20),
    ) {
        let (packets, _) = table(&gaps);
        let whole = round_trips(&packets, Vantage::User);
        let stays = stays(&packets, StayBy::Best);
        let rest = rest(&packets, &stays);
        let layers = layers(&packets);
        prop_assert_eq!(layers.len(), 5);
        for row in 0..packets.len() {
            let added: i64 = layers.iter().map(|l| l.added(&packets).get(row).unwrap()).sum();
            let parts = added + stays.values.get(row).unwrap() + rest.get(row).unwrap();
            prop_assert_eq!(Some(parts), whole.get(row));
        }
        for layer in layers {
            if let (Some(out), Some(home)) = (layer.outward(&packets), layer.homeward(&packets)) {
                let both = out.iter().zip(home.iter());
                let sums: Vec<_> = both.map(|(o, h)| o?.checked_add(h?)).collect();
                let added = layer.added(&packets);
                prop_assert_eq!(sums, added.iter().collect::<Vec<_>>());
            }
        }
    }
}
