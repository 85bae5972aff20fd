//! Slots in every order of turns that two or three threads can take: `make loom`.

use std::sync::Arc;

use loom::thread;

use super::*;
use crate::discipline::Reason;

fn numbered(n: u64) -> State {
    let mut state = State::new(Reason::Calibrating, n);
    state.next_look_ns = n;
    state
}

/// Slots with state number 1.
fn begun() -> Arc<Slots> {
    let slots = Slots::new();
    slots.present.made();
    for slot in &slots.slots {
        for number in [&slot.t0, &slot.n0, &slot.mult, &slot.length] {
            number.made();
        }
        slot.realtime_ns.made();
        slot.pins.made();
        slot.state.made();
    }
    assert!(slots.replace(0, &numbered(1)));
    Arc::new(slots)
}

/// The number of what was loaded, if it counts.
fn read(slots: &Slots) -> Option<u64> {
    let piece = slots.load();
    slots.is_present(piece.version).then(|| {
        assert_eq!((piece.t0, piece.length), (KERNEL, 0));
        assert_eq!(piece.n0, piece.mult, "torn");
        piece.n0
    })
}

/// Makes the next state the present one, if nobody else comes first.
fn renew(slots: &Slots) -> bool {
    let version = slots.load().version;
    let Some(state) = slots.copy(version) else {
        return false;
    };
    assert_eq!(state.floor_ns, state.next_look_ns, "torn");
    slots.replace(version, &numbered(state.floor_ns + 1))
}

/// All orders of turns with up to so many interruptions, and all values seen in each; without
/// a bound some of these take an hour.
fn every_order(interruptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(interruptions);
    orders.check(model);
}

#[test]
fn a_reader_sees_no_state_that_is_being_written() {
    every_order(4, || {
        let slots = begun();
        let reader = thread::spawn({
            let slots = slots.clone();
            move || read(&slots)
        });
        // Slots 0 and 1 again: into memory that is just being read.
        for n in 2..=3 {
            assert!(slots.replace(slots.load().version, &numbered(n)));
        }
        reader.join().unwrap();
        assert_eq!(read(&slots), Some(3));
    });
}

#[test]
fn a_reader_sees_states_in_their_order() {
    every_order(3, || {
        let slots = begun();
        let reader = thread::spawn({
            let slots = slots.clone();
            move || (read(&slots), read(&slots))
        });
        assert!(slots.replace(slots.load().version, &numbered(2)));
        if let (Some(first), Some(second)) = reader.join().unwrap() {
            assert!(second >= first, "an old state");
        }
    });
}

#[test]
fn a_copy_is_never_written_into() {
    every_order(3, || {
        let slots = begun();
        let reader = thread::spawn({
            let slots = slots.clone();
            move || {
                let version = slots.load().version;
                if let Some(state) = slots.copy(version) {
                    assert_eq!(state.floor_ns, state.next_look_ns, "torn");
                }
            }
        });
        let mut there = 1;
        for n in 2..=3 {
            // No room while the other copy is pinned.
            if slots.replace(slots.load().version, &numbered(n)) {
                there = n;
            }
        }
        reader.join().unwrap();
        assert_eq!(read(&slots), Some(there));
    });
}

#[test]
fn of_those_who_renew_at_once_one_wins_and_no_pin_is_left() {
    loom::model(|| {
        let slots = begun();
        let other = thread::spawn({
            let slots = slots.clone();
            move || u64::from(renew(&slots))
        });
        let mut won = u64::from(renew(&slots));
        won += other.join().unwrap();
        let now = slots.load();
        assert_eq!(read(&slots), Some(1 + won));
        assert_eq!(
            now.version / SLOTS as u64,
            1 + won,
            "as many renewals as were made"
        );
        let pins = slots
            .slots
            .iter()
            .map(|slot| slot.pins.load(Ordering::Acquire));
        let present = slots.slot_of_present();
        for (n, pins) in pins.enumerate() {
            assert_eq!(pins, u32::from(n == present), "slot {n}");
        }
    });
}

#[test]
fn a_thread_that_renews_and_two_that_read() {
    every_order(3, || {
        let slots = begun();
        let readers = [(); 2].map(|()| {
            let slots = slots.clone();
            thread::spawn(move || read(&slots))
        });
        assert!(renew(&slots));
        for reader in readers {
            let seen = reader.join().unwrap();
            assert!(matches!(seen, None | Some(1 | 2)), "{seen:?}");
        }
        assert_eq!(read(&slots), Some(2));
    });
}
