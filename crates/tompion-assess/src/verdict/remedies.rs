//! The words for remedies that more than one command tries.

/// How a remedy is applied, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The call to make.
    pub how: &'static str,
    /// What that costs, and whom.
    pub price: &'static str,
}

/// A timer slack of 1 ns.
pub const TIMER_SLACK: Words = Words {
    how: "prctl(PR_SET_TIMERSLACK, 1) in the sleeping thread; threads it starts later inherit it",
    price: "the kernel no longer merges nearby wake-ups, so that an idle machine wakes up more often",
};

/// Tompion's hybrid sleep in place of the kernel's.
pub const HYBRID_SLEEP: Words = Words {
    how: "tompion_time::sleep::Sleeper::new(Policy::hybrid()), then sleep(duration) or sleep_until_ns(deadline)",
    price: "it spins over the last microseconds of each sleep",
};
