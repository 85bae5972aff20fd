//! Packets between us and stamp-suite 1.0.0, recorded on a loopback device while each took the other's for
//! right (`tests/acceptance/test_stamp_suite.py`): what we write today is what it took then, byte for byte, and
//! what it wrote is understood.

use std::net::SocketAddr;

use tompion_stamp::tlv::values::FollowUp;
use tompion_stamp::tlv::{Step, Steps, kinds};
use tompion_stamp::{
    Answer, Arrival, Ask, ClockAccount, ErrorEstimate, Key, Mode, Reflector, ReflectorConfig,
    ReplyFields, RequestFields, Sender, SenderConfig, SharedKey, Silence, Stamp, Taken, Told,
    Trust,
};

const KEY: &[u8] = b"thirty-two bytes, none of them 0";

/// A request and its reply, with when a tap saw them.
struct Exchange {
    request: Packet,
    reply: Packet,
}

struct Packet {
    at_ns: i64,
    ttl: u8,
    bytes: Vec<u8>,
}

struct Record {
    mode: Mode,
    exchanges: Vec<Exchange>,
}

/// Lines of `request` or `reply`, the moment, the TTL and the bytes.
fn record(mode: Mode, text: &str) -> Record {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut packets = lines.map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        let [who, at_ns, ttl, digits] = words[..] else {
            panic!("four words: {line}");
        };
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("a byte");
        let packet = Packet {
            at_ns: at_ns.parse().expect("a moment"),
            ttl: ttl.parse().expect("a TTL"),
            bytes: (0..digits.len()).step_by(2).map(byte).collect(),
        };
        (who, packet)
    });
    let mut exchanges = Vec::new();
    while let Some((who, request)) = packets.next() {
        assert_eq!(who, "request");
        let (who, reply) = packets.next().expect("a reply to each");
        assert_eq!(who, "reply");
        exchanges.push(Exchange { request, reply });
    }
    assert!(exchanges.len() >= 5);
    Record { mode, exchanges }
}

macro_rules! records {
    ($name:literal) => {
        [
            (
                Mode::Unauthenticated,
                include_str!(concat!("../stamp-suite/", $name, "-open-4.txt")),
            ),
            (
                Mode::Unauthenticated,
                include_str!(concat!("../stamp-suite/", $name, "-open-6.txt")),
            ),
            (
                Mode::Authenticated,
                include_str!(concat!("../stamp-suite/", $name, "-keyed-4.txt")),
            ),
            (
                Mode::Authenticated,
                include_str!(concat!("../stamp-suite/", $name, "-keyed-6.txt")),
            ),
        ]
        .map(|(mode, text)| record(mode, text))
    };
}

fn key() -> Key {
    Key::new(KEY).expect("a key")
}

/// An error of a clock that is told by this estimate: the wire rounds it up.
fn error_ns(estimate: ErrorEstimate) -> u64 {
    let most = estimate.error_ns().expect("an estimate");
    let is_told =
        |ns: &u64| ErrorEstimate::new(estimate.synchronized, estimate.format, *ns) == estimate;
    let mut near = (0..8).map(|less| most.saturating_sub(less));
    near.find(is_told).expect("one of them")
}

fn source() -> SocketAddr {
    "127.0.0.1:40000".parse().expect("an address")
}

/// Our reflector, as `tompion reflect` has it, with the clock that a reply told of.
fn reflector(mode: Mode, told: ErrorEstimate) -> Reflector {
    let shared = SharedKey {
        key: key(),
        ssid: None,
        control: None,
    };
    let config = ReflectorConfig {
        trust: match mode {
            Mode::Unauthenticated => Trust::Anybody { tlv_key: None },
            Mode::Authenticated => Trust::Keyed(vec![shared]),
        },
        format: told.format,
        clock: ClockAccount {
            synchronized: told.synchronized,
            error_ns: error_ns(told),
            ..ClockAccount::default()
        },
        ..ReflectorConfig::default()
    };
    Reflector::new(config).expect("a reflector")
}

/// What the Follow-Up Telemetry of a packet says, where it says anything.
fn follow_up(mode: Mode, packet: &[u8]) -> Option<FollowUp> {
    let mut steps = Steps::new(packet, mode.base_bytes());
    loop {
        match steps.next(packet) {
            Step::Tlv { kind, value, .. } if kind == kinds::FOLLOW_UP => {
                return FollowUp::read(&packet[value]).filter(|told| told.time != 0);
            }
            Step::Tlv { .. } => {}
            _ => return None,
        }
    }
}

