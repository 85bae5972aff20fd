use proptest::prelude::*;

use super::*;

#[test]
fn each_number_comes_once_in_any_order_within_the_window() {
    let mut window = Window::default();
    let order = [5, 3, 4, 9, 1, 1028, 6];
    for number in order {
        assert_eq!(window.arrive(number, None), Arrival::New, "{number}");
    }
    for number in order {
        assert_eq!(window.arrive(number, None), Arrival::Replay, "{number}");
    }
    // Within it, and just outside.
    assert_eq!(window.arrive(1028 - 1023 + 2, None), Arrival::New);
    assert_eq!(window.arrive(1028 - 1024, None), Arrival::Replay);
    assert_eq!(window.arrive(0, None), Arrival::Replay);
}

#[test]
fn numbers_wrap() {
    let mut window = Window::default();
    for number in [u32::MAX - 2, u32::MAX, 1, 0, u32::MAX - 1] {
        assert_eq!(window.arrive(number, None), Arrival::New, "{number}");
        assert_eq!(window.arrive(number, None), Arrival::Replay, "{number}");
    }
}

#[test]
fn a_sender_that_begins_again_is_told_from_a_replay_by_its_time() {
    let mut window = Window::default();
    for number in 0..5000 {
        assert_eq!(window.arrive(number, Some(number.into())), Arrival::New);
    }
    assert_eq!(window.arrive(0, Some(0)), Arrival::Replay);
    assert_eq!(window.arrive(0, Some(4999)), Arrival::Replay);
    assert_eq!(window.arrive(0, Some(6000)), Arrival::Restart);
    assert_eq!(window.arrive(0, Some(6000)), Arrival::Replay);
    assert_eq!(window.arrive(1, Some(6001)), Arrival::New);
    // A clock set back is no reason to be silent.
    assert_eq!(window.arrive(2, Some(10)), Arrival::New);
}

#[test]
fn a_tag_is_known_again_wherever_it_comes_from() {
    let mut recent = RecentTags::new().expect("memory");
    let tag = |number: u64| {
        let key = crate::Key::new(b"a key").expect("a key");
        key.tag(&[&number.to_be_bytes()])
    };
    // Each of the last 65,536, and none before them.
    let last = 1 << 16;
    for number in 0..3 * last {
        assert!(!recent.arrive(&tag(number)), "{number}");
    }
    for number in 2 * last..3 * last {
        assert!(recent.arrive(&tag(number)), "{number}");
    }
    for number in 0..100 {
        assert!(!recent.arrive(&tag(number)), "{number}");
        assert!(
            !recent.arrive(&tag(2 * last + number)),
            "{number}: its place was taken"
        );
    }
    assert_eq!(recent.bytes(), 16 << 16);
}

#[test]
fn nobody_is_granted_twice_while_a_request_is_fresh() {
    const SECOND: i64 = 1_000_000_000;
    let mut grants = Grants::new().expect("memory");
    let tag = |number: u64| {
        let key = crate::Key::new(b"a key").expect("a key");
        key.tag(&[&number.to_be_bytes()])
    };
    let many = GRANTS as u64;
    for number in 0..many {
        let now = number as i64;
        assert!(grants.grant(&tag(number), now, 120 * SECOND), "{number}");
        assert!(!grants.grant(&tag(number), now, 120 * SECOND), "{number}");
    }
    // There is room for no further one before the first has grown old.
    assert!(!grants.grant(&tag(many), 60 * SECOND, 120 * SECOND));
    assert!(!grants.grant(&tag(0), 120 * SECOND, 120 * SECOND));
    assert!(grants.grant(&tag(many), 120 * SECOND + 1, 120 * SECOND));
}

proptest! {
    #[test]
    fn it_is_a_set_within_the_window(
        start in any::<u32>(), offsets in proptest::collection::vec(-900_i32..900, 1..200),
    ) {
        let mut window = Window::default();
        let mut seen = std::collections::HashSet::new();
        let mut newest = 0_i64;
        let mut oldest = 0_i64;
        let mut at = 0_i64;
        for offset in offsets {
            at += i64::from(offset) / 3;
            let number = start.wrapping_add(at as u32);
            let arrival = window.arrive(number, None);
            if seen.is_empty() {
                (newest, oldest) = (at, at);
            }
            newest = newest.max(at);
            oldest = oldest.min(at);
            prop_assume!(newest - oldest < 1 << 30);
            let is_known = newest - at >= 1024 || !seen.insert(at);
            prop_assert_eq!(arrival == Arrival::Replay, is_known, "{} of {}", at, newest);
        }
    }
}
