//! The sender against our own reflector, and against replies made by hand.

mod accounts;
mod mutated;
mod options;

use super::*;
use crate::reflector::Reflector;
use crate::reflector::config::{ReflectorConfig, SharedKey, Trust};
use crate::reflector::exchange::Arrival;
use crate::sender::config::{Ask, Padding};
use crate::time_format::TimeFormat;

pub(super) const NOW: i64 = 1_790_000_000_000_000_000;

pub(super) fn key() -> Key {
    Key::new(b"sixteen bytes or more").expect("a key")
}

pub(super) fn sender(config: SenderConfig) -> Sender {
    Sender::new(config).expect("a sender")
}

pub(super) const ALL: Ask = Ask {
    timestamp_information: true,
    dscp: Some(0),
    direct_measurement: true,
    follow_up: true,
    tompion: true,
    control: None,
    arrivals: 0,
};

/// The next request, sent at a moment.
pub(super) fn send(sender: &mut Sender, sent_utc_ns: i64) -> Vec<u8> {
    let mut out = [0; 65_536];
    let request = sender.prepare(&mut out, 0).expect("room");
    assert!(sender.stamp(&request, &mut out, sent_utc_ns));
    out[..request.bytes].to_vec()
}

pub(super) fn open_reflector() -> Reflector {
    Reflector::new(ReflectorConfig::default()).expect("a reflector")
}

pub(super) fn keyed_reflector() -> Reflector {
    let shared = SharedKey {
        key: key(),
        ssid: None,
        control: None,
    };
    Reflector::new(ReflectorConfig {
        trust: Trust::Keyed(vec![shared]),
        ..ReflectorConfig::default()
    })
    .expect("a reflector")
}

/// The reply to a request that comes at T2, sent 30 us later, and its number.
pub(super) fn reflect(
    reflector: &mut Reflector,
    datagram: &[u8],
    received_utc_ns: i64,
) -> (u32, Vec<u8>) {
    let arrival = Arrival {
        datagram,
        source: "127.0.0.1:40000".parse().expect("an address"),
        received: Stamp::kernel(received_utc_ns),
        ttl: Some(64),
        traffic_class: Some(0),
        // As time goes on, whoever asks often is within its rate.
        now_ns: u64::try_from(received_utc_ns).expect("since 1970"),
    };
    let mut out = [0; 65_536];
    let reply = reflector.reflect(&arrival, &mut out).expect("a reply");
    assert!(reflector.stamp(&reply, &mut out, received_utc_ns + 30_000));
    (reply.number, out[..reply.bytes].to_vec())
}

/// What a first reply says.
pub(super) fn reply(taken: Taken) -> Answer {
    match taken {
        Taken::Reply(answer) => answer,
        other => panic!("no reply: {other:?}"),
    }
}

#[test]
fn a_round_trip_has_all_four_stamps() {
    for (sender_format, reflector_format) in [
        (TimeFormat::Ntp, TimeFormat::Ntp),
        (TimeFormat::Ptp, TimeFormat::Ntp),
        (TimeFormat::Ntp, TimeFormat::Ptp),
    ] {
        let mut sender = sender(SenderConfig {
            format: sender_format,
            ..SenderConfig::default()
        });
        let mut reflector = Reflector::new(ReflectorConfig {
            format: reflector_format,
            ..ReflectorConfig::default()
        })
        .expect("a reflector");
        let request = send(&mut sender, NOW + 1);
        // The reflector's clock is an hour ahead.
        let there = NOW + 3_600_000_000_007;
        let (_, bytes) = reflect(&mut reflector, &request, there);
        let received = Stamp::kernel(NOW + 100_000);
        let answer = reply(sender.take(&bytes, received));
        assert_eq!((answer.sequence, answer.reply_sequence), (0, 0));
        assert_eq!(answer.sent_utc_ns, NOW + 1);
        assert_eq!(answer.reflector_received_utc_ns, Some(there));
        assert_eq!(answer.reflector_sent_utc_ns, Some(there + 30_000));
        assert_eq!(answer.received, received);
        assert_eq!(answer.ttl, Some(64));
        assert!(!answer.reflector_error.synchronized);
        assert!(answer.oddities.is_empty(), "{:?}", answer.oddities);
    }
}

