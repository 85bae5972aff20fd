//! What is counted by session, and when earlier replies left.

use super::*;
use crate::tlv::values::{DirectMeasurement, FollowUp, StampMethod, Tompion, TompionStay};

fn asking() -> Vec<u8> {
    [
        tlv(kinds::FOLLOW_UP, &[0; 16]),
        tlv(
            kinds::DIRECT_MEASUREMENT,
            &[0, 0, 0, 9, 1, 1, 1, 1, 2, 2, 2, 2],
        ),
        tlv(kinds::PRIVATE, &Tompion::default().to_bytes()),
    ]
    .concat()
}

/// The three values of a reply to [`asking`].
fn told(bytes: &[u8]) -> (FollowUp, DirectMeasurement, Tompion) {
    (
        FollowUp::read(&bytes[48..64]).expect("a follow-up"),
        DirectMeasurement::read(&bytes[68..80]).expect("counters"),
        Tompion::read(&bytes[84..116]).expect("ours"),
    )
}

#[test]
fn an_earlier_reply_is_followed_up_by_its_number() {
    let mut reflector = reflector(ReflectorConfig::default());
    let ask = |reflector: &mut Reflector, sequence| {
        let datagram = request(Mode::Unauthenticated, sequence, &asking());
        let (reply, bytes) = answer(reflector, &arrival(&datagram)).expect("a reply");
        (reply.number, u32_at(&bytes, 0), told(&bytes))
    };
    let (first, sequence, (follow_up, counted, ours)) = ask(&mut reflector, 5);
    assert_eq!((sequence, follow_up), (0, FollowUp::default()));
    let expected = DirectMeasurement {
        sender_sent: 9,
        reflector_received: 1,
        reflector_sent: 1,
    };
    assert_eq!(counted, expected);
    assert_eq!(ours.received, Some(StampKind::Kernel));
    assert_eq!(ours.sent, Some(StampKind::User));
    assert_eq!((ours.software, ours.stay), ((0, 1), None));

    // Nothing has come meanwhile.
    let (second, sequence, (follow_up, counted, _)) = ask(&mut reflector, 6);
    assert_eq!((sequence, follow_up), (1, FollowUp::default()));
    assert_eq!((counted.reflector_received, counted.reflector_sent), (2, 2));

    assert!(reflector.sent(second, Stamp::kernel(NOW + 700_000)));
    // Of an earlier one, when a later one is told already.
    assert!(reflector.sent(first, Stamp::kernel(NOW + 600_000)));
    // Twice the same, and one that never was.
    assert!(!reflector.sent(second, Stamp::kernel(NOW + 800_000)));
    assert!(!reflector.sent(1000, Stamp::kernel(NOW)));
    let (_, _, (follow_up, _, ours)) = ask(&mut reflector, 7);
    let expected = FollowUp {
        sequence: 1,
        time: TimeFormat::Ntp.encode(NOW + 700_000),
        method: StampMethod::Software,
    };
    assert_eq!(follow_up, expected);
    let stay = TompionStay {
        sender_sequence: 6,
        stay_ns: 700_000,
    };
    assert_eq!(ours.stay, Some(stay));
}

#[test]
fn what_held_up_requests_is_told_once_each_in_the_order_in_which_it_came() {
    let mut reflector = reflector(ReflectorConfig::default());
    let ask = |reflector: &mut Reflector, sequence| {
        let datagram = request(Mode::Unauthenticated, sequence, &asking());
        let (reply, bytes) = answer(reflector, &arrival(&datagram)).expect("a reply");
        let mark = told(&bytes).2.mark;
        (reply, mark.map(|m| (m.sender_sequence, m.cause, m.source)))
    };
    let (first, none) = ask(&mut reflector, 5);
    assert!(first.takes_marks && none.is_none());
    let (second, _) = ask(&mut reflector, 6);
    assert!(reflector.mark(&second, 3, 0) && reflector.mark(&first, 1, 2));
    assert_eq!(ask(&mut reflector, 7).1, Some((6, 3, 0)));
    assert_eq!(ask(&mut reflector, 8).1, Some((5, 1, 2)));
    assert_eq!(ask(&mut reflector, 9).1, None);
    // Of more than there is room for the latest are told.
    for cause in 1..=10 {
        reflector.mark(&first, cause, 0);
    }
    let causes: Vec<_> = (10..18)
        .filter_map(|n| ask(&mut reflector, n).1)
        .map(|m| m.1)
        .collect();
    assert_eq!(causes, [3, 4, 5, 6, 7, 8, 9, 10]);
    // A value that has no room for it is answered as it is.
    let short = tlv(
        kinds::PRIVATE,
        &Tompion::default().to_bytes()[..Tompion::LEAST],
    );
    let datagram = request(Mode::Unauthenticated, 20, &short);
    reflector.mark(&first, 1, 0);
    let (reply, bytes) = answer(&mut reflector, &arrival(&datagram)).expect("a reply");
    assert!(!reply.takes_marks && bytes.len() == 72);
    assert_eq!(Tompion::read(&bytes[48..]).and_then(|ours| ours.mark), None);
    // Nobody counts by session there.
    let mut stateless = super::reflector(ReflectorConfig {
        stateful: false,
        ..ReflectorConfig::default()
    });
    let (reply, _) = ask(&mut stateless, 1);
    assert!(!reply.takes_marks && !stateless.mark(&reply, 1, 0));
}

