//! Requests for longer or more replies.

use super::*;
use crate::tlv::values::{ReplyControl, TrainArrival, TrainArrivals};

const LIMITS: ControlLimits = ControlLimits {
    longest_bytes: 400,
    most_replies: 3,
    least_interval_ns: 1000,
};

/// After [`arrival`], in ns.
const SOON: u64 = 5_000_001_000;

fn control(bytes: u16, replies: u16, interval_ns: u32) -> Vec<u8> {
    let value = ReplyControl {
        bytes,
        replies,
        interval_ns,
        for_group: false,
    };
    tlv(kinds::REPLY_CONTROL, &value.to_bytes())
}

fn ask(limits: Option<ControlLimits>, tlvs: &[u8]) -> (Reflector, Reply, Vec<u8>) {
    let mut reflector = reflector(keyed(limits));
    let datagram = request(Mode::Authenticated, 0, &sealed(0, tlvs));
    let (reply, bytes) = answer(&mut reflector, &arrival(&datagram)).expect("a reply");
    (reflector, reply, bytes)
}

#[test]
fn nobody_else_gets_more_than_it_sent() {
    let mut open = reflector(ReflectorConfig::default());
    let datagram = request(Mode::Unauthenticated, 0, &control(9000, 100, 0));
    let (reply, bytes) = answer(&mut open, &arrival(&datagram)).expect("a reply");
    assert_eq!((bytes.len(), reply.repeats), (datagram.len(), 0));
    assert_eq!(bytes[44], flags::NOT_CONFORMANT);
    let mut out = [0; 9000];
    assert_eq!(
        open.repeat(&reply, &mut out, SOON).err(),
        Some(Silence::NoneWanted)
    );
    // With a key, but not the permission.
    let (reflector, reply, bytes) = ask(None, &control(400, 3, 1000));
    assert_eq!(
        (bytes.len(), reply.repeats, bytes[112]),
        (112 + 16 + 20, 0, 0x10)
    );
    assert_eq!(reflector.counters().control_refused, 1);
}

#[test]
fn who_may_gets_what_it_asks_for_within_the_limits() {
    let tlvs = [tlv(kinds::EXTRA_PADDING, &[7; 20]), control(399, 3, 1000)].concat();
    let (mut reflector, reply, bytes) = ask(Some(LIMITS), &tlvs);
    assert_eq!((bytes.len(), reply.bytes), (400, 400));
    assert_eq!((reply.repeats, reply.interval_ns), (2, 1000));
    // The padding has moved behind the tag.
    assert_eq!(
        (bytes[112], bytes[113], bytes[129]),
        (0, kinds::REPLY_CONTROL, kinds::HMAC)
    );
    assert_eq!(bytes[132..148], key().tag(&[&bytes[..4], &bytes[112..128]]));
    assert_eq!(bytes[148..152], [0, 1, 0, 248]);
    assert!(is_authentic(&key(), &bytes));

    let mut out = [0; 65_536];
    out[..400].copy_from_slice(&bytes);
    let second = reflector.repeat(&reply, &mut out, SOON).expect("a second");
    assert!(reflector.stamp(&second, &mut out, NOW));
    assert_eq!((u32_at(&out, 0), second.number, second.repeats), (1, 1, 1));
    assert_eq!(u64_at(&out, 16), TimeFormat::Ntp.encode(NOW));
    assert!(is_authentic(&key(), &out[..400]));
    assert_eq!(out[132..148], key().tag(&[&out[..4], &out[112..128]]));
    let third = reflector.repeat(&second, &mut out, SOON).expect("a third");
    assert_eq!(
        reflector.repeat(&third, &mut out, SOON).err(),
        Some(Silence::NoneWanted)
    );
    assert_eq!(reflector.counters().repeated, 2);
    assert!(reflector.sent(second.number, Stamp::kernel(NOW)));
}

#[test]
fn beyond_a_limit_there_is_one_reply_as_long_as_the_request() {
    let mut group = control(0, 1, 0);
    group[13] = 10;
    for tlvs in [
        control(401, 1, 0),
        control(0, 4, 1000),
        control(0, 2, 999),
        group,
    ] {
        let (_, reply, bytes) = ask(Some(LIMITS), &tlvs);
        assert_eq!((bytes.len(), reply.repeats, bytes[112]), (148, 0, 0x10));
    }
}

