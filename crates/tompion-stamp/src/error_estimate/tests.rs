use proptest::prelude::*;

use super::*;

#[test]
fn a_millisecond_of_a_synchronized_clock_has_known_bytes() {
    // 10^-3 s are 4294967.3 of 2^-32 s, 131.1 of 2^-17 s: scale 15, multiplier 132.
    let estimate = ErrorEstimate::new(true, TimeFormat::Ntp, 1_000_000);
    assert_eq!(estimate.to_wire(), 0x8f84);
    let estimate = ErrorEstimate::new(false, TimeFormat::Ptp, 1_000_000);
    assert_eq!(estimate.to_wire(), 0x4f84);
}

#[test]
fn no_error_at_all_is_still_one_part() {
    let estimate = ErrorEstimate::new(false, TimeFormat::Ntp, 0);
    assert_eq!(estimate.to_wire(), 0x0001);
    assert_eq!(estimate.error_ns(), Some(1));
}

#[test]
fn a_multiplier_of_zero_says_nothing() {
    assert_eq!(ErrorEstimate::from_wire(0xbf00).error_ns(), None);
    assert_eq!(ErrorEstimate::from_wire(0xbf00).to_wire(), 0xbf00);
}

#[test]
fn the_largest_error_is_too_large_for_a_number() {
    assert_eq!(ErrorEstimate::from_wire(0x3fff).error_ns(), Some(u64::MAX));
}

proptest! {
    #[test]
    fn every_two_bytes_come_back(wire in any::<u16>()) {
        prop_assert_eq!(ErrorEstimate::from_wire(wire).to_wire(), wire);
    }

    #[test]
    fn an_estimate_is_never_too_small_and_hardly_too_large(error_ns in any::<u64>()) {
        let said = ErrorEstimate::new(true, TimeFormat::Ntp, error_ns);
        prop_assert!(said.multiplier > 0);
        let said = said.error_ns().expect("it says something");
        prop_assert!(said >= error_ns);
        prop_assert!(said - error_ns <= error_ns / 127 + 1);
    }
}