#[test]
fn a_stay_is_told_only_by_two_stamps_of_one_kind_that_is_not_the_programs() {
    for (received, sent, told_ns) in [
        (Stamp::kernel(NOW), Stamp::kernel(NOW + 5), Some(5)),
        (Stamp::user(NOW), Stamp::kernel(NOW + 5), None),
        (Stamp::kernel(NOW), Stamp::kernel(NOW - 5), None),
        (
            Stamp::kernel(NOW),
            Stamp {
                kind: StampKind::Hardware,
                utc_ns: NOW + 5,
            },
            None,
        ),
    ] {
        let mut reflector = reflector(ReflectorConfig::default());
        let datagram = request(Mode::Unauthenticated, 0, &asking());
        let came = Arrival {
            received,
            ..arrival(&datagram)
        };
        let (reply, _) = answer(&mut reflector, &came).expect("a reply");
        assert!(reflector.sent(reply.number, sent));
        let (_, bytes) = answer(&mut reflector, &came).expect("a reply");
        let (follow_up, _, ours) = told(&bytes);
        assert_eq!(follow_up.time, TimeFormat::Ntp.encode(sent.utc_ns));
        assert_eq!(ours.stay.map(|stay| stay.stay_ns), told_ns);
    }
}

#[test]
fn sessions_are_counted_apart_by_address_port_and_ssid() {
    let mut reflector = reflector(ReflectorConfig::default());
    let base = request(Mode::Unauthenticated, 0, &[]);
    let mut other = base.clone();
    put(&mut other, 14, &78_u16.to_be_bytes());
    let places = [
        "192.0.2.1:4000",
        "192.0.2.1:4001",
        "192.0.2.2:4000",
        "[2001:db8::1]:4000",
    ];
    for turn in 0..3 {
        for place in places {
            for datagram in [&base, &other] {
                let came = Arrival {
                    source: source(place),
                    ..arrival(datagram)
                };
                let (_, bytes) = answer(&mut reflector, &came).expect("a reply");
                assert_eq!(u32_at(&bytes, 0), turn);
            }
        }
    }
}

#[test]
fn a_stamp_of_a_session_that_is_forgotten_is_no_ones() {
    let mut reflector = reflector(ReflectorConfig {
        sessions: 1,
        ..ReflectorConfig::default()
    });
    let datagram = request(Mode::Unauthenticated, 0, &[]);
    let (reply, _) = answer(&mut reflector, &arrival(&datagram)).expect("a reply");
    let other = Arrival {
        source: source("192.0.2.9:4000"),
        ..arrival(&datagram)
    };
    assert!(answer(&mut reflector, &other).is_ok());
    assert!(!reflector.sent(reply.number, Stamp::kernel(NOW)));
    assert_eq!(reflector.counters().sessions_evicted, 1);
}

#[test]
fn numbers_of_replies_wrap() {
    let mut reflector = reflector(ReflectorConfig::default());
    reflector.next = u32::MAX;
    let datagram = request(Mode::Unauthenticated, 0, &asking());
    let numbers: Vec<_> = (0..3)
        .map(|_| {
            answer(&mut reflector, &arrival(&datagram))
                .expect("a reply")
                .0
                .number
        })
        .collect();
    assert_eq!(numbers, [u32::MAX, 0, 1]);
    for number in numbers {
        assert!(reflector.sent(number, Stamp::kernel(NOW + i64::from(number))));
    }
    let (_, bytes) = answer(&mut reflector, &arrival(&datagram)).expect("a reply");
    assert_eq!(told(&bytes).0.sequence, 2);
}
