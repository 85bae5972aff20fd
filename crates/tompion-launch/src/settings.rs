//! What the preload library is told.

use tompion_time::Policy;
use tompion_time::sleep::Budget;

/// The environment variable that the preload library reads.
pub const SETTINGS_VARIABLE: &str = "TOMPION_PRELOAD";

/// The preload library's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// When clocks are read from the CPU counter.
    pub clock: Policy,
    /// Sleeps wake before their deadline and spin over the rest.
    pub hybrid_sleeps: bool,
    /// How much hybrid sleeps may spin; the library's own default if `None`.
    pub budget: Option<Budget>,
    /// The boot in which the CPUs' counters were compared and agree.
    pub agreed: Option<String>,
    /// The counter also where the kernel's clock is as fast, for tests.
    pub always: bool,
    /// The library tells on standard error what it does.
    pub explain: bool,
}

impl Settings {
    /// The value of [`SETTINGS_VARIABLE`].
    pub fn variable(&self) -> String {
        let sleep = if self.hybrid_sleeps {
            "hybrid"
        } else {
            "system"
        };
        let mut value = format!("clock={},sleep={sleep}", self.clock);
        if let Some(budget) = self.budget {
            value += &format!(",budget={}", budget.as_share());
        }
        if let Some(boot) = &self.agreed {
            value += &format!(",agreed={boot}");
        }
        if self.always {
            value += ",always";
        }
        if self.explain {
            value += ",explain";
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_told() {
        assert_eq!(Settings::default().variable(), "clock=auto,sleep=system");
        let all = Settings {
            clock: Policy::Tsc,
            hybrid_sleeps: true,
            budget: Some(Budget::share(0.05).unwrap()),
            agreed: Some("b-1".into()),
            always: true,
            explain: true,
        };
        assert_eq!(
            all.variable(),
            "clock=tsc,sleep=hybrid,budget=0.05,agreed=b-1,always,explain"
        );
    }
}
