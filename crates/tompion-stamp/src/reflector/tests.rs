//! The reflector against requests written by hand; each file has one of its concerns.

mod control;
mod loops;
mod mutated;
mod options;
mod rates;
mod replays;
mod sessions;

use super::*;
use crate::bytes::{put, u16_at, u32_at, u64_at};
use crate::key::Key;
use crate::packet::is_authentic;
use crate::reflector::config::{ControlLimits, SharedKey};
use crate::stamp::StampKind;
use crate::time_format::TimeFormat;
use crate::tlv::{Step, Steps, flags, kinds};

pub(super) const NOW: i64 = 1_790_000_000_000_000_000;

pub(super) fn key() -> Key {
    Key::new(b"sixteen bytes or more").expect("a key")
}

pub(super) fn keyed(control: Option<ControlLimits>) -> ReflectorConfig {
    ReflectorConfig {
        trust: Trust::Keyed(vec![SharedKey {
            key: key(),
            ssid: None,
            control,
        }]),
        ..ReflectorConfig::default()
    }
}

pub(super) fn reflector(config: ReflectorConfig) -> Reflector {
    Reflector::new(config).expect("a reflector")
}

pub(super) fn source(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// A request with these bytes behind its base, and with the right tag where the mode has one.
pub(super) fn request(mode: Mode, sequence: u32, rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; mode.base_bytes()];
    let fields = RequestFields {
        sequence,
        time: TimeFormat::Ntp.encode(NOW - 1_000_000 + i64::from(sequence)),
        error: ErrorEstimate::new(true, TimeFormat::Ntp, 1_000),
        ssid: 77,
    };
    assert!(fields.write(mode, &mut packet));
    packet.extend(rest);
    if mode == Mode::Authenticated {
        assert!(seal(&key(), &mut packet));
    }
    packet
}

/// A TLV as a sender has it.
pub(super) fn tlv(kind: u8, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len())
        .expect("a short value")
        .to_be_bytes();
    [&[0x80, kind, length[0], length[1]], value].concat()
}

/// TLVs and the HMAC TLV that covers them.
pub(super) fn sealed(sequence: u32, tlvs: &[u8]) -> Vec<u8> {
    let tag = key().tag(&[&sequence.to_be_bytes(), tlvs]);
    [tlvs, &tlv(kinds::HMAC, &tag)].concat()
}

pub(super) fn arrival(datagram: &[u8]) -> Arrival<'_> {
    Arrival {
        datagram,
        source: source("192.0.2.1:40000"),
        received: Stamp::kernel(NOW),
        ttl: Some(63),
        traffic_class: Some((46 << 2) | 1),
        now_ns: 5_000_000_000,
    }
}

/// The reply to a datagram, stamped half a millisecond later.
pub(super) fn answer(
    reflector: &mut Reflector,
    arrival: &Arrival<'_>,
) -> Result<(Reply, Vec<u8>), Silence> {
    let mut out = [0; 65_536];
    let reply = reflector.reflect(arrival, &mut out)?;
    assert!(reflector.stamp(&reply, &mut out, arrival.received.utc_ns + 500_000));
    Ok((reply, out[..reply.bytes].to_vec()))
}

/// The reply to a datagram that has one.
pub(super) fn replied(reflector: &mut Reflector, datagram: &[u8]) -> Vec<u8> {
    answer(reflector, &arrival(datagram)).expect("a reply").1
}

#[test]
fn an_open_request_has_a_reply_with_all_its_fields() {
    let mut reflector = reflector(ReflectorConfig::default());
    let datagram = request(Mode::Unauthenticated, 9, &[]);
    let bytes = replied(&mut reflector, &datagram);
    let sent = RequestFields::read(Mode::Unauthenticated, &datagram).expect("a request");
    let reply = ReplyFields::read(Mode::Unauthenticated, &bytes).expect("a reply");
    let expected = ReplyFields {
        // The reflector's own count.
        sequence: 0,
        time: TimeFormat::Ntp.encode(NOW + 500_000),
        error: ErrorEstimate::new(false, TimeFormat::Ntp, 500_000_000),
        ssid: 77,
        received: TimeFormat::Ntp.encode(NOW),
        sender_sequence: 9,
        sender_time: sent.time,
        sender_error: sent.error,
        sender_ttl: 63,
    };
    assert_eq!(reply, expected);
    assert_eq!(bytes.len(), datagram.len());
}

#[test]
fn a_keyed_request_has_a_keyed_reply() {
    let mut reflector = reflector(keyed(None));
    let datagram = request(Mode::Authenticated, 9, &[]);
    let bytes = replied(&mut reflector, &datagram);
    assert_eq!(bytes.len(), 112);
    assert!(is_authentic(&key(), &bytes));
    let reply = ReplyFields::read(Mode::Authenticated, &bytes).expect("a reply");
    assert_eq!(reply.sender_sequence, 9);
    assert_eq!(reply.time, TimeFormat::Ntp.encode(NOW + 500_000));
}

