use super::*;
use crate::Way;

fn find(order: &Order, earlier: Stamp, later: Stamp) -> Option<(u64, u64, i64)> {
    let pair = order
        .pairs
        .iter()
        .find(|p| (p.earlier, p.later) == (earlier, later))?;
    Some((pair.compared, pair.violations, pair.worst_ns))
}

#[test]
fn violations_are_counted_by_pair() {
    let mut packets = Packets::new();
    for (user, scheduled, sent) in [(0, 5, 9), (0, 5, 3), (6, 5, 3), (0, 0, 0)] {
        let row = packets.push(64).unwrap();
        packets.set(row, Stamp::UserSent, user).unwrap();
        packets.set(row, Stamp::Scheduled, scheduled).unwrap();
        packets.set(row, Stamp::Sent, sent).unwrap();
    }
    let order = order(&packets);
    assert_eq!((order.probes, order.violated), (4, 2));
    assert_eq!(
        find(&order, Stamp::UserSent, Stamp::Scheduled),
        Some((4, 1, 1))
    );
    assert_eq!(find(&order, Stamp::Scheduled, Stamp::Sent), Some((4, 2, 2)));
    assert_eq!(order.pairs.len(), 2);
}

#[test]
fn a_missing_stamp_is_stepped_over() {
    let mut packets = Packets::new();
    for scheduled in [Some(4), None] {
        let row = packets.push(64).unwrap();
        packets.set(row, Stamp::UserSent, 5).unwrap();
        packets.set(row, Stamp::Sent, 1).unwrap();
        if let Some(at) = scheduled {
            packets.set(row, Stamp::Scheduled, at).unwrap();
        }
    }
    let order = order(&packets);
    assert_eq!(find(&order, Stamp::UserSent, Stamp::Sent), Some((1, 1, 4)));
    assert_eq!(find(&order, Stamp::Scheduled, Stamp::Sent), Some((1, 1, 3)));
}

#[test]
fn stamps_of_different_clocks_are_not_compared() {
    let mut packets = Packets::new();
    let tap = packets.add_tap("router", Clock::other(1)).unwrap();
    let router = Stamp::Tap(tap, Way::Outward);
    let row = packets.push(64).unwrap();
    let stamps = [
        (Stamp::Sent, 1_000),
        (Stamp::SentHardware, 1),
        (router, 5),
        (Stamp::FarReceived, 2),
        (Stamp::FarSent, 3),
        (Stamp::Tap(tap, Way::Homeward), 4),
        (Stamp::Received, 1_500),
    ];
    for (place, at) in stamps {
        packets.set(row, place, at).unwrap();
    }
    let first = order(&packets);
    assert_eq!(find(&first, Stamp::Sent, Stamp::Received), Some((1, 0, 0)));
    assert_eq!(
        find(&first, Stamp::FarReceived, Stamp::FarSent),
        Some((1, 0, 0))
    );
    assert_eq!(
        find(&first, router, Stamp::Tap(tap, Way::Homeward)),
        Some((1, 1, 1))
    );
    assert_eq!((first.pairs.len(), first.violated), (3, 1));
    // On one machine the far end's clock is the sender's.
    packets
        .set_clock(Stamp::FarReceived, Clock::SENDER)
        .unwrap();
    let second = order(&packets);
    assert_eq!(
        find(&second, Stamp::Sent, Stamp::FarReceived),
        Some((1, 1, 998))
    );
}

#[test]
fn what_has_nothing_to_compare_does_not_count() {
    let mut packets = Packets::new();
    let row = packets.push(64).unwrap();
    packets.set(row, Stamp::Sent, 1).unwrap();
    assert_eq!(order(&packets), Order::default());
    assert_eq!(order(&Packets::new()), Order::default());
}
