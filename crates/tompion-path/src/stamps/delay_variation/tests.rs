use proptest::prelude::*;

use super::*;

fn values(delays: &[Option<i64>]) -> Values {
    delays.iter().copied().collect()
}

#[test]
fn pdv_is_against_the_least_and_ipdv_against_the_packet_before() {
    let delays = values(&[Some(30), None, Some(20), Some(50), Some(20)]);
    let told = |v: Values| v.iter().collect::<Vec<_>>();
    assert_eq!(
        told(pdv(&delays)),
        [Some(10), None, Some(0), Some(30), Some(0)]
    );
    assert_eq!(told(ipdv(&delays)), [None, None, None, Some(30), Some(-30)]);
    assert_eq!(pdv(&delays).distribution().median(), Some(5.0));
}

#[test]
fn without_delays_there_is_no_variation() {
    assert_eq!(pdv(&values(&[])).len(), 0);
    assert_eq!(pdv(&values(&[None, None])).missing(), 2);
    assert_eq!(ipdv(&values(&[None, Some(1)])).missing(), 2);
}

#[test]
fn an_offset_between_clocks_changes_no_variation() {
    let mut packets = Packets::new();
    for (sent, received) in [(0, 500), (100, 640), (200, 690)] {
        let row = packets.push(64).unwrap();
        packets.set(row, Stamp::Sent, sent).unwrap();
        packets
            .set(row, Stamp::FarReceived, received - 3_000_000_000)
            .unwrap();
    }
    let delays = delays(&packets, Stamp::Sent, Stamp::FarReceived);
    assert_eq!(
        pdv(&delays).iter().collect::<Vec<_>>(),
        [Some(10), Some(50), Some(0)]
    );
    assert_eq!(
        ipdv(&delays).iter().collect::<Vec<_>>(),
        [None, Some(40), Some(-50)]
    );
}

proptest! {
    #[test]
    fn pdv_is_never_negative_and_ipdv_sums_up(
        delays in prop::collection::vec(prop::option::weighted(0.9, -(1i64 << 61)..1 << 61), 0..60),
    ) {
        let delays = values(&delays);
        let pdv = pdv(&delays);
        prop_assert!(pdv.present().all(|v| v >= 0));
        prop_assert_eq!(pdv.missing(), delays.missing());
        prop_assert_eq!(pdv.min(), delays.min().map(|_| 0));
        let ipdv = ipdv(&delays);
        for i in 1..delays.len() {
            let expected = delays.get(i).zip(delays.get(i - 1)).map(|(a, b)| a - b);
            prop_assert_eq!(ipdv.get(i), expected);
        }
    }

    #[test]
    fn stamps_may_be_any(stamps in prop::collection::vec(any::<(i64, i64)>(), 0..20)) {
        let mut packets = Packets::new();
        for (sent, received) in stamps {
            let row = packets.push(1).unwrap();
            let _ = packets.set(row, Stamp::Sent, sent);
            let _ = packets.set(row, Stamp::Received, received);
        }
        let delays = delays(&packets, Stamp::Sent, Stamp::Received);
        prop_assert!(pdv(&delays).present().all(|v| v >= 0));
        prop_assert_eq!(ipdv(&delays).len(), packets.len());
    }
}
