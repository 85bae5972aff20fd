//! What the whole machine did: context switches and interrupts.

use std::io;
use std::time::Instant;

/// Totals of the whole machine since it booted, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// When the totals were read.
    pub at: Instant,
    /// Context switches on all CPUs.
    pub context_switches: u64,
    /// Interrupts on all CPUs.
    pub interrupts: u64,
}

/// What the whole machine did per second.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct ActivityRates {
    /// Context switches per second on all CPUs.
    pub context_switches_per_second: f64,
    /// Interrupts per second on all CPUs.
    pub interrupts_per_second: f64,
}

impl Activity {
    /// Rates between an earlier moment and this one; 0 if no time has passed.
    pub fn rates_since(&self, earlier: &Activity) -> ActivityRates {
        let seconds = self.at.saturating_duration_since(earlier.at).as_secs_f64();
        let rate = |now: u64, before: u64| match seconds > 0.0 {
            true => now.saturating_sub(before) as f64 / seconds,
            false => 0.0,
        };
        ActivityRates {
            context_switches_per_second: rate(self.context_switches, earlier.context_switches),
            interrupts_per_second: rate(self.interrupts, earlier.interrupts),
        }
    }
}

/// Reads the totals of the whole machine; also of use at rest.
///
/// # Errors
/// If `/proc/stat` cannot be read or lacks a total.
pub fn machine_activity() -> io::Result<Activity> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let total = |name: &str| {
        total(&text, name)
            .ok_or_else(|| io::Error::other(format!("/proc/stat has no readable line '{name}'")))
    };
    Ok(Activity {
        at: Instant::now(),
        context_switches: total("ctxt")?,
        interrupts: total("intr")?,
    })
}

/// The first number of the line called `name` (the procfs crate skips `intr`).
fn total(stat: &str, name: &str) -> Option<u64> {
    stat.lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        .find_map(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn totals_are_the_first_number_of_their_line() {
        let stat = "cpu  1 2 3\nintr 479707 0 7\nctxt 577957\nctxtra 5\n";
        assert_eq!(total(stat, "intr"), Some(479_707));
        assert_eq!(total(stat, "ctxt"), Some(577_957));
        assert_eq!(total(stat, "btime"), None);
        assert_eq!(total("intr x\n", "intr"), None);
    }

    #[test]
    fn rates_are_differences_per_second() {
        let before = Activity {
            at: Instant::now(),
            context_switches: 100,
            interrupts: 50,
        };
        let after = Activity {
            at: before.at + Duration::from_millis(500),
            context_switches: 1100,
            interrupts: 60,
        };
        let rates = after.rates_since(&before);
        assert_eq!(rates.context_switches_per_second, 2000.0);
        assert_eq!(rates.interrupts_per_second, 20.0);
        assert_eq!(before.rates_since(&before).interrupts_per_second, 0.0);
    }

    #[test]
    fn this_machine_switches_contexts() {
        let before = machine_activity().unwrap();
        (0..20).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
        let after = machine_activity().unwrap();
        assert!(after.context_switches >= before.context_switches + 20);
    }
}
