//! What TLVs say to a sender.

use super::*;
use crate::sender::taken::{FollowedUp, Options, Told};
use crate::stamp::StampKind;
use crate::tlv::flags;
use crate::tlv::values::{
    ClassOfService, DirectMeasurement, ReplyControl, StampMethod, TimestampInformation, TompionStay,
};

fn asking(key: Option<Key>, tlv_key: Option<Key>) -> Sender {
    sender(SenderConfig {
        key,
        tlv_key,
        ask: ALL,
        bytes: Some(400),
        ..SenderConfig::default()
    })
}

#[test]
fn all_that_is_asked_for_is_told_with_a_key_and_without() {
    for (mut sender, mut reflector) in [
        (asking(None, None), open_reflector()),
        (asking(Some(key()), None), keyed_reflector()),
    ] {
        let request = send(&mut sender, NOW);
        let (number, bytes) = reflect(&mut reflector, &request, NOW);
        let answer = reply(sender.take(&bytes, Stamp::user(NOW)));
        assert!(answer.oddities.is_empty());
        let options = answer.options;
        let information = options.timestamp_information.given().expect("information");
        assert_eq!(information.method_in, StampMethod::Software);
        assert_eq!(
            information,
            TimestampInformation::read(&[0, 2, 0, 2]).expect("four")
        );
        let class = options.class_of_service.given().expect("a class");
        assert_eq!(class, ClassOfService::default());
        let counted = options.direct_measurement.given().expect("counters");
        let expected = DirectMeasurement {
            sender_sent: 1,
            reflector_received: 1,
            reflector_sent: 1,
        };
        assert_eq!(counted, expected);
        assert_eq!(options.follow_up, Told::Given(None));
        let ours = options.tompion.given().expect("ours");
        assert_eq!((ours.received, ours.stay), (Some(StampKind::Kernel), None));
        assert_eq!(options.control, Told::Nothing);

        assert!(reflector.sent(number, Stamp::kernel(NOW + 45_000)));
        // One request is lost on its way: numbers of the reflector and ours differ from here.
        send(&mut sender, NOW);
        let request = send(&mut sender, NOW + 1000);
        let (number, bytes) = reflect(&mut reflector, &request, NOW + 2000);
        let answer = reply(sender.take(&bytes, Stamp::user(NOW)));
        assert_eq!((answer.sequence, answer.reply_sequence), (2, 1));
        let follow_up = FollowedUp {
            sequence: Some(0),
            reply_sequence: 0,
            sent_utc_ns: NOW + 45_000,
            method: StampMethod::Software,
        };
        assert_eq!(answer.options.follow_up, Told::Given(Some(follow_up)));
        let stay = TompionStay {
            sender_sequence: 0,
            stay_ns: 45_000,
        };
        assert_eq!(
            answer.options.tompion.given().and_then(|ours| ours.stay),
            Some(stay)
        );

        assert!(reflector.sent(number, Stamp::kernel(NOW + 3000)));
        let request = send(&mut sender, NOW);
        let (_, bytes) = reflect(&mut reflector, &request, NOW);
        let answer = reply(sender.take(&bytes, Stamp::user(NOW)));
        let follow_up = answer
            .options
            .follow_up
            .given()
            .flatten()
            .expect("a follow-up");
        assert_eq!((follow_up.sequence, follow_up.reply_sequence), (Some(2), 1));
    }
}

#[test]
fn a_follow_up_to_a_reply_that_never_came_is_no_ones() {
    let (mut sender, mut reflector) = (asking(None, None), open_reflector());
    let lost = send(&mut sender, NOW);
    let (number, _) = reflect(&mut reflector, &lost, NOW);
    assert!(reflector.sent(number, Stamp::kernel(NOW + 1)));
    let request = send(&mut sender, NOW);
    let (_, bytes) = reflect(&mut reflector, &request, NOW);
    let answer = reply(sender.take(&bytes, Stamp::user(NOW)));
    let follow_up = answer
        .options
        .follow_up
        .given()
        .flatten()
        .expect("a follow-up");
    assert_eq!((follow_up.sequence, follow_up.reply_sequence), (None, 0));
}

