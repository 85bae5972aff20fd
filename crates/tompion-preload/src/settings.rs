//! What `tompion preload` passes on, in the environment variable `TOMPION_PRELOAD`.

use std::fmt;

use tompion_time::Policy;
use tompion_time::sleep::Budget;

/// The variable's name.
pub const VARIABLE: &str = "TOMPION_PRELOAD";

/// A comma list, every part optional: `clock=tsc,sleep=hybrid,budget=0.05,explain`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// `clock=auto|tsc|kernel`.
    pub clock: Policy,
    /// `sleep=system|hybrid`, and `budget=SHARE` of a CPU for hybrid sleeps.
    pub hybrid: Option<Budget>,
    /// `agreed=BOOT_ID`: the CPUs' counters were compared in this boot.
    pub agreed: Option<String>,
    /// `always`: the counter also where the kernel's clock is as fast, for tests.
    pub always: bool,
    /// `explain`: say on standard error what is done.
    pub explain: bool,
}

/// A part that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misunderstood(String);

impl fmt::Display for Misunderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{VARIABLE}: {:?} is none of clock=auto|tsc|kernel, sleep=system|hybrid, \
             budget=SHARE (0 to 1), agreed=BOOT_ID, always, explain",
            self.0
        )
    }
}

impl Settings {
    /// Reads the list. A part that cannot be understood changes nothing; the first
    /// is reported.
    pub fn parse(list: &str) -> (Self, Option<Misunderstood>) {
        let mut settings = Self::default();
        let mut hybrid = false;
        let mut budget = Budget::DEFAULT;
        let mut odd = None;
        for part in list.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let understood = match part.split_once('=').unwrap_or((part, "")) {
                ("explain", "") => take(Some(true), &mut settings.explain),
                ("always", "") => take(Some(true), &mut settings.always),
                ("clock", name) => take(name.parse().ok(), &mut settings.clock),
                ("sleep", "hybrid") => take(Some(true), &mut hybrid),
                ("sleep", "system") => take(Some(false), &mut hybrid),
                ("budget", share) => {
                    let share = share.parse().ok();
                    take(share.and_then(|s| Budget::share(s).ok()), &mut budget)
                }
                ("agreed", boot) => take(Some(Some(boot.to_owned())), &mut settings.agreed),
                _ => false,
            };
            if !understood && odd.is_none() {
                odd = Some(Misunderstood(part.chars().take(60).collect()));
            }
        }
        settings.hybrid = hybrid.then_some(budget);
        (settings, odd)
    }
}

/// Whether there was a value; stored then.
fn take<T>(value: Option<T>, place: &mut T) -> bool {
    value.map(|value| *place = value).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_means_the_defaults() {
        assert_eq!(Settings::parse(""), (Settings::default(), None));
        assert_eq!(Settings::parse(" , ,"), (Settings::default(), None));
    }

    #[test]
    fn every_part_is_understood() {
        let (settings, odd) =
            Settings::parse("clock=tsc,budget=0.05,sleep=hybrid,agreed=3a-1,always,explain");
        assert_eq!(odd, None);
        assert_eq!(settings.clock, Policy::Tsc);
        assert_eq!(settings.hybrid.map(Budget::as_share), Some(0.05));
        assert_eq!(settings.agreed.as_deref(), Some("3a-1"));
        assert!(settings.always && settings.explain);
        let (settings, _) = Settings::parse("clock=kernel,sleep=hybrid,sleep=system");
        assert_eq!((settings.clock, settings.hybrid), (Policy::Kernel, None));
    }

    #[test]
    fn what_is_not_understood_is_named_and_changes_nothing() {
        for odd in ["clock=fast", "budget=2", "sleep=", "explain=1", "turbo"] {
            let (settings, named) = Settings::parse(&format!("{odd},clock=kernel"));
            assert_eq!(settings.clock, Policy::Kernel);
            assert!(named.unwrap().to_string().contains(odd), "{odd}");
        }
    }
}
