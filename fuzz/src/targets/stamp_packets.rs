//! Whoever sends datagrams to a reflector, and whoever answers a sender.

use std::net::SocketAddr;

use tompion_stamp::{
    Arrival, Ask, ControlLimits, Key, Mode, Reflector, ReflectorConfig, ReplyFields, RequestFields,
    Sender, SenderConfig, SharedKey, Silence, Stamp, StampKind, Taken, TimeFormat, TrainAnswer,
    TrainSender, Trust, seal,
    tlv::{HEADER_BYTES, Step, Steps, kinds, values::ReplyControl},
};

use crate::Target;
use crate::input::Input;

pub static ENTRY: Target = Target {
    name: "stamp-packets",
    about: "what comes to a STAMP reflector and to a sender: replies are no longer than requests, \
            none is answered in turn, nothing is counted twice",
    parser: &[
        "tompion-stamp/src/packet.rs",
        "tompion-stamp/src/tlv.rs",
        "tompion-stamp/src/tlv/values.rs",
        "tompion-stamp/src/tlv/values/arrivals.rs",
        "tompion-stamp/src/tlv/values/tompion.rs",
        "tompion-stamp/src/loops.rs",
        "tompion-stamp/src/replay.rs",
        "tompion-stamp/src/reflector.rs",
        "tompion-stamp/src/reflector/options.rs",
        "tompion-stamp/src/reflector/reshape.rs",
        "tompion-stamp/src/reflector/survey.rs",
        "tompion-stamp/src/reflector/trains.rs",
        "tompion-stamp/src/sender.rs",
        "tompion-stamp/src/sender/options.rs",
        "tompion-stamp/src/sender/outstanding.rs",
        "tompion-stamp/src/sender/train.rs",
    ],
    most_bytes: 4096,
    run,
};

const NOW: i64 = 1_790_000_000_000_000_000;
const SSID: u16 = 77;
const LONGEST_REPLY: usize = 400;

/// Bits of the first byte.
const TO_SENDER: u8 = 1;
const KEYED: u8 = 2;
const TLVS_KEYED: u8 = 4;
const MAY_ASK: u8 = 8;
const STATELESS: u8 = 16;
const PTP: u8 = 32;
const TO_TRAIN_SENDER: u8 = 64;

/// Bits of the byte before each datagram.
const RIGHT_TAG: u8 = 1;
const RIGHT_TLV_TAG: u8 = 2;
const RIGHT_FIELDS: u8 = 4;
const SENT: u8 = 8;
const KERNEL: u8 = 16;

fn key() -> Key {
    Key::new(b"planted-planted-planted").expect("a key")
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let how = input.byte();
    if how & TO_TRAIN_SENDER != 0 {
        to_train_sender(how, &mut input);
    } else if how & TO_SENDER != 0 {
        to_sender(how, &mut input);
    } else {
        to_reflector(how, &mut input);
    }
}

fn format(how: u8) -> TimeFormat {
    if how & PTP == 0 {
        TimeFormat::Ntp
    } else {
        TimeFormat::Ptp
    }
}

/// Makes the tags of a datagram right, as the byte before it says.
fn sealed(mode: Mode, what: u8, datagram: &mut [u8]) {
    if what & RIGHT_TLV_TAG != 0 {
        let base = mode.base_bytes();
        let mut steps = Steps::new(datagram, base);
        loop {
            let at = steps.at();
            let Step::Tlv { kind, value, .. } = steps.next(datagram) else {
                break;
            };
            if kind == kinds::HMAC && value.len() == 16 {
                let tag = key().tag(&[&datagram[..4], &datagram[base..at]]);
                datagram[at + HEADER_BYTES..value.end].copy_from_slice(&tag);
            }
        }
    }
    if what & RIGHT_TAG != 0 && mode == Mode::Authenticated {
        // What is too short for a tag has none.
        let _ = seal(&key(), datagram);
    }
}