#[test]
fn a_reflector_that_knows_no_tlv_returns_them_as_they_were() {
    let (mut sender, mut reflector) = (asking(None, None), open_reflector());
    let request = send(&mut sender, NOW);
    let (_, mut bytes) = reflect(&mut reflector, &request, NOW);
    bytes[44..].copy_from_slice(&request[44..]);
    let options = reply(sender.take(&bytes, Stamp::user(NOW))).options;
    let expected = Options {
        timestamp_information: Told::Unrecognized,
        class_of_service: Told::Unrecognized,
        direct_measurement: Told::Unrecognized,
        follow_up: Told::Unrecognized,
        tompion: Told::Unrecognized,
        control: Told::Nothing,
    };
    assert_eq!(options, expected);
}

/// What is told when the TLVs of a reply are changed.
fn changed(key: Option<Key>, change: impl FnOnce(&mut [u8])) -> (bool, Options) {
    let mut sender = asking(key.clone(), None);
    let mut reflector = if key.is_some() {
        keyed_reflector()
    } else {
        open_reflector()
    };
    let request = send(&mut sender, NOW);
    let (_, mut bytes) = reflect(&mut reflector, &request, NOW);
    change(&mut bytes);
    let answer = reply(sender.take(&bytes, Stamp::user(NOW)));
    (
        answer.oddities.contains(Oddity::NotAuthentic),
        answer.options,
    )
}

#[test]
fn an_m_ends_it_and_an_i_discards_all() {
    // The first is Timestamp Information, of 8 bytes, the second Class of Service.
    let (odd, options) = changed(None, |bytes| bytes[52] |= flags::MALFORMED);
    assert!(!odd);
    assert!(options.timestamp_information.given().is_some());
    assert_eq!(options.class_of_service, Told::Malformed);
    assert_eq!(options.direct_measurement, Told::Nothing);
    // A length that its type has not, though nobody says so.
    let (_, options) = changed(None, |bytes| bytes[55] = 5);
    assert_eq!(options.class_of_service, Told::Malformed);
    // The last one may be the one with I.
    let (odd, options) = changed(None, |bytes| bytes[52] |= flags::INTEGRITY);
    assert!(odd);
    assert_eq!(options, Options::default());
}

#[test]
fn tlvs_that_are_not_authentic_are_not_used() {
    for at in [112, 117, 300, 390] {
        let (odd, options) = changed(Some(key()), |bytes| bytes[at] ^= 1);
        assert!(odd, "byte {at}");
        assert_eq!(options, Options::default());
    }
    // None at all, though they were sent.
    let (odd, _) = changed(Some(key()), |bytes| bytes[381] = 100);
    assert!(odd);
}

#[test]
fn a_key_for_the_tlvs_alone_protects_them() {
    let mut reflector = Reflector::new(ReflectorConfig {
        trust: Trust::Anybody {
            tlv_key: Some(key()),
        },
        ..ReflectorConfig::default()
    })
    .expect("a reflector");
    let mut sender = asking(None, Some(key()));
    let request = send(&mut sender, NOW);
    let (_, mut bytes) = reflect(&mut reflector, &request, NOW);
    let answer = reply(sender.take(&bytes, Stamp::user(NOW)));
    assert!(answer.oddities.is_empty());
    assert!(answer.options.tompion.given().is_some());
    bytes[48] ^= 1;
    let taken = sender.take(&bytes, Stamp::user(NOW));
    assert!(matches!(taken, Taken::Duplicate(answer)
        if answer.oddities.contains(Oddity::NotAuthentic)));
    // To a reflector without the key they are not authentic, and it says so.
    let mut sender = asking(None, Some(key()));
    let request = send(&mut sender, NOW);
    let (_, bytes) = reflect(&mut open_reflector(), &request, NOW);
    let answer = reply(sender.take(&bytes, Stamp::user(NOW)));
    assert!(answer.oddities.contains(Oddity::NotAuthentic));
}

#[test]
fn whether_other_replies_were_granted_is_told() {
    let mut sender = sender(SenderConfig {
        ask: Ask {
            control: Some(ReplyControl {
                bytes: 1000,
                replies: 1,
                ..ReplyControl::default()
            }),
            ..Ask::default()
        },
        ..SenderConfig::default()
    });
    let request = send(&mut sender, NOW);
    let (_, mut bytes) = reflect(&mut open_reflector(), &request, NOW);
    let answer = reply(sender.take(&bytes, Stamp::user(NOW)));
    assert_eq!(answer.options.control, Told::Given(false));
    bytes[44] = 0;
    let Taken::Duplicate(answer) = sender.take(&bytes, Stamp::user(NOW)) else {
        panic!("a duplicate");
    };
    assert_eq!(answer.options.control, Told::Given(true));
}
