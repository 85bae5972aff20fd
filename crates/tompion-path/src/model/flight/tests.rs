use super::*;

fn departure(number: u64, is_copy: bool, due_ns: i64) -> Departure {
    Departure {
        number,
        is_copy,
        due_ns,
        bytes: 64,
        slot: 0,
        corruption: None,
    }
}

#[test]
fn who_is_due_first_leaves_first_and_at_once_as_they_came() {
    let mut flight = Flight::new(10).unwrap();
    for (number, is_copy, due) in [(0, true, 7), (2, false, 7), (1, false, 9), (0, false, 7)] {
        flight.push(departure(number, is_copy, due)).unwrap();
    }
    assert_eq!((flight.next_due(), flight.take_due(6)), (Some(7), None));
    let left = std::iter::from_fn(|| flight.take_due(9));
    let left: Vec<_> = left.map(|d| (d.number, d.is_copy)).collect();
    assert_eq!(left, [(0, false), (0, true), (2, false), (1, false)]);
}

/// A relay keeps the bytes of a packet in the slot that it was given.
#[test]
fn slots_are_free_again_and_memory_stays_where_it_is() {
    let mut flight = Flight::new(1_000).unwrap();
    let at = |f: &Flight| {
        (
            f.heap.as_slice().as_ptr(),
            f.heap.capacity(),
            f.free.as_ptr(),
        )
    };
    let before = at(&flight);
    for round in 0..3 {
        let mut slots: Vec<u32> = (0..1_000)
            .map(|n| flight.push(departure(n, false, round)).unwrap())
            .collect();
        slots.sort_unstable();
        assert!(slots.into_iter().eq(0..1_000));
        assert!(flight.is_full() && flight.push(departure(9, false, 0)).is_none());
        assert_eq!(std::iter::from_fn(|| flight.take_due(round)).count(), 1_000);
    }
    assert_eq!(at(&flight), before);
}