#[test]
fn a_request_is_as_long_as_it_is_asked_to_be_or_the_mistake_is_told() {
    for key in [None, Some(key())] {
        let least = sender(SenderConfig {
            key: key.clone(),
            ask: ALL,
            ..SenderConfig::default()
        })
        .request_bytes();
        for wanted in least - 1..least + 300 {
            let made = Sender::new(SenderConfig {
                key: key.clone(),
                ask: ALL,
                bytes: Some(wanted),
                ..SenderConfig::default()
            });
            match made {
                Ok(mut sender) => assert_eq!(send(&mut sender, NOW).len(), wanted),
                Err(SenderError::Length { padded, .. }) => {
                    assert!(wanted != least && wanted < padded);
                }
                Err(other) => panic!("{other}"),
            }
        }
        let longest = Sender::new(SenderConfig {
            bytes: Some(65_508),
            ..SenderConfig::default()
        });
        assert!(matches!(longest, Err(SenderError::Length { .. })));
    }
}

#[test]
fn what_no_packet_can_have_is_refused() {
    let refused = |config| Sender::new(config).expect_err("a mistake");
    let config = SenderConfig::default;
    let none = SenderConfig {
        ssid: 0,
        ..config()
    };
    assert!(matches!(refused(none), SenderError::NoSsid));
    let mut large = config();
    large.ask.dscp = Some(64);
    assert!(matches!(refused(large), SenderError::Dscp(64)));
    let two = SenderConfig {
        key: Some(key()),
        tlv_key: Some(key()),
        ..config()
    };
    assert!(matches!(refused(two), SenderError::TwoKeys));
    let mut out = [0; 43];
    assert_eq!(sender(config()).prepare(&mut out, 0), None);
}

#[test]
fn padding_is_zeros_or_looks_random() {
    let bytes = |padding| {
        let mut sender = sender(SenderConfig {
            bytes: Some(1044),
            padding,
            ..SenderConfig::default()
        });
        send(&mut sender, NOW)[48..].to_vec()
    };
    assert_eq!(bytes(Padding::Zeros), [0; 996]);
    let (one, other) = (bytes(Padding::Random(1)), bytes(Padding::Random(2)));
    assert_ne!(one, other);
    let ones: u32 = one.iter().map(|byte| byte.count_ones()).sum();
    // Half of 7968, within six standard deviations.
    assert!((3716..4252).contains(&ones), "{ones}");
}

#[test]
fn round_trips_go_on_where_seconds_begin_again() {
    // NTP's in 2036, PTP's in 2106.
    for (format, wrap) in [
        (TimeFormat::Ntp, 2_085_978_496_000_000_000),
        (TimeFormat::Ptp, 4_294_967_296_000_000_000),
    ] {
        let mut sender = sender(SenderConfig {
            format,
            key: Some(key()),
            ask: ALL,
            ..SenderConfig::default()
        });
        let shared = SharedKey {
            key: key(),
            ssid: None,
            control: None,
        };
        let mut reflector = Reflector::new(ReflectorConfig {
            trust: Trust::Keyed(vec![shared]),
            format,
            ..ReflectorConfig::default()
        })
        .expect("a reflector");
        for step in -50..50 {
            let at = wrap + step * 40_000_000 + 7;
            let request = send(&mut sender, at);
            let (number, bytes) = reflect(&mut reflector, &request, at + 11_000);
            assert!(reflector.sent(number, Stamp::kernel(at + 90_000)));
            let answer = reply(sender.take(&bytes, Stamp::user(at + 100_000)));
            assert_eq!(answer.sent_utc_ns, at);
            assert_eq!(answer.reflector_received_utc_ns, Some(at + 11_000));
            assert_eq!(answer.reflector_sent_utc_ns, Some(at + 41_000));
            if step > -50 {
                let follow_up = answer.options.follow_up.given().flatten().expect("known");
                assert_eq!(follow_up.sent_utc_ns, at - 40_000_000 + 90_000);
            }
        }
    }
}
