//! What is measured by several sleepers at once, which keep CPUs from idling deeply.

use tompion_model::{Factors, factor, format_ns};

/// What company is taken to move a quantile by at most, in nanoseconds. On a virtual machine with two CPUs, 24 sleepers
/// took the p99 of a sleep of 20 ms from 194 to 159 us, and 4 of them that of 7.8 ms from 239 to 132 us or from 184
/// to 156.
pub const COMPANY_NS: f64 = 100_000.0;

/// The largest share of its limit by which a judged quantile may be moved so.
pub const SMALL: f64 = 0.02;

/// What decides on a machine how long a sleeper may wait for a CPU that is taken.
#[derive(Clone, Copy, Debug)]
pub struct Scheduler {
    /// How often it looks at the threads of a CPU, in nanoseconds.
    pub tick_ns: f64,
    /// CPUs that it has for sleepers.
    pub cpus: u32,
}

impl Scheduler {
    /// How many sleepers of a period may wake up in turn beside a load that makes them wait: on each CPU none within a tick
    /// of the last. A sleeper that finds its CPU taken may have to wait for the tick; the next one that wakes up there makes
    /// the scheduler look at once, and would end that wait. In a guest of one CPU beside `network` a single sleeper of 20 ms
    /// waited for the tick 21 times in 2000, up to 2.4 ms; 24 of them never waited for more than the 0.8 ms to the next one.
    pub fn most_in_turn(self, period_ns: f64) -> u32 {
        // At a whole number of ticks all would wake up at one place within them.
        let on_each = (period_ns / self.tick_ns).ceil() as u32;
        let on_each = on_each.saturating_sub(1).max(1);
        on_each.saturating_mul(self.cpus.max(1))
    }
}

/// Whether what has this limit may be measured in company.
pub fn may_have_company(limit_ns: f64) -> bool {
    limit_ns * SMALL >= COMPANY_NS
}

/// How a use was measured whose quantile is held against `limit_ns`: `alone`, or in which company.
pub fn in_words(measured: &Factors, limit_ns: f64) -> String {
    match measured.get(factor::COMPANY) {
        None => "alone".to_owned(),
        Some(threads) => {
            let share = COMPANY_NS / limit_ns * 100.0;
            let digits = usize::from(share < 9.95 && share.fract().abs() > 0.05);
            format!(
                "in company, {threads} sleepers at once, which is taken to move it by at most {} \
                 ({share:.digits$} % of the limit)",
                format_ns(COMPANY_NS)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_limit_of_fifty_times_what_company_moves_bears_it() {
        assert!(may_have_company(5e6) && !may_have_company(4.9e6));
    }

    #[test]
    fn none_wakes_up_within_a_tick_of_the_last_on_its_cpu() {
        let most = |period_ns, tick_ns, cpus| Scheduler { tick_ns, cpus }.most_in_turn(period_ns);
        assert_eq!(most(2e7, 4e6, 1), 4);
        assert_eq!(most(2e7, 4e6, 2), 8);
        assert_eq!(most(2.1e7, 4e6, 1), 5);
        assert_eq!(most(2e7, 1e6, 2), 38);
        assert_eq!(most(2e7, 1e7, 1), 1);
        assert_eq!(most(1e6, 4e6, 1), 1);
    }

    #[test]
    fn how_it_was_measured_is_said_with_what_it_may_be_off_by() {
        let alone = Factors::new().with(factor::METHOD, "usleep");
        assert_eq!(in_words(&alone, 5e6), "alone");
        let of = |limit_ns| in_words(&alone.clone().with(factor::COMPANY, "24"), limit_ns);
        assert_eq!(
            of(5e6),
            "in company, 24 sleepers at once, which is taken to move it by at most 100 µs (2 % of the limit)"
        );
        assert!(of(4e6).ends_with("100 µs (2.5 % of the limit)"));
        assert!(of(3e5).ends_with("100 µs (33 % of the limit)"));
    }
}
