//! Which request a reply is to.

use super::*;
use crate::packet::RequestFields;

#[test]
fn each_reply_is_told_once_and_a_second_one_is_a_duplicate() {
    let (mut sender, mut reflector) = (sender(SenderConfig::default()), open_reflector());
    let requests: Vec<_> = (0..10).map(|at| send(&mut sender, NOW + at)).collect();
    let replies: Vec<_> = requests
        .iter()
        .map(|request| reflect(&mut reflector, request, NOW).1)
        .collect();
    // In any order.
    for at in [3, 9, 0, 1] {
        let answer = reply(sender.take(&replies[at], Stamp::user(NOW)));
        assert_eq!(answer.sequence as usize, at);
        assert_eq!(answer.sent_utc_ns, NOW + answer.sequence as i64);
    }
    let taken = sender.take(&replies[9], Stamp::user(NOW));
    assert!(matches!(taken, Taken::Duplicate(answer) if answer.sequence == 9));
    let accounts = sender.accounts();
    assert_eq!(
        (accounts.prepared, accounts.replies, accounts.duplicates),
        (10, 4, 1)
    );
    assert_eq!(accounts.waiting, 6);
}

#[test]
fn what_is_given_up_comes_too_late() {
    let (mut sender, mut reflector) = (sender(SenderConfig::default()), open_reflector());
    let mut out = [0; 64];
    let mut requests = Vec::new();
    for now_ns in [100, 200, 300] {
        let request = sender.prepare(&mut out, now_ns).expect("room");
        assert!(sender.stamp(&request, &mut out, NOW));
        requests.push(out[..request.bytes].to_vec());
    }
    let answered = reflect(&mut reflector, &requests[0], NOW).1;
    reply(sender.take(&answered, Stamp::user(NOW)));
    assert_eq!(sender.give_up(200), None);
    assert_eq!(sender.give_up(300), Some(1));
    assert_eq!(sender.give_up(300), None);
    let late = reflect(&mut reflector, &requests[1], NOW).1;
    for _ in 0..2 {
        let taken = sender.take(&late, Stamp::user(NOW));
        assert_eq!(taken, Taken::Late { sequence: 1 });
    }
    assert_eq!(sender.give_up(u64::MAX), Some(2));
    assert_eq!(sender.give_up(u64::MAX), None);
    let accounts = sender.accounts();
    assert_eq!(
        (accounts.replies, accounts.given_up, accounts.late),
        (1, 2, 2)
    );
    assert_eq!(accounts.waiting, 0);
}

#[test]
fn more_outstanding_than_there_is_room_are_forgotten_and_counted() {
    let mut sender = sender(SenderConfig {
        outstanding: 4,
        ..SenderConfig::default()
    });
    let bytes = sender.table_bytes();
    let mut reflector = open_reflector();
    let requests: Vec<_> = (0..10).map(|at| send(&mut sender, NOW + at)).collect();
    for (at, request) in requests.iter().enumerate() {
        let bytes = reflect(&mut reflector, request, NOW).1;
        let taken = sender.take(&bytes, Stamp::user(NOW));
        match taken {
            Taken::Late { sequence } => assert!(at < 6 && sequence as usize == at),
            Taken::Reply(answer) => assert!(at >= 6 && answer.sequence as usize == at),
            other => panic!("{other:?}"),
        }
    }
    let accounts = sender.accounts();
    assert_eq!(
        (accounts.forgotten, accounts.late, accounts.replies),
        (6, 6, 4)
    );
    assert_eq!(sender.give_up(u64::MAX), None);
    assert_eq!(sender.table_bytes(), bytes);
}

#[test]
fn numbers_wrap() {
    let (mut sender, mut reflector) = (sender(SenderConfig::default()), open_reflector());
    sender.outstanding.begin_at(u32::MAX - 1);
    for expected in [u32::MAX - 1, u32::MAX, 0, 1] {
        let request = send(&mut sender, NOW);
        let fields = RequestFields::read(Mode::Unauthenticated, &request).expect("a request");
        assert_eq!(fields.sequence, expected);
        let bytes = reflect(&mut reflector, &request, NOW).1;
        assert_eq!(
            reply(sender.take(&bytes, Stamp::user(NOW))).sequence,
            expected
        );
    }
    for expected in [2, 3] {
        send(&mut sender, NOW);
        assert_eq!(sender.give_up(1), Some(expected));
    }
}