#[test]
fn a_shorter_reply_holds_what_it_has_to_hold() {
    let tlvs = [tlv(kinds::EXTRA_PADDING, &[7; 200]), control(0, 1, 0)].concat();
    let (_, _, bytes) = ask(Some(LIMITS), &tlvs);
    assert_eq!(bytes.len(), 112 + 16 + 20);
}

#[test]
fn who_wants_no_reply_has_none() {
    let mut reflector = reflector(keyed(Some(LIMITS)));
    let datagram = request(Mode::Authenticated, 0, &sealed(0, &control(0, 0, 0)));
    let silence = answer(&mut reflector, &arrival(&datagram)).expect_err("silence");
    assert_eq!(silence, Silence::NoneWanted);
}

#[test]
fn a_wrong_tag_of_the_tlvs_asks_for_nothing() {
    let mut reflector = reflector(keyed(Some(LIMITS)));
    let datagram = request(Mode::Authenticated, 0, &sealed(1, &control(400, 3, 1000)));
    let (reply, bytes) = answer(&mut reflector, &arrival(&datagram)).expect("a reply");
    assert_eq!((bytes.len(), reply.repeats, bytes[112]), (148, 0, 0x30));
}

#[test]
fn a_train_that_wants_no_reply_is_told_of_when_asked_for() {
    let mut reflector = reflector(ReflectorConfig::default());
    let train = |sequence: u32| request(Mode::Unauthenticated, sequence, &control(0, 0, 0));
    let sent = |reflector: &mut Reflector, sequence: u32, from: &str, at_ns: i64| {
        let datagram = train(sequence);
        let mut arrival = arrival(&datagram);
        arrival.source = source(from);
        arrival.received = Stamp::kernel(NOW + at_ns);
        let silence = reflector.reflect(&arrival, &mut [0; 256]).unwrap_err();
        assert_eq!(silence, Silence::NoneWanted);
    };
    let ours = "192.0.2.1:40000";
    for (sequence, at_ns) in [(0, 0), (1, 12_000), (3, 24_000), (1, 30_000)] {
        sent(&mut reflector, sequence, ours, at_ns);
    }
    sent(&mut reflector, 2, "192.0.2.2:40000", 5);
    let mut value = [0; TrainArrivals::bytes(5)];
    assert!(TrainArrivals::ask(&mut value, 0));
    let ask = |reflector: &mut Reflector, from: &str| {
        let datagram = request(Mode::Unauthenticated, 9, &tlv(kinds::PRIVATE, &value));
        let mut arrival = arrival(&datagram);
        arrival.source = source(from);
        let (reply, bytes) = answer(reflector, &arrival).expect("a reply");
        assert_eq!(reply.bytes, datagram.len());
        let told = TrainArrivals::read(&bytes[48..], 0).expect("an answer");
        let after = |a: Option<TrainArrival>| a.map(|a| a.utc_ns - NOW);
        told.arrivals.into_iter().map(after).collect::<Vec<_>>()
    };
    // The third was lost, the copy of the second came later, and the fifth was not sent; nobody hears of others.
    let told = ask(&mut reflector, ours);
    assert_eq!(told, [Some(0), Some(12_000), None, Some(24_000), None]);
    assert_eq!(
        ask(&mut reflector, "192.0.2.2:40000"),
        [None, None, Some(5), None, None]
    );
    assert_eq!(ask(&mut reflector, "192.0.2.3:40000"), [None; 5]);
    // As many others as there is room for, and it is forgotten.
    let bytes = reflector.table_bytes();
    for port in 0..16 {
        sent(
            &mut reflector,
            0,
            &format!("192.0.2.9:{}", 50_000 + port),
            0,
        );
    }
    assert_eq!(ask(&mut reflector, ours), [None; 5]);
    assert_eq!(reflector.table_bytes(), bytes);
}

#[test]
fn who_keeps_no_state_has_no_trains() {
    let mut reflector = reflector(ReflectorConfig {
        stateful: false,
        ..ReflectorConfig::default()
    });
    let mut value = [0; TrainArrivals::bytes(5)];
    assert!(TrainArrivals::ask(&mut value, 0));
    let datagram = request(Mode::Unauthenticated, 9, &tlv(kinds::PRIVATE, &value));
    let (_, bytes) = answer(&mut reflector, &arrival(&datagram)).expect("a reply");
    assert_eq!(bytes[44], flags::UNRECOGNIZED);
    assert_eq!(TrainArrivals::read(&bytes[48..], 0), None);
}
