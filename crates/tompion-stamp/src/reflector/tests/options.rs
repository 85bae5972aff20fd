//! What comes back for each TLV.

use super::*;
use crate::tlv::values::{ClockSource, Tompion};

/// The TLVs of a reply: flags, type, value.
fn tlvs(packet: &[u8], base: usize) -> Vec<(u8, u8, Vec<u8>)> {
    let mut steps = Steps::new(packet, base);
    let mut found = Vec::new();
    while let Step::Tlv { flags, kind, value } = steps.next(packet) {
        found.push((flags, kind, packet[value].to_vec()));
    }
    found
}

/// What an open reflector makes of these bytes behind the base packet.
fn open(rest: &[u8]) -> Vec<u8> {
    let mut reflector = reflector(ReflectorConfig {
        clock: ClockAccount {
            source: ClockSource::Ntp,
            ..ClockAccount::default()
        },
        ..ReflectorConfig::default()
    });
    let datagram = request(Mode::Unauthenticated, 0, rest);
    let bytes = replied(&mut reflector, &datagram);
    assert_eq!(bytes.len(), datagram.len());
    bytes[44..].to_vec()
}

#[test]
fn padding_comes_back_as_it_was() {
    let padding = tlv(kinds::EXTRA_PADDING, &[1, 2, 3, 0, 0]);
    assert_eq!(
        open(&padding),
        [&[0, 1, 0, 5][..], &[1, 2, 3, 0, 0]].concat()
    );
    // That of TWAMP senders: zeros, whatever their number, and what is no TLV.
    for count in 0..30 {
        assert_eq!(open(&vec![0; count]), vec![0; count]);
    }
    assert_eq!(open(&[9, 9, 9]), [9, 9, 9]);
}

#[test]
fn how_stamps_came_about_is_told() {
    let bytes = open(&tlv(kinds::TIMESTAMP_INFORMATION, &[9; 4]));
    // NTP, by software, both ways.
    assert_eq!(bytes, [0, 3, 0, 4, 1, 2, 1, 2]);
}

#[test]
fn the_class_of_service_is_told_and_used_where_it_is_permitted() {
    let mut reflector = reflector(ReflectorConfig {
        dscp_permitted: 1 | (1 << 10),
        ..ReflectorConfig::default()
    });
    for (wanted, class, dscp, expected) in [
        // DSCP2 and ECN of the request's header; RP where it was not permitted.
        (
            10_u8,
            Some((46 << 2) | 1),
            Some(10),
            [0b0010_1010, 0b1110_0100],
        ),
        (
            11,
            Some((46 << 2) | 1),
            Some(46),
            [0b0010_1110, 0b1110_0101],
        ),
    ] {
        let datagram = request(
            Mode::Unauthenticated,
            0,
            &tlv(kinds::CLASS_OF_SERVICE, &[wanted << 2, 0, 0, 0]),
        );
        let came = Arrival {
            traffic_class: class,
            ..arrival(&datagram)
        };
        let (reply, bytes) = answer(&mut reflector, &came).expect("a reply");
        assert_eq!(reply.dscp, dscp);
        assert_eq!(
            bytes[44..],
            [&[0, 4, 0, 4][..], &expected, &[0, 0]].concat()
        );
    }
    // What nobody knows is not told.
    let datagram = request(
        Mode::Unauthenticated,
        0,
        &tlv(kinds::CLASS_OF_SERVICE, &[10 << 2, 0, 0, 0]),
    );
    let came = Arrival {
        traffic_class: None,
        ..arrival(&datagram)
    };
    let (reply, bytes) = answer(&mut reflector, &came).expect("a reply");
    assert_eq!(reply.dscp, None);
    assert_eq!(bytes[44..], [0x80, 4, 0, 4, 10 << 2, 0, 0, 0]);
}

#[test]
fn access_reports_come_back_and_invalid_ones_with_u() {
    for (access, flags) in [(1, 0), (2, 0), (0, 0x80), (3, 0x80)] {
        let bytes = open(&tlv(kinds::ACCESS_REPORT, &[access << 4, 1, 0, 0]));
        assert_eq!(bytes, [flags, 6, 0, 4, access << 4, 1, 0, 0]);
    }
}