/// A reply whose bytes are changed by hand.
fn changed(
    config: SenderConfig,
    reflector: &mut Reflector,
    change: impl FnOnce(&mut Vec<u8>),
) -> Taken {
    let mut sender = sender(config);
    let request = send(&mut sender, NOW);
    let (_, mut bytes) = reflect(reflector, &request, NOW);
    change(&mut bytes);
    sender.take(&bytes, Stamp::user(NOW))
}

#[test]
fn what_is_not_ours_says_why() {
    let open = SenderConfig::default;
    let taken = |change: &dyn Fn(&mut Vec<u8>)| {
        let taken = changed(open(), &mut open_reflector(), |bytes| change(bytes));
        match taken {
            Taken::NotOurs(reason) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(taken(&|bytes| bytes.truncate(43)), NotOurs::TooShort);
    assert_eq!(taken(&|bytes| bytes[15] = 2), NotOurs::OtherSsid);
    assert_eq!(taken(&|bytes| bytes[27] = 1), NotOurs::NeverSent);
    assert_eq!(taken(&|bytes| bytes[24] = 0x80), NotOurs::NeverSent);
    assert_eq!(taken(&|bytes| bytes[35] ^= 1), NotOurs::OtherTime);
    let keyed = SenderConfig {
        key: Some(key()),
        ..open()
    };
    for at in [0, 16, 40, 111] {
        let taken = changed(keyed.clone(), &mut keyed_reflector(), |bytes| {
            bytes[at] ^= 1
        });
        assert_eq!(taken, Taken::NotOurs(NotOurs::WrongTag), "byte {at}");
    }
    let strict = SenderConfig {
        accepts_no_ssid: false,
        ..open()
    };
    let taken = changed(strict, &mut open_reflector(), |bytes| bytes[15] = 0);
    assert_eq!(taken, Taken::NotOurs(NotOurs::OtherSsid));
}

#[test]
fn what_is_odd_is_named_and_counts() {
    let odd = |change: &dyn Fn(&mut Vec<u8>)| {
        let taken = changed(SenderConfig::default(), &mut open_reflector(), |bytes| {
            change(bytes)
        });
        reply(taken).oddities.iter().collect::<Vec<_>>()
    };
    assert_eq!(odd(&|_| {}), []);
    assert_eq!(
        odd(&|bytes| bytes.copy_within(4..12, 16)),
        [Oddity::SameStamps]
    );
    assert_eq!(odd(&|bytes| bytes[16..24].fill(0)), [Oddity::NoReceived]);
    assert_eq!(odd(&|bytes| bytes[4..12].fill(0)), [Oddity::NoSent]);
    let both = [Oddity::NoReceived, Oddity::NoSent];
    let zeros = |bytes: &mut Vec<u8>| {
        bytes[4..12].fill(0);
        bytes[16..24].fill(0);
    };
    assert_eq!(odd(&zeros), both);
    assert_eq!(odd(&|bytes| bytes[16] += 1), [Oddity::Backwards]);
    assert_eq!(odd(&|bytes| bytes[13] = 0), [Oddity::NoErrorEstimate]);
    assert_eq!(odd(&|bytes| bytes[14..16].fill(0)), [Oddity::NoSsid]);
    assert_eq!(odd(&|bytes| bytes.push(0)), [Oddity::Longer]);
    let padded = SenderConfig {
        bytes: Some(100),
        ..SenderConfig::default()
    };
    let taken = changed(padded, &mut open_reflector(), |bytes| bytes.truncate(44));
    let oddities: Vec<_> = reply(taken).oddities.iter().collect();
    assert_eq!(oddities, [Oddity::Shorter]);
}

#[test]
fn a_synchronized_clock_is_one_by_its_own_account() {
    let answer = changed(SenderConfig::default(), &mut open_reflector(), |bytes| {
        bytes[12] |= 0x80;
    });
    assert!(reply(answer).reflector_error.synchronized);
    let mut sender = sender(SenderConfig::default());
    sender.set_clock(true, 1_000_000);
    assert_eq!(send(&mut sender, NOW)[12..14], [0x8f, 0x84]);
}
