use proptest::prelude::*;

use super::*;

/// 7 February 2036, 06:28:16 UTC, where the second era of NTP begins.
const ERA_1_SECONDS: i64 = 2_085_978_496;
const SECOND: i64 = NS_PER_SECOND;

#[test]
fn known_moments_have_the_bytes_that_rfc_5905_and_ieee_1588_give_them() {
    // 1970-01-01, RFC 5905, figure 4.
    assert_eq!(TimeFormat::Ntp.encode(0), 2_208_988_800 << 32);
    // Half a second later.
    assert_eq!(
        TimeFormat::Ntp.encode(SECOND / 2),
        (2_208_988_800 << 32) | 0x8000_0000
    );
    assert_eq!(
        TimeFormat::Ptp.encode(1_700_000_000 * SECOND + 7),
        (1_700_000_000 << 32) | 7
    );
    // Before 1970, too.
    assert_eq!(
        TimeFormat::Ntp.encode(-1),
        (2_208_988_799 << 32) | 0xffff_fffc
    );
}

#[test]
fn a_stamp_without_a_bit_is_none() {
    for format in [TimeFormat::Ntp, TimeFormat::Ptp] {
        assert_eq!(format.decode(0, 0), None);
    }
}

#[test]
fn a_second_has_no_more_nanoseconds_than_it_has() {
    assert_eq!(TimeFormat::Ptp.decode(1_000_000_000, 0), None);
    assert_eq!(TimeFormat::Ptp.decode(999_999_999, 0), Some(999_999_999));
}

#[test]
fn the_era_is_that_of_now() {
    let before = (ERA_1_SECONDS - 1) * SECOND + 5;
    let after = (ERA_1_SECONDS + 1) * SECOND + 5;
    assert_eq!(TimeFormat::Ntp.encode(before) >> 32, 0xffff_ffff);
    assert_eq!(TimeFormat::Ntp.encode(after) >> 32, 1);
    for near in [before, after] {
        for at in [before, after] {
            let wire = TimeFormat::Ntp.encode(at);
            assert_eq!(TimeFormat::Ntp.decode(wire, near), Some(at));
        }
    }
    // 7 February 2106, where 32 bits of seconds since 1970 begin again.
    let wrap = (1 << 32) * SECOND;
    let wire = TimeFormat::Ptp.encode(wrap + 3);
    assert_eq!(wire, 3);
    assert_eq!(TimeFormat::Ptp.decode(wire, wrap - SECOND), Some(wrap + 3));
}

proptest! {
    #[test]
    fn every_nanosecond_comes_back(
        at in any::<i64>(), seconds_off in -2_147_483_600_i64..2_147_483_600, ptp in any::<bool>(),
    ) {
        let format = if ptp { TimeFormat::Ptp } else { TimeFormat::Ntp };
        let near = at.saturating_add(seconds_off * SECOND);
        let wire = format.encode(at);
        prop_assume!(wire != 0);
        prop_assert_eq!(format.decode(wire, near), Some(at));
    }

    #[test]
    fn whatever_comes_is_a_moment_within_half_an_era_or_none(
        wire in any::<u64>(), near in -9_000_000_000_000_000_000_i64..7_000_000_000_000_000_000,
        ptp in any::<bool>(),
    ) {
        let format = if ptp { TimeFormat::Ptp } else { TimeFormat::Ntp };
        if let Some(at) = format.decode(wire, near) {
            prop_assert!((i128::from(at) - i128::from(near)).abs() <= ((1 << 31) + 1) * i128::from(SECOND));
        }
    }
}
