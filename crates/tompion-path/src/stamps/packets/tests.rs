use super::*;

fn three() -> Packets {
    let mut packets = Packets::new();
    for _ in 0..3 {
        packets.push(100).unwrap();
    }
    packets
}

#[test]
fn stamps_are_kept_and_missing_ones_say_why() {
    let mut packets = three();
    packets.set(1, Stamp::Sent, -5).unwrap();
    assert_eq!(packets.get(1, Stamp::Sent), Some(-5));
    assert_eq!(packets.missing(1, Stamp::Sent), None);
    assert_eq!(packets.get(0, Stamp::Sent), None);
    assert_eq!(packets.missing(0, Stamp::Sent), Some(Missing::Unknown));
    assert_eq!(packets.missing(0, Stamp::Received), Some(Missing::NotTaken));
    assert!(packets.has_any(Stamp::Sent) && !packets.has_any(Stamp::Received));
    assert_eq!(packets.count_missing(Stamp::Sent), 2);
    packets
        .set_missing(1, Stamp::Sent, Missing::Overflowed)
        .unwrap();
    assert_eq!(packets.get(1, Stamp::Sent), None);
    assert_eq!(packets.missing(1, Stamp::Sent), Some(Missing::Overflowed));
    assert!(!packets.has_any(Stamp::Sent));
}

#[test]
fn every_reason_comes_back() {
    use Missing::*;
    let mut packets = three();
    for why in [
        NotTaken,
        Refused,
        Overflowed,
        TooLate,
        Lost,
        TapDropped,
        NotSeen,
        NotGiven,
        Implausible,
        Unknown,
    ] {
        packets.set_missing(2, Stamp::FarSent, why).unwrap();
        assert_eq!(packets.missing(2, Stamp::FarSent), Some(why));
    }
}

#[test]
fn the_reason_for_a_whole_place_holds_where_nothing_else_is_known() {
    let mut packets = three();
    let hardware = Stamp::SentHardware;
    packets
        .set_missing_otherwise(hardware, Missing::Refused)
        .unwrap();
    assert_eq!(packets.missing(0, hardware), Some(Missing::Refused));
    packets.set(0, hardware, 1).unwrap();
    packets.set_missing(1, hardware, Missing::TooLate).unwrap();
    let last = packets.push(1).unwrap();
    let why = [0, 1, 2, last].map(|row| packets.missing(row, hardware));
    let refused = Some(Missing::Refused);
    assert_eq!(why, [None, Some(Missing::TooLate), refused, refused]);
    packets
        .set_missing_otherwise(hardware, Missing::Unknown)
        .unwrap();
    assert_eq!(packets.missing(2, hardware), Some(Missing::Unknown));
}

#[test]
fn of_a_lost_probe_what_comes_with_the_reply_is_lost() {
    let mut packets = three();
    packets.set(0, Stamp::Sent, 1).unwrap();
    packets.set(0, Stamp::Received, 2).unwrap();
    packets.set_outcome(1, Outcome::Lost).unwrap();
    assert_eq!(packets.missing(1, Stamp::Received), Some(Missing::Lost));
    assert_eq!(packets.missing(1, Stamp::Sent), Some(Missing::Unknown));
    packets
        .set_missing(1, Stamp::Received, Missing::Overflowed)
        .unwrap();
    assert_eq!(
        packets.missing(1, Stamp::Received),
        Some(Missing::Overflowed)
    );
}

