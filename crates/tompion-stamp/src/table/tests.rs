use proptest::prelude::*;

use super::*;

#[test]
fn a_hundred_thousand_keys_take_no_more_room_than_the_first() {
    let mut table = Table::<u64, u64>::new(1000).expect("memory");
    let bytes = table.bytes();
    let (first, _) = table.enter(0, || 0);
    for key in 0..100_000 {
        *table.enter(key, || key).1 += 1;
    }
    assert_eq!(table.bytes(), bytes);
    assert_eq!(table.evicted(), 99_000);
    assert_eq!(table.at(first), None);
    for key in 99_000..100_000 {
        assert_eq!(*table.enter(key, || 0).1, key + 1);
    }
}

#[test]
fn a_size_beyond_all_memory_is_an_error() {
    assert!(Table::<[u64; 1 << 20], u64>::new(usize::MAX).is_err());
}

proptest! {
    #[test]
    fn it_is_a_list_in_order_of_use(
        keys in proptest::collection::vec(0_u8..12, 0..300), most in 1_usize..9,
    ) {
        let mut table = Table::new(most).expect("memory");
        // The key used last comes last, with how often it was used since it was made.
        let mut list: Vec<(u8, u32)> = Vec::new();
        let mut evicted = 0;
        for key in keys {
            let (place, uses) = table.enter(key, || 0_u32);
            *uses += 1;
            let uses = *uses;
            let expected = match list.iter().position(|(known, _)| *known == key) {
                Some(at) => list.remove(at).1 + 1,
                None => 1,
            };
            if expected == 1 && list.len() == most {
                list.remove(0);
                evicted += 1;
            }
            list.push((key, expected));
            prop_assert_eq!(uses, expected);
            prop_assert_eq!(table.at(place).copied(), Some(uses));
            prop_assert_eq!(table.evicted(), evicted);
        }
    }
}
