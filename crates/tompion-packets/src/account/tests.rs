use tompion_net::{Due, RxStamps};
use tompion_path::stamps::Reordering;

use super::*;
use crate::summary::Summary;
use crate::summary::tests::CAPABILITY;

const MS: i64 = 1_000_000;

fn received(user_ns: i64) -> Received {
    Received {
        stamps: RxStamps {
            user_ns,
            software_ns: Some(user_ns - 1_000),
            hardware_ns: None,
        },
        from: None,
        to: None,
        interface: None,
        ttl: None,
        tos: None,
        length: 44,
        drops: None,
    }
}

/// Probes 10 ms apart from zero on, so many.
fn sent(probes: u64, hardware: bool) -> Account {
    let mut account = Account::new(probes as usize, 72, hardware).unwrap();
    for number in 0..probes {
        let at_ns = 10_000_000 * number;
        account.sent(&Sent {
            due: Due { number, at_ns },
            mono_ns: at_ns,
            user_ns: at_ns as i64,
            length: 44,
        });
    }
    account
}

#[test]
fn a_reply_after_its_timeout_counts_as_lost_and_nowhere_else() {
    let mut account = sent(3, false);
    account.replied(1, &received(11 * MS), &Told::default());
    account.replied(2, &received(21 * MS), &Told::default());
    account.replied(0, &received(150 * MS), &Told::default());
    let measured = account.finish(100 * MS, Tally::default(), CAPABILITY, None);
    assert_eq!(measured.late, 1);
    assert!(Reordering::of(&measured.packets).reordered.is_empty());
    let late = measured.packets.missing(0, Stamp::UserReceived);
    assert_eq!(late, Some(Missing::TooLate));
    let summary = Summary::of(&measured);
    assert_eq!((summary.answered, summary.lost), (2, 1));
    assert_eq!((summary.late_replies, summary.reordered), (1, 0));
    assert_eq!(summary.round_trips[0].quantiles.samples, 2);
}

#[test]
fn what_has_no_place_in_the_table_is_told() {
    let mut account = sent(2, false);
    account.replied(0, &received(MS), &Told::default());
    // A probe that there is not, and a moment that is none.
    account.replied(99, &received(MS), &Told::default());
    let told = Told {
        far_received_ns: Some(i64::MAX),
        ..Told::default()
    };
    account.replied(1, &received(11 * MS), &told);
    let summary = Summary::of(&account.finish(100 * MS, Tally::default(), CAPABILITY, None));
    assert_eq!((summary.refused, summary.answered), (2, 2));
    let text = summary.text();
    assert!(text.contains("2 stamps or replies have no place"), "{text}");
}

#[test]
fn a_device_that_stamps_unasked_takes_no_memory_while_probes_are_under_way() {
    for asked in [false, true] {
        let account = Account::new(100, 72, asked).unwrap();
        for place in Stamp::FIXED {
            assert!(account.packets.capacity(place) >= 100, "{place}");
        }
    }
    let mut account = sent(1, false);
    let nobody = account.packets.missing(0, Stamp::SentHardware);
    assert_eq!(nobody, Some(Missing::NotTaken));
    account.transmitted(TxStamp {
        number: 0,
        kind: TxKind::Hardware,
        ns: 5,
    });
    assert_eq!(account.packets.get(0, Stamp::SentHardware), Some(5));
}

#[test]
fn stamps_of_a_device_that_were_asked_for_and_did_not_come_are_told() {
    for asked in [false, true] {
        let mut account = sent(1, asked);
        account.replied(0, &received(MS), &Told::default());
        let text =
            Summary::of(&account.finish(100 * MS, Tally::default(), CAPABILITY, None)).text();
        assert_eq!(
            text.contains("stamps missing: sent-hardware, of 1 probes"),
            asked,
            "{text}"
        );
    }
}
