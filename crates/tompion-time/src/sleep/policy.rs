//! How to wait: the policies by name.

use std::fmt;
use std::str::FromStr;

use super::budget::Budget;

/// How a [`Sleeper`](super::Sleeper) waits.
///
/// ```
/// use tompion_time::sleep::Policy;
///
/// let policy: Policy = "hybrid".parse()?;
/// assert_eq!(policy, Policy::hybrid());
/// # Ok::<(), tompion_time::sleep::ParsePolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
// Zero is the first: the preload library's threads begin with zeroed memory.
#[repr(u8)]
pub enum Policy {
    /// `kernel`: sleeps in the kernel with 1 ns of timer slack and never spins.
    /// Late by the wake-up latency; next to no CPU time.
    Kernel,
    /// `hybrid`: sleeps in the kernel with 1 ns of timer slack until a learned
    /// margin before the deadline, then spins, never more than `budget` allows.
    Hybrid {
        /// The largest share of wall time that may be spent spinning.
        budget: Budget,
    },
    /// `spin`: reads the clock until the deadline. One whole CPU.
    Spin,
    /// `highpertimer`: the rule published for the HighPerTimer library
    /// (Kirova et al. 2019, section 2.1.1): a kernel sleep that ends one
    /// scheduler tick (1/HZ) before the deadline, skipped where the sleep is no
    /// longer than that, then spinning. The timer slack is the thread's default,
    /// as in the original.
    HighPerTimer,
    /// `system`: a kernel sleep with the thread's default timer slack (50 us
    /// unless somebody changed it), as `std::thread::sleep` does it.
    System,
}

impl Policy {
    /// Every policy's name, in the order of the declaration.
    pub const NAMES: [&str; 5] = ["kernel", "hybrid", "spin", "highpertimer", "system"];

    /// The hybrid policy with the default budget.
    pub const fn hybrid() -> Self {
        Self::Hybrid {
            budget: Budget::DEFAULT,
        }
    }

    /// The name, without the budget.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => Self::NAMES[0],
            Self::Hybrid { .. } => Self::NAMES[1],
            Self::Spin => Self::NAMES[2],
            Self::HighPerTimer => Self::NAMES[3],
            Self::System => Self::NAMES[4],
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Policy {
    type Err = ParsePolicyError;

    /// Reads a name; `hybrid` has the default budget.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        [
            Self::Kernel,
            Self::hybrid(),
            Self::Spin,
            Self::HighPerTimer,
            Self::System,
        ]
        .into_iter()
        .find(|policy| policy.name() == name)
        .ok_or_else(|| ParsePolicyError(name.to_owned()))
    }
}

/// No sleep policy has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePolicyError(String);

impl fmt::Display for ParsePolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a sleep policy; the policies are {}",
            self.0,
            Policy::NAMES.join(", ")
        )
    }
}

impl std::error::Error for ParsePolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_as_its_policy() {
        for name in Policy::NAMES {
            let policy: Policy = name.parse().unwrap();
            assert_eq!(policy.to_string(), name);
        }
        assert_eq!(format!("{:>8}|", Policy::Spin), "    spin|");
    }

    #[test]
    fn an_unknown_name_is_told_what_would_be_right() {
        let error = "Hybrid".parse::<Policy>().unwrap_err().to_string();
        assert!(error.contains("\"Hybrid\""), "{error}");
        assert!(error.ends_with("kernel, hybrid, spin, highpertimer, system"));
    }
}
