//! Both ends on threads of their own.

use std::thread;

use super::*;
use crate::stamps::RxStamps;

fn received(number: usize) -> Received {
    Received {
        stamps: RxStamps {
            user_ns: number as i64,
            software_ns: None,
            hardware_ns: None,
        },
        from: None,
        to: None,
        interface: None,
        ttl: None,
        tos: None,
        length: 20,
        drops: None,
    }
}

/// Many times what there is room for.
#[test]
fn everything_arrives_as_it_was_and_in_its_order() {
    const NUMBERS: usize = 100 * PACKETS;
    let (handing, taking) = pair(8);
    let packet = |number: usize| vec![number as u8; 1 + number % 8];
    let mut found = Vec::new();
    thread::scope(|scope| {
        thread::Builder::new()
            .spawn_scoped(scope, move || {
                for number in 0..NUMBERS {
                    let handed = handing.hand(&packet(number), &received(number));
                    handed.expect("somebody takes it");
                }
            })
            .expect("a thread");
        let mut keep = |bytes: &[u8], told: &Received| found.push((bytes.to_vec(), *told));
        taking.take(&mut keep);
        taking.take_rest(&mut keep);
    });
    let wanted = (0..NUMBERS).map(|number| (packet(number), received(number)));
    assert!(found.into_iter().eq(wanted));
}

#[test]
fn a_packet_beyond_its_room_is_cut_off_and_its_length_told() {
    let (handing, taking) = pair(4);
    handing.hand(&[9; 20], &received(1)).expect("room");
    let mut told = None;
    let taken = taking.take(|bytes, of| told = Some((bytes.to_vec(), of.length)));
    assert_eq!(taken, Taken::All);
    assert_eq!(told, Some((vec![9; 4], 20)));
    drop(handing);
    assert_eq!(taking.take(|_, _| {}), Taken::IsOver);
}

#[test]
fn who_hands_on_to_nobody_is_told_and_does_not_wait() {
    let (handing, taking) = pair(8);
    drop(taking);
    for number in 0..2 * PACKETS {
        let handed = handing.hand(&[1], &received(number));
        assert_eq!(handed, Err(IsOver));
    }
}

/// However fast the other end is, whoever takes has its turn to look elsewhere.
#[test]
fn who_takes_is_not_kept_by_a_flood() {
    let (handing, taking) = pair(8);
    thread::scope(|scope| {
        let flood = move || while handing.hand(&[1], &received(1)).is_ok() {};
        thread::Builder::new()
            .spawn_scoped(scope, flood)
            .expect("a thread");
        for _ in 0..100 {
            let mut taken = 0;
            taking.take(|_, _| taken += 1);
            assert!(taken <= PACKETS, "{taken}");
        }
        drop(taking);
    });
}