fn to_reflector(how: u8, input: &mut Input<'_>) {
    let may_ask = how & KEYED != 0 && how & MAY_ASK != 0;
    let shared = SharedKey {
        key: key(),
        ssid: None,
        control: may_ask.then_some(ControlLimits {
            longest_bytes: LONGEST_REPLY as u16,
            most_replies: 3,
            least_interval_ns: 1000,
        }),
    };
    let trust = if how & KEYED != 0 {
        Trust::Keyed(vec![shared])
    } else {
        Trust::Anybody {
            tlv_key: (how & TLVS_KEYED != 0).then(key),
        }
    };
    let mut reflector = Reflector::new(ReflectorConfig {
        trust,
        format: format(how),
        stateful: how & STATELESS == 0,
        // As few as show what is forgotten.
        sessions: 2,
        sources: 2,
        awaited_stamps: 2,
        ..ReflectorConfig::default()
    })
    .expect("a reflector");
    let tables = reflector.table_bytes();
    let mode = reflector.mode();
    let mut received = 0_u32;
    while !input.is_empty() {
        let what = input.byte();
        let source = SocketAddr::from(([192, 0, 2, what >> 6], 4000));
        let mut datagram = input.short().to_vec();
        let more = usize::from(input.byte());
        datagram.resize(datagram.len() + more, 0);
        sealed(mode, what, &mut datagram);
        received += 1;
        let arrival = Arrival {
            datagram: &datagram,
            source,
            received: Stamp {
                utc_ns: NOW + i64::from(received),
                kind: if what & KERNEL == 0 {
                    StampKind::User
                } else {
                    StampKind::Kernel
                },
            },
            ttl: Some(64),
            traffic_class: (what & SENT == 0).then_some(what),
            now_ns: 1_000_000_000 + u64::from(received) * 20_000_000,
        };
        let mut out = [0xee; 1024];
        let Ok(reply) = reflector.reflect(&arrival, &mut out) else {
            continue;
        };
        if may_ask {
            assert!(reply.bytes <= datagram.len().max(LONGEST_REPLY));
            assert!(reply.repeats < 3);
        } else {
            assert_eq!(reply.bytes, datagram.len(), "a reply of another length");
            assert_eq!(reply.repeats, 0);
        }
        assert!(reflector.stamp(&reply, &mut out, NOW + 1_000));
        let request = RequestFields::read(mode, &datagram).expect("a request");
        let answer = ReplyFields::read(mode, &out[..reply.bytes]).expect("a reply");
        assert_eq!(answer.sender_sequence, request.sequence);
        assert_eq!(answer.sender_time, request.time);
        assert_eq!(answer.ssid, request.ssid);
        let mut last = reply;
        while let Ok(next) = reflector.repeat(&last, &mut out, arrival.now_ns) {
            assert!(next.repeats < last.repeats);
            assert!(reflector.stamp(&next, &mut out, NOW + 1_000));
            last = next;
        }
        if what & SENT != 0 {
            reflector.sent(last.number, Stamp::kernel(NOW + 2_000));
        }
        // The reply sent back by another reflector's hand.
        let again = Arrival {
            datagram: &out[..last.bytes],
            source: SocketAddr::from(([198, 51, 100, 1], 862)),
            ..arrival
        };
        let silence = reflector
            .reflect(&again, &mut [0; 1024])
            .expect_err("a loop");
        assert_eq!(silence, Silence::LooksLikeReply);
        received += 1;
    }
    let counters = reflector.counters();
    assert_eq!(counters.received, u64::from(received));
    assert_eq!(counters.received, counters.replied + counters.silences());
    assert!(may_ask || counters.replied_bytes <= counters.received_bytes);
    assert_eq!(reflector.table_bytes(), tables);
}

