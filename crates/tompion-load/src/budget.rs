//! What loads may write over a run: one rule for all that start them.

use std::time::Duration;

use crate::LoadSpec;
use crate::job::Budget;
use crate::loads::BLOCK_BYTES;
use crate::spec::Part;

/// What the loads of a run may write together, in bytes, where that lasts.
pub const USUAL_WRITE_BYTES: u64 = 100_000_000;

/// What each of `loads`, which take turns and may each be on for `time`, may write in
/// bytes: its part of [`USUAL_WRITE_BYTES`], or what its slowest pace needs for so long.
///
/// Since they take turns, together they write no more than one of them could.
pub fn write_budget(loads: &[LoadSpec], time: Duration) -> u64 {
    let writing = loads.iter().filter(|l| l.writers() > 0).count().max(1);
    (USUAL_WRITE_BYTES / writing as u64).max(least_write_bytes(loads, time))
}

/// What `loads`, which take turns, have to be allowed to write in `time`, in bytes: 100
/// writes a second of 4 KiB each, and a reserve. None where no load writes for as long as
/// it is on.
pub fn least_write_bytes(loads: &[LoadSpec], time: Duration) -> u64 {
    let least = |load: &LoadSpec| match load.is_paced() {
        // Loads that run together share alike, also with one that writes but once.
        true => Budget::least_bytes(time, BLOCK_BYTES).saturating_mul(load.writers() as u64),
        false => 0,
    };
    loads.iter().map(least).max().unwrap_or(0)
}

/// For how long each of `loads` may be on where none may write more than `most` bytes, in
/// whole seconds; `None` where no time bounds it, or not even one second would do.
pub fn longest_write_time(loads: &[LoadSpec], most: u64) -> Option<Duration> {
    let second = Duration::from_secs(1);
    let reserve = least_write_bytes(loads, Duration::ZERO);
    let each = least_write_bytes(loads, second).saturating_sub(reserve);
    // Rounding may cost one second, never more.
    let seconds = most.checked_sub(reserve)?.checked_div(each)?;
    let fits = |seconds: &u64| least_write_bytes(loads, Duration::from_secs(*seconds)) <= most;
    let seconds = [seconds + 1, seconds, seconds.saturating_sub(1)]
        .into_iter()
        .find(fits)?;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

impl LoadSpec {
    /// How many of the loads that run together write files, wherever.
    pub(crate) fn writers(&self) -> usize {
        let spends = |part: &&Part| part.spends_budget();
        self.components().iter().filter(spends).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(names: &str) -> Vec<LoadSpec> {
        names.split(',').map(|n| n.parse().unwrap()).collect()
    }

    #[test]
    fn it_grows_with_the_time_and_is_never_less_than_usual() {
        let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3600));
        for (names, time, want) in [
            ("idle,cpu,io", minute, 100_000_000),
            ("io,hd,cpu,memory", minute, 50_000_000),
            ("idle,cpu", hour, 100_000_000),
            ("disk-read", hour, 100_000_000),
            // 512 kB a second, and the one write that is due at once.
            ("idle,cpu,io", hour, 1_843_204_096),
            ("io,hd,file-server,idle", hour, 1_843_204_096),
            ("cpu+io+hd", hour, 2 * 1_843_204_096),
        ] {
            assert_eq!(write_budget(&loads(names), time), want, "{names}");
        }
    }

    #[test]
    fn the_longest_time_is_the_last_second_that_suffices() {
        for names in ["io", "hd,io", "io+hd", "cpu,io+hd+file-server"] {
            let loads = loads(names);
            for most in [600_000_u64, 1_000_000, 140_000_000, 2_000_000_001, 1 << 40] {
                let longest = longest_write_time(&loads, most);
                let seconds = longest.map_or(0, |time| time.as_secs());
                let needed = |s| least_write_bytes(&loads, Duration::from_secs(s));
                assert!(seconds == 0 || needed(seconds) <= most, "{names} {most}");
                assert!(needed(seconds + 1) > most, "{names} {most}: {seconds}");
            }
        }
        assert_eq!(longest_write_time(&loads("idle,cpu"), 1), None);
        assert_eq!(longest_write_time(&loads("io"), 4000), None);
    }

    #[test]
    fn it_suffices_for_every_time_and_number_of_loads() {
        for names in [
            "io",
            "hd,io",
            "io+hd",
            "io+hd+file-server,io",
            "disk-read+io",
        ] {
            let loads = loads(names);
            for seconds in [0.001, 1.0, 30.0, 195.7, 310.0, 3610.0, 86_410.0, 9e6] {
                let time = Duration::from_secs_f64(seconds);
                let each = write_budget(&loads, time);
                for load in &loads {
                    let bytes = each / load.writers() as u64;
                    let size = Budget { bytes, time }.operation_bytes(BLOCK_BYTES, BLOCK_BYTES);
                    assert_eq!(size, Ok(BLOCK_BYTES), "{load} for {seconds} s");
                }
            }
        }
    }
}
