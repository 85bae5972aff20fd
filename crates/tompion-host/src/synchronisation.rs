//! What adjtimex(2) says, in plain units.

use tompion_model::Synchronisation;

/// The fields of the kernel's `struct timex` that are kept, in its own units.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timex {
    /// Return value of the call: `TIME_OK`, ..., `TIME_ERROR`.
    pub state: i32,
    /// Status bits, `STA_*`.
    pub status: i32,
    /// Offset: nanoseconds with `STA_NANO`, else microseconds.
    pub offset: i64,
    /// Frequency correction in parts per million, times 65536.
    pub frequency: i64,
    /// Maximum error in microseconds.
    pub maximum_error_us: i64,
    /// Estimated error in microseconds.
    pub estimated_error_us: i64,
    /// Length of a tick in microseconds.
    pub tick_us: i64,
    /// Offset from International Atomic Time in seconds.
    pub tai_s: i32,
}

const TIME_ERROR: i32 = 5;
const STA_UNSYNC: i32 = 0x0040;
const STA_NANO: i32 = 0x2000;

/// Status bits by name (linux/timex.h).
const STATUS: [(i32, &str); 16] = [
    (0x0001, "PLL"),
    (0x0002, "PPSFREQ"),
    (0x0004, "PPSTIME"),
    (0x0008, "FLL"),
    (0x0010, "INS"),
    (0x0020, "DEL"),
    (STA_UNSYNC, "UNSYNC"),
    (0x0080, "FREQHOLD"),
    (0x0100, "PPSSIGNAL"),
    (0x0200, "PPSJITTER"),
    (0x0400, "PPSWANDER"),
    (0x0800, "PPSERROR"),
    (0x1000, "CLOCKERR"),
    (STA_NANO, "NANO"),
    (0x4000, "MODE"),
    (0x8000, "CLK"),
];

/// Decodes an answer of adjtimex(2).
pub fn decode(raw: &Timex) -> Synchronisation {
    let offset_unit_ns = if raw.status & STA_NANO != 0 { 1 } else { 1000 };
    let named = STATUS.iter().filter(|(bit, _)| raw.status & bit != 0);
    Synchronisation {
        synchronised: raw.state != TIME_ERROR && raw.status & STA_UNSYNC == 0,
        offset_ns: raw.offset.saturating_mul(offset_unit_ns),
        frequency_ppm: raw.frequency as f64 / 65_536.0,
        estimated_error_ns: raw.estimated_error_us.saturating_mul(1000),
        maximum_error_ns: raw.maximum_error_us.saturating_mul(1000),
        status: named.map(|(_, name)| (*name).to_owned()).collect(),
        leap_second: leap_second(raw.state).to_owned(),
        tai_offset_s: raw.tai_s,
        tick_us: raw.tick_us,
    }
}

fn leap_second(state: i32) -> &'static str {
    match state {
        1 => "insert",
        2 => "delete",
        3 => "in progress",
        4 => "past",
        _ => "none",
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_clock_kept_by_ntp_is_decoded() {
        let s = decode(&Timex {
            state: 0,
            status: 0x2001,
            offset: -1234,
            frequency: -3 * 65_536 / 2,
            maximum_error_us: 500,
            estimated_error_us: 7,
            tick_us: 10_000,
            tai_s: 37,
        });
        assert!(s.synchronised);
        assert_eq!((s.offset_ns, s.frequency_ppm), (-1234, -1.5));
        assert_eq!((s.maximum_error_ns, s.estimated_error_ns), (500_000, 7_000));
        assert_eq!(s.status, ["PLL", "NANO"]);
        assert_eq!((s.leap_second.as_str(), s.tai_offset_s), ("none", 37));
    }

    #[test]
    fn an_unsynchronised_clock_is_told_with_its_offset_in_microseconds() {
        let s = decode(&Timex {
            state: TIME_ERROR,
            status: STA_UNSYNC,
            offset: 3,
            maximum_error_us: 16_000_000,
            ..Timex::default()
        });
        assert!(!s.synchronised);
        assert_eq!((s.offset_ns, s.maximum_error_ns), (3000, 16_000_000_000));
        assert_eq!(s.status, ["UNSYNC"]);
        // The bit counts even where the state was computed before.
        assert!(
            !decode(&Timex {
                status: STA_UNSYNC,
                ..Timex::default()
            })
            .synchronised
        );
    }

    #[test]
    fn a_leap_second_ahead_is_told() {
        assert_eq!(
            decode(&Timex {
                state: 1,
                ..Timex::default()
            })
            .leap_second,
            "insert"
        );
    }
}
