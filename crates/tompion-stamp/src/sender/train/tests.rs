use super::super::tests::{NOW, key, keyed_reflector, open_reflector, reflect};
use super::*;
use crate::random::{Random, times};
use crate::reflector::Reflector;
use crate::reflector::config::ReflectorConfig;
use crate::reflector::exchange::Arrival;
use crate::stamp::Stamp;

fn train_sender(config: SenderConfig) -> TrainSender {
    TrainSender::new(SenderConfig {
        bytes: Some(1_472),
        ask: Ask {
            arrivals: 5,
            ..Ask::default()
        },
        ..config
    })
    .expect("a sender")
}

fn keyed() -> SenderConfig {
    SenderConfig {
        key: Some(key()),
        ..SenderConfig::default()
    }
}

/// The reflector takes in a packet that wants no reply.
fn pass(reflector: &mut Reflector, datagram: &[u8], received_utc_ns: i64) {
    let arrival = Arrival {
        datagram,
        source: "127.0.0.1:40000".parse().expect("an address"),
        received: Stamp::kernel(received_utc_ns),
        ttl: Some(64),
        traffic_class: Some(3),
        now_ns: u64::try_from(received_utc_ns).expect("since 1970"),
    };
    assert!(reflector.reflect(&arrival, &mut [0; 65_536]).is_err());
}

#[test]
fn a_train_is_asked_for_when_it_has_passed() {
    let both = [
        (SenderConfig::default(), open_reflector()),
        (keyed(), keyed_reflector()),
    ];
    for (config, mut reflector) in both {
        let mut sender = train_sender(config);
        let mut packet = sender.packet();
        assert_eq!(packet.len(), 1_472);
        for of_train in 0..3 {
            let first = sender.begin(8);
            assert_eq!(first, of_train * 10, "numbers go on");
            for at in (0..8).filter(|at| *at != 2) {
                sender.write(first + at, NOW + i64::from(at) * 1_000, &mut packet);
                pass(
                    &mut reflector,
                    &packet,
                    NOW + 5_000_000 + i64::from(at) * 1_200,
                );
            }
            let mut told = Vec::new();
            for from in [0, 5] {
                let (asked, request) = sender.ask(first + from, NOW + 9_000_000 + i64::from(from));
                let (_, reply) = reflect(&mut reflector, &request, NOW + 9_100_000);
                let TrainAnswer::Arrivals(some) = sender.answer(&asked, &reply).expect("a reply")
                else {
                    panic!("it keeps trains");
                };
                told.extend(some);
            }
            for (at, arrival) in told.iter().enumerate() {
                let arrived =
                    arrival.map(|a| (a.utc_ns - NOW - 5_000_000, a.is_by_kernel, a.is_marked));
                let expected = (at != 2 && at < 8).then_some((at as i64 * 1_200, true, true));
                assert_eq!(arrived, expected, "packet {at}");
            }
        }
    }
}

#[test]
fn a_request_has_the_length_that_is_allowed() {
    for config in [SenderConfig::default(), keyed()] {
        for bytes in [200, 576, 1_272, 1_472] {
            let mode = match config.key {
                Some(_) => Mode::Authenticated,
                None => Mode::Unauthenticated,
            };
            let arrivals = TrainSender::arrivals_within(bytes, mode);
            let ask = Ask {
                arrivals,
                ..Ask::default()
            };
            let mut sender = TrainSender::new(SenderConfig {
                ask,
                ..config.clone()
            })
            .expect("a sender");
            let (_, request) = sender.ask(0, NOW);
            assert_eq!(request.len(), sender.asking_bytes());
            assert!(
                request.len() <= bytes && request.len() + 4 > bytes,
                "{bytes}"
            );
        }
    }
    assert_eq!(TrainSender::arrivals_within(0, Mode::Unauthenticated), 0);
}

#[test]
fn nobody_elses_answer_counts() {
    let mut sender = train_sender(keyed());
    let mut reflector = keyed_reflector();
    let (asked, request) = sender.ask(0, NOW);
    let (_, reply) = reflect(&mut reflector, &request, NOW + 100_000);
    assert!(sender.answer(&asked, &reply).is_some());
    // Each byte is covered by one of the tags, or the flag says that the tag was wrong.
    for at in 0..reply.len() {
        let mut forged = reply.clone();
        forged[at] ^= 0x20;
        assert_eq!(sender.answer(&asked, &forged), None, "byte {at}");
    }
    let (other, _) = sender.ask(0, NOW + 1);
    assert_eq!(sender.answer(&other, &reply), None);
    for cut in 0..reply.len() {
        assert_eq!(sender.answer(&asked, &reply[..cut]), None, "{cut} bytes");
    }
}

/// Whatever a far end sends, it is an answer of no more arrivals than its bytes tell, or none.
#[test]
fn fifty_thousand_mutated_answers_do_no_harm() {
    let mut random = Random(11);
    for (config, mut reflector) in [
        (SenderConfig::default(), open_reflector()),
        (keyed(), keyed_reflector()),
    ] {
        let is_keyed = config.key.is_some();
        let mut sender = train_sender(config);
        let (asked, request) = sender.ask(3, NOW);
        let (_, reply) = reflect(&mut reflector, &request, NOW + 100_000);
        let mut answers = 0;
        for _ in 0..25_000 * times() {
            let mut bytes = reply.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes.insert(at, random.below(256) as u8),
                    _ => bytes[at] = random.below(256) as u8,
                }
            }
            if let Some(TrainAnswer::Arrivals(told)) = sender.answer(&asked, &bytes) {
                assert!(told.len() * 4 < bytes.len());
                answers += 1;
            }
        }
        assert!(is_keyed || answers > 1_000, "{answers}");
    }
}

#[test]
fn a_reflector_without_state_has_none() {
    let stateless = ReflectorConfig {
        stateful: false,
        ..ReflectorConfig::default()
    };
    let mut reflector = Reflector::new(stateless).expect("a reflector");
    let mut sender = train_sender(SenderConfig::default());
    let (asked, request) = sender.ask(0, NOW);
    let (_, reply) = reflect(&mut reflector, &request, NOW + 100_000);
    assert_eq!(sender.answer(&asked, &reply), Some(TrainAnswer::NotKept));
}

#[test]
fn settings_that_no_packet_has_are_refused() {
    let with = |config| TrainSender::new(config).is_err();
    assert!(with(SenderConfig {
        ssid: 0,
        ..SenderConfig::default()
    }));
    assert!(with(SenderConfig {
        bytes: Some(50),
        ..SenderConfig::default()
    }));
    assert!(with(SenderConfig {
        tlv_key: Some(key()),
        ..keyed()
    }));
}