#[test]
fn a_reflector_without_state_has_the_numbers_of_its_requests_and_its_own_format() {
    let mut reflector = reflector(ReflectorConfig {
        stateful: false,
        format: TimeFormat::Ptp,
        clock: ClockAccount {
            synchronized: true,
            error_ns: 1_000_000,
            ..ClockAccount::default()
        },
        ..ReflectorConfig::default()
    });
    let datagram = request(Mode::Unauthenticated, 9, &tlv(kinds::FOLLOW_UP, &[9; 16]));
    let bytes = replied(&mut reflector, &datagram);
    let reply = ReplyFields::read(Mode::Unauthenticated, &bytes).expect("a reply");
    assert_eq!(reply.sequence, 9);
    assert_eq!(reply.error.to_wire(), 0xcf84);
    assert_eq!(reply.received, TimeFormat::Ptp.encode(NOW));
    // RFC 8972, section 4.7: zeros without state.
    assert_eq!(bytes[44..], [&[0, 7, 0, 16][..], &[0; 16]].concat());
    assert!(!reflector.sent(0, Stamp::kernel(NOW)));
    assert_eq!(reflector.counters().stamps_unclaimed, 1);
}

#[test]
fn a_clock_that_changes_is_told() {
    let mut reflector = reflector(ReflectorConfig::default());
    reflector.set_clock(ClockAccount {
        synchronized: true,
        error_ns: 1_000_000,
        ..ClockAccount::default()
    });
    let bytes = replied(&mut reflector, &request(Mode::Unauthenticated, 0, &[]));
    assert_eq!(u16_at(&bytes, 12), 0x8f84);
}

#[test]
fn what_has_no_reply_says_why() {
    let open = request(Mode::Unauthenticated, 0, &[]);
    let auth = request(Mode::Authenticated, 0, &[]);
    let from = |datagram, text| Arrival {
        source: source(text),
        ..arrival(datagram)
    };
    let mut plain = reflector(ReflectorConfig::default());
    let silence = |reflector: &mut Reflector, arrival: &Arrival<'_>| {
        answer(reflector, arrival).expect_err("silence")
    };
    assert_eq!(
        silence(&mut plain, &arrival(&open[..43])),
        Silence::TooShort
    );
    for bad in [
        "192.0.2.1:0",
        "192.0.2.1:7",
        "192.0.2.1:53",
        "0.0.0.0:5000",
        "255.255.255.255:5000",
        "224.0.0.1:5000",
        "[ff02::1]:5000",
        "[::ffff:224.0.0.1]:5000",
    ] {
        assert_eq!(
            silence(&mut plain, &from(&open, bad)),
            Silence::BadSource,
            "{bad}"
        );
    }
    assert!(answer(&mut plain, &from(&open, "192.0.2.1:862")).is_ok());
    let mut small = [0; 43];
    let refused = plain.reflect(&arrival(&open), &mut small);
    assert_eq!(refused.err(), Some(Silence::NoRoom));

    let mut locked = reflector(keyed(None));
    assert_eq!(
        silence(&mut locked, &arrival(&auth[..111])),
        Silence::TooShort
    );
    let mut wrong = auth.clone();
    wrong[111] ^= 1;
    assert_eq!(silence(&mut locked, &arrival(&wrong)), Silence::WrongTag);
    let mut other = reflector(ReflectorConfig {
        trust: Trust::Keyed(vec![SharedKey {
            key: key(),
            ssid: Some(78),
            control: None,
        }]),
        ..ReflectorConfig::default()
    });
    assert_eq!(silence(&mut other, &arrival(&auth)), Silence::NoKey);
    for reflector in [plain, locked, other] {
        let counters = reflector.counters();
        assert_eq!(counters.received, counters.replied + counters.silences());
    }
}

#[test]
fn the_key_is_that_of_the_session() {
    let other = Key::new(b"another key than that").expect("a key");
    let shared = |key: Key, ssid| SharedKey {
        key,
        ssid,
        control: None,
    };
    let mut reflector = reflector(ReflectorConfig {
        trust: Trust::Keyed(vec![shared(other.clone(), None), shared(key(), Some(77))]),
        ..ReflectorConfig::default()
    });
    let mut datagram = request(Mode::Authenticated, 0, &[]);
    assert!(is_authentic(&key(), &replied(&mut reflector, &datagram)));
    put(&mut datagram, 26, &78_u16.to_be_bytes());
    assert!(seal(&other, &mut datagram));
    assert!(is_authentic(&other, &replied(&mut reflector, &datagram)));
}

#[test]
fn a_reflector_with_keys_needs_one_and_one_without_memory_is_none() {
    let none = ReflectorConfig {
        trust: Trust::Keyed(Vec::new()),
        ..ReflectorConfig::default()
    };
    assert!(matches!(Reflector::new(none), Err(ReflectorError::NoKeys)));
}

#[test]
fn a_request_without_an_error_estimate_is_answered_and_counted() {
    let mut reflector = reflector(ReflectorConfig::default());
    let mut datagram = request(Mode::Unauthenticated, 0, &[]);
    put(&mut datagram, 12, &[0, 0]);
    let bytes = replied(&mut reflector, &datagram);
    assert_eq!(u16_at(&bytes, 36), 0);
    assert_eq!(reflector.counters().no_error_estimate, 1);
}
