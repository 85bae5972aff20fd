use proptest::prelude::*;

use super::*;
use crate::tap::{Record, TapStatistics};

const LO: Described<'_> = Described {
    name: "lo",
    link: LinkType::Ethernet,
    snap: 128,
    filter: Some("UDP port 862"),
};
const ETH1: Described<'_> = Described {
    name: "eth1",
    link: LinkType::Raw,
    snap: 0,
    filter: None,
};

fn written(records: &[(usize, Record<'_>)]) -> Vec<u8> {
    let mut writer = Writer::new(vec![], "tompion", "a comment", &[LO, ETH1]).expect("a writer");
    for (interface, record) in records {
        writer.packet(*interface, record).expect("a packet");
    }
    let lost = TapStatistics {
        passed: 70_000_000_000,
        dropped: 3,
    };
    writer.statistics(1, 9, &lost).expect("statistics");
    writer.finish().expect("an end")
}

type Read = (usize, i64, Option<Direction>, u32, Vec<u8>);

fn all(bytes: &[u8]) -> (Vec<Read>, Result<Vec<Interface>, ReadError>) {
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (vec![], Err(error)),
    };
    let mut packets = vec![];
    loop {
        match reader.next_packet() {
            Ok(Some(p)) => {
                packets.push((p.interface, p.ns, p.direction, p.length, p.bytes.to_vec()))
            }
            Ok(None) => return (packets, Ok(reader.interfaces().to_vec())),
            Err(error) => return (packets, Err(error)),
        }
    }
}

#[test]
fn what_is_written_is_read() {
    let record = Record {
        ns: 1_700_000_000_123_456_789,
        direction: Direction::Outgoing,
        length: 1514,
        bytes: b"five!",
    };
    let other = Record {
        direction: Direction::Incoming,
        bytes: b"",
        ..record
    };
    let (packets, interfaces) = all(&written(&[(0, record), (1, other)]));
    let expected = [
        (
            0,
            record.ns,
            Some(Direction::Outgoing),
            1514,
            b"five!".to_vec(),
        ),
        (1, record.ns, Some(Direction::Incoming), 1514, vec![]),
    ];
    assert_eq!(packets, expected);
    let interfaces = interfaces.expect("whole");
    assert_eq!(interfaces.len(), 2);
    assert_eq!(interfaces[0].name.as_deref(), Some("lo"));
    assert_eq!(interfaces[0].resolution, Resolution::NANOSECONDS);
    assert!(interfaces[0].resolution.has_nanoseconds());
    assert_eq!(
        (interfaces[0].snap, interfaces[0].link),
        (128, LinkType::Ethernet)
    );
    assert_eq!(interfaces[0].counts, Counts::default());
    assert_eq!(interfaces[1].link, LinkType::Raw);
    let counts = Counts {
        received: Some(70_000_000_000),
        dropped_by_device: None,
        dropped_by_system: Some(3),
    };
    assert_eq!(interfaces[1].counts, counts);
}

#[test]
fn a_later_count_that_is_less_takes_nothing_back() {
    let mut writer = Writer::new(vec![], "tompion", "", &[LO]).expect("a writer");
    for dropped in [7, 40, 2] {
        let lost = TapStatistics {
            passed: 100 + dropped,
            dropped,
        };
        writer.statistics(0, 9, &lost).expect("statistics");
    }
    let (_, interfaces) = all(&writer.finish().expect("an end"));
    let counts = interfaces.expect("whole")[0].counts;
    assert_eq!(
        (counts.received, counts.dropped_by_system),
        (Some(140), Some(40))
    );
}

#[test]
fn what_no_capture_can_hold_is_not_written() {
    let mut writer = Writer::new(vec![], "tompion", "", &[LO]).expect("a writer");
    let record = Record {
        ns: -1,
        direction: Direction::Incoming,
        length: 0,
        bytes: b"",
    };
    assert!(matches!(
        writer.packet(0, &record),
        Err(WriteError::TooEarly)
    ));
    assert!(matches!(
        writer.packet(1, &record),
        Err(WriteError::NoInterface(1))
    ));
    let long = "x".repeat(70_000);
    let refused = Writer::new(vec![], "tompion", &long, &[LO]);
    assert!(matches!(refused, Err(WriteError::TooLong)));
}

/// A block put together by hand after the draft, in either order.
fn block(kind: u32, body: &[u8], is_big: bool) -> Vec<u8> {
    let number = |n: u32| match is_big {
        true => n.to_be_bytes(),
        false => n.to_le_bytes(),
    };
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = number(12 + body.len() as u32);
    [&number(kind)[..], &length, &body, &length].concat()
}

/// A file by hand: a section of one interface with this option of its resolution, and a packet.
fn by_hand(is_big: bool, resolution: Option<u8>, steps: u64) -> Vec<u8> {
    let half = |n: u16| match is_big {
        true => n.to_be_bytes().to_vec(),
        false => n.to_le_bytes().to_vec(),
    };
    let word = |n: u32| match is_big {
        true => n.to_be_bytes().to_vec(),
        false => n.to_le_bytes().to_vec(),
    };
    let section = [word(0x1a2b_3c4d), half(1), half(0), vec![0xff; 8]].concat();
    let mut interface = [half(1), half(0), word(65_535)].concat();
    interface.extend([half(2), half(3), b"em1\0".to_vec()].concat());
    if let Some(resolution) = resolution {
        interface.extend([half(9), half(1), vec![resolution, 0, 0, 0]].concat());
        interface.extend([half(0), half(0)].concat());
    }
    let packet = [
        word(0),
        word((steps >> 32) as u32),
        word(steps as u32),
        word(3),
        word(60),
        b"abc".to_vec(),
    ]
    .concat();
    [
        block(0x0a0d_0d0a, &section, is_big),
        block(1, &interface, is_big),
        // Of a program that is not known here.
        block(0x8000_0001, b"whatever", is_big),
        block(6, &packet, is_big),
        // A packet without a stamp.
        block(3, &[word(3), b"xyz".to_vec()].concat(), is_big),
    ]
    .concat()
}

#[test]
fn files_of_either_order_and_of_any_resolution_are_read() {
    const S: i64 = 1_000_000_000;
    let cases = [
        (None, 5_000_001, 5 * S + 1000, Resolution::MICROSECONDS),
        (Some(9), 5_000_000_001, 5 * S + 1, Resolution::NANOSECONDS),
        (
            Some(3),
            5001,
            5 * S + 1_000_000,
            Resolution { per_second: 1000 },
        ),
        (
            Some(0x80 | 32),
            5 << 32 | 1 << 31,
            5 * S + S / 2,
            Resolution {
                per_second: 1 << 32,
            },
        ),
        (Some(0), 5, 5 * S, Resolution { per_second: 1 }),
    ];
    for is_big in [false, true] {
        for (option, steps, ns, resolution) in cases {
            let bytes = by_hand(is_big, option, steps);
            let (packets, interfaces) = all(&bytes);
            assert_eq!(packets, [(0, ns, None, 60, b"abc".to_vec())], "{option:?}");
            let interfaces = interfaces.expect("whole");
            assert_eq!(interfaces[0].name.as_deref(), Some("em1"));
            assert_eq!(interfaces[0].resolution, resolution);
            let mut reader = Reader::new(&bytes[..]).expect("a capture");
            while reader.next_packet().expect("whole").is_some() {}
            assert_eq!((reader.skipped(), reader.unstamped()), (1, 1));
        }
    }
    assert!(!Resolution::MICROSECONDS.has_nanoseconds());
}

#[test]
fn a_second_section_has_interfaces_of_its_own() {
    let bytes = [by_hand(false, None, 1), by_hand(true, Some(9), 1)].concat();
    let (packets, interfaces) = all(&bytes);
    let places: Vec<(usize, i64)> = packets.iter().map(|p| (p.0, p.1)).collect();
    assert_eq!(places, [(0, 1000), (1, 1)]);
    assert_eq!(interfaces.expect("whole").len(), 2);
}

#[test]
fn a_file_that_is_cut_off_says_where_and_gives_what_is_whole() {
    let record = Record {
        ns: 7,
        direction: Direction::Incoming,
        length: 5,
        bytes: b"whole",
    };
    let bytes = written(&[(0, record), (0, record)]);
    let mut ends = vec![];
    for end in 0..bytes.len() {
        let (packets, rest) = all(&bytes[..end]);
        match rest {
            Ok(_) => ends.push((end, packets.len())),
            Err(ReadError::CutOff { at }) => assert!(at < end as u64),
            Err(ReadError::NotACapture) => assert!(end < 4),
            Err(other) => panic!("{end}: {other}"),
        }
    }
    // Only between blocks it looks whole: section, two interfaces, two packets.
    let packets: Vec<usize> = ends.iter().map(|(_, packets)| *packets).collect();
    assert_eq!(packets, [0, 0, 0, 1, 2]);
}

#[test]
fn lengths_that_lie_are_refused() {
    let good = by_hand(false, None, 1);
    let at = good.len() - 20 - 36;
    // The packet's block: its length in front, behind, and that of its bytes.
    for (offset, value, is_damage) in [
        (4, 3u32, true),
        (4, 8, true),
        (4, 0, true),
        (32, 44, true),
        (20, 0xffff_fff0, true),
        (20, 5, true),
        (8, 7, true),
        (4, 0xffff_fffc, false),
    ] {
        let mut bad = good.clone();
        bad[at + offset..][..4].copy_from_slice(&value.to_le_bytes());
        match (all(&bad).1, is_damage) {
            (Err(ReadError::Damaged { at: found }), true) => assert_eq!(found, at as u64),
            (Err(ReadError::TooLarge { at: found, .. }), false) => assert_eq!(found, at as u64),
            (other, _) => panic!("{offset} {value}: {other:?}"),
        }
    }
}

#[test]
fn resolutions_and_stamps_of_no_clock_are_refused() {
    for option in [20, 0x7f, 0x80 | 64, 0xff] {
        let refused = all(&by_hand(false, Some(option), 1)).1;
        assert!(matches!(refused, Err(ReadError::Stamp { .. })), "{option}");
    }
    let refused = all(&by_hand(false, Some(0), u64::MAX)).1;
    assert!(matches!(refused, Err(ReadError::Stamp { .. })));
}

#[test]
fn interfaces_without_end_are_refused() {
    let mut bytes = by_hand(false, None, 1);
    let interface = block(1, &[1, 0, 0, 0, 0, 0, 0, 0], false);
    for _ in 0..MOST_INTERFACES {
        bytes.extend(&interface);
    }
    let refused = all(&bytes).1;
    assert!(matches!(refused, Err(ReadError::TooManyInterfaces)));
}

#[test]
fn classic_captures_are_read() {
    for (magic, parts, ns) in [
        (0xa1b2_c3d4u32, 7u32, 5_000_007_000),
        (0xa1b2_3c4d, 7, 5_000_000_007),
    ] {
        for is_big in [false, true] {
            let number = |n: u32| match is_big {
                true => n.to_be_bytes(),
                false => n.to_le_bytes(),
            };
            let half = |n: u16| match is_big {
                true => n.to_be_bytes(),
                false => n.to_le_bytes(),
            };
            let mut bytes = number(magic).to_vec();
            bytes.extend([half(2), half(4)].concat());
            bytes.extend([number(0), number(0), number(65_535), number(1)].concat());
            let header = bytes.len();
            bytes.extend([number(5), number(parts), number(3), number(60)].concat());
            bytes.extend(b"abc");
            let (packets, interfaces) = all(&bytes);
            assert_eq!(packets, [(0, ns, None, 60, b"abc".to_vec())]);
            assert_eq!(interfaces.expect("whole")[0].link, LinkType::Ethernet);
            for end in header + 1..bytes.len() {
                let cut = all(&bytes[..end]).1;
                assert!(matches!(cut, Err(ReadError::CutOff { at: 24 })), "{end}");
            }
            let mut large = bytes.clone();
            large[header + 8..header + 12].copy_from_slice(&number(u32::MAX));
            assert!(matches!(
                all(&large).1,
                Err(ReadError::TooLarge { at: 24, .. })
            ));
        }
    }
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    for bytes in [&b""[..], b"\n\r\r", b"PK\x03\x04 and so on", &[0; 64]] {
        let refused = all(bytes).1;
        assert!(matches!(refused, Err(ReadError::NotACapture)), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn any_packets_are_read_as_they_were_written(packets in prop::collection::vec((0usize..2, 0..i64::MAX, any::<bool>(), any::<u32>(), prop::collection::vec(any::<u8>(), 0..70)), 0..8)) {
        let expected: Vec<Read> = packets.into_iter().map(|(interface, ns, is_out, length, bytes)| {
            let direction = match is_out {
                true => Direction::Outgoing,
                false => Direction::Incoming,
            };
            (interface, ns, Some(direction), length, bytes)
        }).collect();
        let records: Vec<(usize, Record<'_>)> = expected.iter().map(|(interface, ns, direction, length, bytes)| {
            let record = Record { ns: *ns, direction: direction.expect("written"), length: *length, bytes };
            (*interface, record)
        }).collect();
        let (packets, rest) = all(&written(&records));
        prop_assert!(rest.is_ok());
        prop_assert_eq!(packets, expected);
    }

    #[test]
    fn damage_ends_in_an_error_or_in_packets(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), is_big in any::<bool>()) {
        let mut bytes = by_hand(is_big, Some(9), 77);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let (packets, _) = all(&bytes);
        prop_assert!(packets.len() <= 2);
    }
}
