//! Which clock serves the program, and how that is told.

use std::fmt;

use tompion_time::Reason;

/// Faster by less is not worth another clock than the kernel's own.
const WORTH_IT: f64 = 0.9;

/// What reading a clock costs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// By the counter.
    pub counter_ns: f64,
    /// By the kernel's way: vDSO or system call.
    pub kernel_ns: f64,
    /// `time` by the kernel's way: the vDSO has the seconds in memory.
    pub time_ns: f64,
}

/// Which clock serves.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The counter, which is faster.
    Counter(Costs),
    /// The kernel's clock: the counter is no faster.
    NotFaster(Costs),
    /// The kernel's clock: the counter is not to be used.
    Kernel(Reason),
    /// The clock of another preloaded library, which comes after this one: nobody
    /// preloads one to have it bypassed.
    Foreign(String),
}

impl Decision {
    /// By the costs measured, unless the counter is wanted always.
    pub fn by(costs: Costs, always: bool) -> Self {
        if always || costs.counter_ns <= costs.kernel_ns * WORTH_IT {
            Self::Counter(costs)
        } else {
            Self::NotFaster(costs)
        }
    }

    /// Whether the counter serves `time` too: it has to be faster there as well, which it
    /// is where the kernel has no vDSO, or none with this call.
    pub fn replaces_time(&self, always: bool) -> bool {
        match self {
            Self::Counter(costs) => always || costs.counter_ns <= costs.time_ns * WORTH_IT,
            _ => false,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counter(costs) => write!(
                f,
                "clock: the CPU counter, {:.1} ns a read instead of {:.1}",
                costs.counter_ns, costs.kernel_ns
            ),
            Self::NotFaster(costs) => write!(
                f,
                "clock: the kernel's own, because the counter is no faster \
                 ({:.1} ns a read, {:.1} by the kernel)",
                costs.counter_ns, costs.kernel_ns
            ),
            Self::Foreign(library) => write!(f, "clock: that of {library}, which comes next"),
            Self::Kernel(reason) => write!(f, "clock: the kernel's own, because {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_steps_aside_where_the_kernel_is_as_fast() {
        let costs = |counter_ns, kernel_ns| Costs {
            counter_ns,
            kernel_ns,
            time_ns: 2.5,
        };
        for (counter, kernel, taken) in [
            (24.0, 2400.0, true),
            (24.0, 30.0, true),
            (24.0, 26.0, false),
            (24.0, 24.0, false),
            (24.0, 12.0, false),
        ] {
            let decision = Decision::by(costs(counter, kernel), false);
            assert_eq!(
                matches!(decision, Decision::Counter(_)),
                taken,
                "{decision}"
            );
        }
    }

    #[test]
    fn seconds_from_memory_stay_the_kernels() {
        let by = |time_ns, always| {
            let costs = Costs {
                counter_ns: 24.0,
                kernel_ns: 2400.0,
                time_ns,
            };
            Decision::by(costs, always).replaces_time(always)
        };
        assert!(!by(2.5, false));
        assert!(!by(26.0, false));
        assert!(by(300.0, false));
        assert!(by(2.5, true));
        assert!(!Decision::Kernel(Reason::Requested).replaces_time(true));
    }

    #[test]
    fn every_decision_says_why() {
        let costs = Costs {
            counter_ns: 24.26,
            kernel_ns: 812.0,
            time_ns: 2.5,
        };
        assert_eq!(
            Decision::by(costs, false).to_string(),
            "clock: the CPU counter, 24.3 ns a read instead of 812.0"
        );
        assert!(
            Decision::NotFaster(costs)
                .to_string()
                .contains("no faster (24.3 ns")
        );
        let why = Decision::Kernel(Reason::NotListed).to_string();
        assert!(
            why.starts_with("clock: the kernel's own, because "),
            "{why}"
        );
    }
}