#[test]
fn replies_are_numbered_as_they_come() {
    let mut packets = three();
    packets.set_outcome(2, Outcome::Lost).unwrap();
    assert_eq!(packets.arrived(1), Ok(Arrival::First(0)));
    assert_eq!(packets.arrived(2), Ok(Arrival::First(1)));
    assert_eq!(packets.arrived(1), Ok(Arrival::Duplicate(1)));
    assert_eq!(packets.arrived(1), Ok(Arrival::Duplicate(2)));
    let told: Vec<_> = packets
        .probes()
        .map(|p| (p.outcome, p.duplicates, p.arrival))
        .collect();
    let expected = [
        (Outcome::Pending, 0, None),
        (Outcome::Answered, 2, Some(0)),
        (Outcome::Answered, 0, Some(1)),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_table_read_back_goes_on_where_it_was() {
    let mut packets = Packets::new();
    let probe = Probe {
        bytes: 60,
        outcome: Outcome::Answered,
        duplicates: 1,
        arrival: Some(7),
    };
    let row = packets.push_probe(probe).unwrap();
    assert_eq!(packets.probe(row), Ok(probe));
    let next = packets.push(60).unwrap();
    assert_eq!(packets.arrived(next), Ok(Arrival::First(8)));
}

#[test]
fn what_cannot_be_is_refused() {
    let mut packets = three();
    let no_probe = PacketsError::NoSuchProbe {
        probe: 3,
        probes: 3,
    };
    assert_eq!(packets.set(3, Stamp::Due, 0), Err(no_probe));
    assert_eq!(packets.arrived(3), Err(no_probe));
    assert_eq!(packets.get(3, Stamp::Due), None);
    for at_ns in [1 << 62, -(1 << 62), i64::MIN, i64::MIN + 3, i64::MAX] {
        let refused = Err(PacketsError::OutOfRange { at_ns });
        assert_eq!(packets.set(0, Stamp::Due, at_ns), refused);
    }
    packets.set(0, Stamp::Due, (1 << 62) - 1).unwrap();
    packets.set(0, Stamp::Due, 1 - (1 << 62)).unwrap();
    assert_eq!(packets.get(0, Stamp::Due), Some(1 - (1 << 62)));
    let stranger = TapId::new(0);
    let tap = Stamp::Tap(stranger, Way::Homeward);
    assert_eq!(
        packets.set(0, tap, 0),
        Err(PacketsError::NoSuchTap(stranger))
    );
    assert_eq!((packets.get(0, tap), packets.clock(tap)), (None, None));
    let too_many = Packets::with_capacity(MOST_PROBES + 1, &[]).map(|p| p.len());
    assert!(matches!(too_many, Err(PacketsError::TooManyProbes { .. })));
}

#[test]
fn taps_have_names_columns_and_clocks() {
    let mut packets = three();
    let dom0 = packets.add_tap("dom0", Clock::other(0)).unwrap();
    let wire = packets.add_tap("wire", Clock::SENDER).unwrap();
    assert_eq!(
        packets.add_tap("dom0", Clock::SENDER),
        Err(PacketsError::TapName)
    );
    assert_eq!(
        packets.add_tap("", Clock::SENDER),
        Err(PacketsError::TapName)
    );
    assert_eq!(packets.tap("wire"), Some(wire));
    assert_eq!(
        packets.taps().collect::<Vec<_>>(),
        [(dom0, "dom0"), (wire, "wire")]
    );
    for (i, way) in Way::BOTH.into_iter().enumerate() {
        packets.set(0, Stamp::Tap(wire, way), i as i64).unwrap();
        assert_eq!(packets.get(0, Stamp::Tap(wire, way)), Some(i as i64));
        assert_eq!(packets.get(0, Stamp::Tap(dom0, way)), None);
        assert_eq!(packets.clock(Stamp::Tap(dom0, way)), Some(Clock::other(0)));
    }
    for i in 2..MOST_TAPS {
        packets.add_tap(&format!("tap{i}"), Clock::SENDER).unwrap();
    }
    assert_eq!(
        packets.add_tap("more", Clock::SENDER),
        Err(PacketsError::TooManyTaps)
    );
}

#[test]
fn places_come_in_the_order_of_the_way() {
    let mut packets = Packets::new();
    let near = packets.add_tap("near", Clock::SENDER).unwrap();
    let far = packets.add_tap("far", Clock::SENDER).unwrap();
    let expected = [
        Stamp::UserSent,
        Stamp::Scheduled,
        Stamp::Sent,
        Stamp::SentHardware,
        Stamp::Tap(near, Way::Outward),
        Stamp::Tap(far, Way::Outward),
        Stamp::FarReceived,
        Stamp::FarSent,
        Stamp::FarSentKernel,
        Stamp::Tap(far, Way::Homeward),
        Stamp::Tap(near, Way::Homeward),
        Stamp::ReceivedHardware,
        Stamp::Received,
        Stamp::UserReceived,
    ];
    assert_eq!(packets.places(), expected);
}

#[test]
fn a_tap_of_the_own_device_lies_between_its_queue_and_its_driver() {
    let mut packets = Packets::new();
    let wire = packets.add_tap("wire", Clock::other(0)).unwrap();
    let own = packets.add_own_tap("tap").unwrap();
    assert_eq!((packets.is_own(wire), packets.is_own(own)), (false, true));
    let expected = [
        Stamp::UserSent,
        Stamp::Scheduled,
        Stamp::Tap(own, Way::Outward),
        Stamp::Sent,
        Stamp::SentHardware,
        Stamp::Tap(wire, Way::Outward),
        Stamp::FarReceived,
        Stamp::FarSent,
        Stamp::FarSentKernel,
        Stamp::Tap(wire, Way::Homeward),
        Stamp::ReceivedHardware,
        Stamp::Tap(own, Way::Homeward),
        Stamp::Received,
        Stamp::UserReceived,
    ];
    assert_eq!(packets.places(), expected);
    let clock = packets.clock(Stamp::Tap(own, Way::Outward));
    assert_eq!(clock, packets.clock(Stamp::Sent));
}

#[test]
fn a_table_with_capacity_is_filled_where_it_lies() {
    let stamps = [Stamp::UserSent, Stamp::Received];
    let mut packets = Packets::with_capacity(1_000, &stamps).unwrap();
    let at = |p: &Packets| {
        let columns = stamps.map(|s| p.columns[s.column()].place());
        (p.bytes.as_ptr(), p.arrivals.as_ptr(), columns)
    };
    let before = at(&packets);
    for i in 0..1_000 {
        let row = packets.push(1).unwrap();
        packets.set(row, Stamp::UserSent, i).unwrap();
        packets.set(row, Stamp::Received, i + 1).unwrap();
    }
    assert_eq!(at(&packets), before);
    assert!(packets.columns.iter().filter(|c| c.place().1 > 0).count() == 2);
}