#[test]
fn what_is_not_served_comes_back_with_u_and_the_rest_is_served() {
    let information = tlv(kinds::TIMESTAMP_INFORMATION, &[0; 4]);
    for kind in [
        0,
        kinds::LOCATION,
        9,
        10,
        11,
        13,
        100,
        239,
        240,
        252,
        253,
        254,
        255,
    ] {
        for value in [&[9; 4][..], &[9; 24], &[0; 24]] {
            let bytes = open(&[tlv(kind, value), information.clone()].concat());
            let found = tlvs(&[&[1; 44][..], &bytes].concat(), 44);
            assert_eq!(found.len(), 2);
            assert_eq!(found[0], (flags::UNRECOGNIZED, kind, value.to_vec()));
            assert_eq!(found[1], (0, 3, vec![1, 2, 1, 2]));
        }
    }
}

#[test]
fn tompions_own_comes_back_with_u_where_it_is_not_told() {
    let ours = tlv(kinds::PRIVATE, &Tompion::default().to_bytes());
    let mut silent = reflector(ReflectorConfig {
        tells_software: false,
        ..ReflectorConfig::default()
    });
    let datagram = request(Mode::Unauthenticated, 0, &ours);
    assert_eq!(replied(&mut silent, &datagram)[44..], ours);
}

#[test]
fn reserved_flags_are_cleared() {
    let mut padding = tlv(kinds::EXTRA_PADDING, &[7; 4]);
    padding[0] = 0xff;
    assert_eq!(open(&padding)[0], 0);
}

#[test]
fn what_is_malformed_has_m_and_what_follows_comes_back_as_it_was() {
    let information = tlv(kinds::TIMESTAMP_INFORMATION, &[0; 4]);
    for (kind, length) in [
        (kinds::LOCATION, 3),
        (kinds::TIMESTAMP_INFORMATION, 5),
        (kinds::CLASS_OF_SERVICE, 3),
        (kinds::DIRECT_MEASUREMENT, 13),
        (kinds::ACCESS_REPORT, 0),
        (kinds::REPLY_CONTROL, 11),
        (252, 3),
        (254, 0),
    ] {
        let bad = tlv(kind, &vec![9; length]);
        let bytes = open(&[information.clone(), bad.clone(), information.clone()].concat());
        assert_eq!(bytes[..8], [0, 3, 0, 4, 1, 2, 1, 2]);
        assert_eq!(bytes[8], flags::MALFORMED, "type {kind}");
        assert_eq!(bytes[9..8 + bad.len()], bad[1..]);
        assert_eq!(bytes[8 + bad.len()..], information);
    }
}

#[test]
fn a_follow_up_of_another_length_has_its_fields_zeroed() {
    assert_eq!(
        open(&tlv(kinds::FOLLOW_UP, &[9; 3])),
        [0x40, 7, 0, 3, 0, 0, 0]
    );
    let bytes = open(&tlv(kinds::FOLLOW_UP, &[9; 17]));
    assert_eq!(bytes[..4], [0x40, 7, 0, 17]);
    assert_eq!(bytes[4..], [&[0; 12][..], &[9; 5]].concat());
}

#[test]
fn what_goes_beyond_the_packet_has_m() {
    let information = tlv(kinds::TIMESTAMP_INFORMATION, &[0; 4]);
    let bytes = open(&[&information[..], &[0x80, 3, 0, 5, 1, 2, 3, 4]].concat());
    assert_eq!(bytes[..8], [0, 3, 0, 4, 1, 2, 1, 2]);
    assert_eq!(bytes[8..], [0x40, 3, 0, 5, 1, 2, 3, 4]);
}

/// The reply to sealed TLVs in one mode, changed by `change` before they are sent.
fn keyed_reply(mode: Mode, rest: &[u8]) -> Vec<u8> {
    let mut reflector = reflector(match mode {
        Mode::Authenticated => keyed(None),
        Mode::Unauthenticated => ReflectorConfig {
            trust: Trust::Anybody {
                tlv_key: Some(key()),
            },
            ..ReflectorConfig::default()
        },
    });
    // Another number than that of the request: the tag is over the packet's own.
    reflector.sessions.enter(
        SessionKey::new(source("192.0.2.1:40000"), 77),
        Session::default,
    );
    replied(&mut reflector, &request(mode, 3, rest))
}

