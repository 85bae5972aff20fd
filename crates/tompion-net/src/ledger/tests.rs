use std::thread;

use proptest::prelude::*;

use super::*;

const BOTH: [TxKind; 2] = [TxKind::Sched, TxKind::Software];

#[test]
fn each_stamp_is_handed_on_once() {
    let ledger = Ledger::new(0, 64, &BOTH);
    let (_, id) = ledger.enter(1000, 5);
    assert_eq!(ledger.stamped(id, TxKind::Sched, 6), Some(1000));
    assert_eq!(ledger.stamped(id, TxKind::Sched, 6), None);
    assert!(ledger.is_last_waiting());
    assert_eq!(ledger.stamped(id, TxKind::Software, 7), Some(1000));
    assert!(!ledger.is_last_waiting());
    assert_eq!(ledger.stamped(id + 1, TxKind::Sched, 7), None);
    ledger.give_up();
    let expected = Losses {
        missing: [0; 3],
        unattributed: 1,
        repeated: 1,
    };
    assert_eq!(ledger.losses(), expected);
}

#[test]
fn what_never_came_is_counted_once_by_kind() {
    let ledger = Ledger::new(0, 64, &BOTH);
    for number in 0..200 {
        let (_, id) = ledger.enter(number, 0);
        if number % 2 == 0 {
            ledger.stamped(id, TxKind::Software, 1);
        }
    }
    // 64 of them still wait.
    assert_eq!(ledger.losses().missing, [136, 68, 0]);
    assert_eq!(ledger.waiting(), 64);
    ledger.give_up();
    ledger.give_up();
    assert_eq!(ledger.losses().missing, [200, 100, 0]);
}

#[test]
fn a_packet_that_was_not_sent_misses_nothing() {
    let ledger = Ledger::new(0, 64, &BOTH);
    let (ticket, id) = ledger.enter(3, 0);
    ledger.failed(ticket);
    // Its queue may have had it before it was dropped.
    assert_eq!(ledger.stamped(id, TxKind::Sched, 1), Some(3));
    ledger.give_up();
    assert_eq!(ledger.losses(), Losses::default());
}

#[test]
fn numbers_of_the_kernel_wrap() {
    let first = u64::from(u32::MAX) - 1;
    let ledger = Ledger::new(first, 64, &BOTH);
    let ids: Vec<u32> = (0..4).map(|number| ledger.enter(number, 0).1).collect();
    assert_eq!(ids, [u32::MAX - 1, u32::MAX, 0, 1]);
    for (number, id) in ids.into_iter().enumerate() {
        assert_eq!(ledger.stamped(id, TxKind::Sched, 1), Some(number as u64));
    }
}

#[test]
fn what_was_counted_before_is_not_taken_for_what_comes_after() {
    let ledger = Ledger::new(0, 64, &BOTH);
    for number in 0..5 {
        ledger.enter(number, 100);
    }
    ledger.count_again();
    for number in 5..10 {
        let (_, id) = ledger.enter(number, 200);
        assert_eq!(u64::from(id), number - 5);
    }
    // Of packet 3, late; its number is now that of packet 8.
    assert_eq!(ledger.stamped(3, TxKind::Software, 150), None);
    assert_eq!(ledger.stamped(3, TxKind::Software, 250), Some(8));
    assert_eq!(ledger.losses().unattributed, 1);
}

#[test]
fn a_slot_that_is_used_again_does_not_take_old_stamps() {
    let ledger = Ledger::new(0, 64, &BOTH);
    let (_, old) = ledger.enter(0, 0);
    for number in 1..65 {
        ledger.enter(number, 0);
    }
    assert_eq!(ledger.stamped(old, TxKind::Sched, 1), None);
    assert_eq!(ledger.losses().unattributed, 1);
}

#[test]
fn one_thread_may_send_while_another_reads() {
    let ledger = Ledger::new(0, 1 << 12, &BOTH);
    const PACKETS: u64 = 200_000;
    let (send, receive) = std::sync::mpsc::sync_channel(1024);
    let found = thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..PACKETS {
                let (_, id) = ledger.enter(number * 3, 0);
                send.send((id, number * 3)).expect("a reader");
            }
            drop(send);
        });
        let mut found = 0;
        for (id, number) in receive {
            for kind in BOTH {
                let got = ledger.stamped(id, kind, 1);
                assert_eq!(got, Some(number));
                found += 1;
            }
        }
        found
    });
    ledger.give_up();
    assert_eq!(found, 2 * PACKETS);
    assert_eq!(ledger.losses(), Losses::default());
}

proptest! {
    #[test]
    fn a_ticket_is_found_again(base in 0u64..1 << 40, count in 1u64..1 << 40, back in 0u64..1 << 31) {
        let next = base + count;
        let ticket = next - 1 - back.min(count - 1);
        let id = (ticket - base) as u32;
        prop_assert_eq!(ticket_of(id, base, next), Some(ticket));
    }

    #[test]
    fn no_ticket_beyond_the_last_is_found(id in any::<u32>(), base in any::<u64>(), next in any::<u64>()) {
        if let Some(ticket) = ticket_of(id, base, next) {
            prop_assert!(ticket >= base && ticket < next);
        }
    }
}