#[test]
fn our_reflector_answers_its_requests_as_it_took_for_right() {
    for Record { mode, exchanges } in records!("it-asks") {
        let first = ReplyFields::read(mode, &exchanges[0].reply.bytes).expect("a reply");
        let mut reflector = reflector(mode, first.error);
        let (mut numbers, mut followed) = (Vec::new(), 0);
        for (turn, Exchange { request, reply }) in exchanges.iter().enumerate() {
            let told = ReplyFields::read(mode, &reply.bytes).expect("a reply");
            let at = |time| {
                let ns = told.error.format.decode(time, reply.at_ns);
                ns.expect("a moment")
            };
            if let Some(told) = follow_up(mode, &reply.bytes) {
                let number = numbers[told.sequence as usize];
                reflector.sent(number, Stamp::kernel(at(told.time)));
                followed += 1;
            }
            let arrival = Arrival {
                datagram: &request.bytes,
                source: source(),
                received: Stamp::kernel(at(told.received)),
                ttl: Some(request.ttl),
                traffic_class: Some(0),
                now_ns: turn as u64 * 20_000_000,
            };
            let mut out = [0; 2048];
            let ours = reflector.reflect(&arrival, &mut out).expect("a reply");
            assert!(reflector.stamp(&ours, &mut out, at(told.time)));
            assert_eq!(out[..ours.bytes], reply.bytes, "{mode:?}, reply {turn}");
            numbers.push(ours.number);
        }
        assert!(
            followed + 2 >= exchanges.len(),
            "{followed} stamps followed"
        );
        assert_eq!(reflector.counters().integrity_failed, 0);
        assert_eq!(reflector.counters().tlvs_malformed, 0);
    }
}

/// Our sender, as `tompion ping` has it, with SSID and clock of a request.
fn sender(mode: Mode, request: &RequestFields) -> Sender {
    let config = SenderConfig {
        ssid: request.ssid,
        format: request.error.format,
        synchronized: request.error.synchronized,
        error_ns: error_ns(request.error),
        key: (mode == Mode::Authenticated).then(key),
        ask: Ask {
            follow_up: true,
            tompion: true,
            ..Ask::default()
        },
        ..SenderConfig::default()
    };
    Sender::new(config).expect("a sender")
}

fn taken(sender: &mut Sender, reply: &Packet) -> Answer {
    match sender.take(&reply.bytes, Stamp::kernel(reply.at_ns)) {
        Taken::Reply(answer) => answer,
        other => panic!("no reply: {other:?}"),
    }
}

#[test]
fn our_sender_asks_as_it_answered_and_understands_its_replies() {
    for Record { mode, exchanges } in records!("it-answers") {
        let first = RequestFields::read(mode, &exchanges[0].request.bytes).expect("a request");
        let mut sender = sender(mode, &first);
        let mut followed = 0;
        for (turn, Exchange { request, reply }) in exchanges.iter().enumerate() {
            let fields = RequestFields::read(mode, &request.bytes).expect("a request");
            let sent_ns = fields.error.format.decode(fields.time, request.at_ns);
            let sent_ns = sent_ns.expect("a moment");
            let mut out = [0; 2048];
            let ours = sender.prepare(&mut out, 0).expect("room");
            assert!(sender.stamp(&ours, &mut out, sent_ns));
            assert_eq!(out[..ours.bytes], request.bytes, "{mode:?}, request {turn}");

            let answer = taken(&mut sender, reply);
            assert_eq!(answer.sequence as usize, turn);
            assert_eq!(
                answer.reply_sequence as usize, turn,
                "it counts its replies"
            );
            assert_eq!(answer.ttl, Some(request.ttl));
            assert!(answer.oddities.is_empty(), "{:?}", answer.oddities);
            let came = answer.reflector_received_utc_ns.expect("T2");
            let left = answer.reflector_sent_utc_ns.expect("T3");
            // One clock on one machine.
            assert!(sent_ns < came && came < left && left < reply.at_ns);
            // Ours is not for it.
            assert_eq!(answer.options.tompion, Told::Unrecognized);
            if let Some(told) = answer.options.follow_up.given().flatten() {
                let of = told.sequence.expect("a request of ours");
                assert!((of as usize) < turn, "of an earlier reply");
                assert!(told.sent_utc_ns < came);
                followed += 1;
            }
        }
        assert!(
            followed + 2 >= exchanges.len(),
            "{followed} stamps followed"
        );
        assert_eq!(sender.accounts().odd, 0);
    }
}

/// Otherwise one forged packet would set the two on each other.
#[test]
fn its_replies_are_not_taken_for_requests_and_its_requests_not_for_replies() {
    for Record { mode, exchanges } in records!("it-answers")
        .into_iter()
        .chain(records!("it-asks"))
    {
        for Exchange { request, reply } in &exchanges {
            let told = ReplyFields::read(mode, &reply.bytes).expect("a reply");
            let ask = |packet: &Packet| {
                let mut reflector = reflector(mode, told.error);
                let arrival = Arrival {
                    datagram: &packet.bytes,
                    source: source(),
                    received: Stamp::kernel(packet.at_ns),
                    ttl: None,
                    traffic_class: None,
                    now_ns: 0,
                };
                reflector.reflect(&arrival, &mut [0; 2048]).err()
            };
            assert_eq!(ask(request), None);
            assert_eq!(ask(reply), Some(Silence::LooksLikeReply));
        }
    }
}