/// What answers a question for a train's arrivals: as many as were asked for, or none.
fn to_train_sender(how: u8, input: &mut Input<'_>) {
    let keyed = how & KEYED != 0;
    let mut sender = TrainSender::new(SenderConfig {
        ssid: SSID,
        format: format(how),
        key: keyed.then(key),
        tlv_key: (!keyed && how & TLVS_KEYED != 0).then(key),
        ask: Ask {
            arrivals: 8,
            ..Ask::default()
        },
        ..SenderConfig::default()
    })
    .expect("a sender");
    let mode = if keyed {
        Mode::Authenticated
    } else {
        Mode::Unauthenticated
    };
    let mut train = sender.packet();
    while !input.is_empty() {
        let what = input.byte();
        let first = sender.begin(u32::from(what));
        sender.write(first, NOW, &mut train);
        let (asked, request) = sender.ask(first, NOW);
        let fields = RequestFields::read(mode, &request).expect("a request");
        // The question itself as its answer, but for some bytes of it.
        let mut datagram = request.clone();
        for _ in 0..input.byte() % 8 {
            let at = usize::from(input.byte()) % datagram.len();
            datagram[at] = input.byte();
        }
        if what & RIGHT_FIELDS != 0 {
            let answer = ReplyFields {
                ssid: SSID,
                sender_sequence: fields.sequence,
                sender_time: fields.time,
                ..ReplyFields::read(mode, &datagram).expect("its own length")
            };
            assert!(answer.write(mode, &mut datagram));
        }
        datagram.truncate(
            request.len() - usize::from(input.byte() % 4) * usize::from(what & SENT != 0),
        );
        sealed(mode, what, &mut datagram);
        if let Some(TrainAnswer::Arrivals(told)) = sender.answer(&asked, &datagram) {
            assert!(
                told.len() <= datagram.len() / 4,
                "more arrivals than it has room for"
            );
        }
    }
}

fn to_sender(how: u8, input: &mut Input<'_>) {
    let keyed = how & KEYED != 0;
    let mut sender = Sender::new(SenderConfig {
        ssid: SSID,
        format: format(how),
        key: keyed.then(key),
        tlv_key: (!keyed && how & TLVS_KEYED != 0).then(key),
        ask: Ask {
            timestamp_information: true,
            dscp: Some(0),
            direct_measurement: true,
            follow_up: true,
            tompion: true,
            control: (how & MAY_ASK != 0).then(ReplyControl::default),
            arrivals: 0,
        },
        outstanding: 4,
        ..SenderConfig::default()
    })
    .expect("a sender");
    let mode = if keyed {
        Mode::Authenticated
    } else {
        Mode::Unauthenticated
    };
    let tables = sender.table_bytes();
    let (mut taken, mut last) = (0, 0);
    let mut request = vec![0; sender.request_bytes()];
    while !input.is_empty() {
        let what = input.byte();
        if what & SENT != 0 {
            let written = sender.prepare(&mut request, taken).expect("room");
            assert!(sender.stamp(&written, &mut request, NOW));
            last = written.sequence;
        }
        if what & KERNEL != 0 {
            sender.give_up(taken.saturating_sub(2));
        }
        let mut datagram = input.short().to_vec();
        if what & RIGHT_FIELDS != 0
            && let Some(fields) = ReplyFields::read(mode, &datagram)
        {
            let fields = ReplyFields {
                ssid: SSID,
                sender_sequence: last.wrapping_sub(u32::from(what >> 6)),
                sender_time: format(how).encode(NOW),
                ..fields
            };
            assert!(fields.write(mode, &mut datagram));
        }
        sealed(mode, what, &mut datagram);
        taken += 1;
        match sender.take(&datagram, Stamp::kernel(NOW + 100_000)) {
            Taken::Reply(answer) | Taken::Duplicate(answer) => {
                assert!(last.wrapping_sub(answer.sequence) < 4);
                assert_eq!(answer.sent_utc_ns, NOW);
            }
            Taken::Late { sequence } => assert!(sequence <= last),
            Taken::NotOurs(reason) => crate::one_line(&reason.to_string()),
        }
    }
    let counted = sender.accounts();
    let ends = counted.replies + counted.given_up + counted.forgotten + counted.waiting;
    assert_eq!(ends, counted.prepared);
    let came = counted.replies
        + counted.duplicates
        + counted.late
        + counted.too_short
        + counted.other_ssid
        + counted.never_sent
        + counted.other_time
        + counted.wrong_tag;
    assert_eq!(came, taken);
    assert_eq!(sender.table_bytes(), tables);
}