const MODES: [Mode; 2] = [Mode::Unauthenticated, Mode::Authenticated];

#[test]
fn a_right_tag_of_the_tlvs_has_a_right_one_in_return() {
    let information = tlv(kinds::TIMESTAMP_INFORMATION, &[0; 4]);
    let padding = tlv(kinds::EXTRA_PADDING, &[5; 6]);
    for mode in MODES {
        let base = mode.base_bytes();
        for behind in [&[][..], &padding, &[0; 7]] {
            let rest = [sealed(3, &information), behind.to_vec()].concat();
            let bytes = keyed_reply(mode, &rest);
            let found = tlvs(&bytes, base);
            assert_eq!(found[0], (0, 3, vec![0, 2, 0, 2]));
            assert_eq!((found[1].0, found[1].1), (0, kinds::HMAC));
            let tag = key().tag(&[&bytes[..4], &bytes[base..base + 8]]);
            assert_eq!(found[1].2, tag);
        }
    }
}

#[test]
fn a_tag_that_is_wrong_missing_or_in_a_wrong_place_sets_i_on_all_and_nothing_is_used() {
    let information = tlv(kinds::TIMESTAMP_INFORMATION, &[0; 4]);
    let right = sealed(3, &information);
    let mut wrong = right.clone();
    *wrong.last_mut().expect("a tag") ^= 1;
    let mut changed = right.clone();
    changed[7] = 1;
    let twice = [right.clone(), right[8..].to_vec()].concat();
    let cases = [
        (wrong, true),
        (changed, true),
        (sealed(4, &information), true),
        ([right.clone(), information.clone()].concat(), true),
        (twice, true),
        (
            [information.clone(), tlv(kinds::HMAC, &[1; 15])].concat(),
            true,
        ),
        // Only where all have to have one.
        (information.clone(), false),
    ];
    for mode in MODES {
        let base = mode.base_bytes();
        for (rest, always) in &cases {
            if !always && mode == Mode::Unauthenticated {
                continue;
            }
            let bytes = keyed_reply(mode, rest);
            let (sent, found) = (
                tlvs(&[&vec![1; base], &rest[..]].concat(), base),
                tlvs(&bytes, base),
            );
            assert_eq!(sent.len(), found.len());
            for (sent, found) in sent.iter().zip(&found) {
                assert_eq!(found.0, flags::INTEGRITY);
                assert_eq!((&sent.1, &sent.2), (&found.1, &found.2));
            }
        }
    }
}

#[test]
fn padding_alone_needs_no_tag_and_a_tag_without_a_key_fails() {
    let padding = tlv(kinds::EXTRA_PADDING, &[5; 6]);
    let bytes = keyed_reply(Mode::Authenticated, &padding);
    assert_eq!(tlvs(&bytes, 112), [(0, 1, vec![5; 6])]);
    let bytes = open(&sealed(0, &padding));
    assert_eq!((bytes[0], bytes[10]), (flags::INTEGRITY, flags::INTEGRITY));
}

#[test]
fn what_is_malformed_before_a_right_tag_stops_there_and_the_tag_is_right_again() {
    let information = tlv(kinds::TIMESTAMP_INFORMATION, &[0; 4]);
    let bad = tlv(kinds::CLASS_OF_SERVICE, &[9; 5]);
    let rest = sealed(3, &[information.clone(), bad, information].concat());
    let bytes = keyed_reply(Mode::Authenticated, &rest);
    let found = tlvs(&bytes, 112);
    let seen: Vec<_> = found
        .iter()
        .map(|(flags, kind, _)| (*flags, *kind))
        .collect();
    assert_eq!(seen, [(0, 3), (0x40, 4), (0x80, 3), (0x80, 8)]);
    assert_eq!(found[3].2, key().tag(&[&bytes[..4], &bytes[112..137]]));
}
