//! The remedies that verdicts may take in place of the sleep as it is, and the words for them.

use tompion_model::{Factors, Way, factor};

use crate::verdict::basis;

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

/// Spinning to the deadline in place of a sleep.
pub const SPINNING: Words = Words {
    how: "poll the clock until the deadline with tompion_time::sleep::Policy::spin()",
    price: "it keeps a CPU to itself",
};

/// A real-time policy for the sleeping thread.
pub const REAL_TIME: Words = Words {
    how: "sched_setscheduler(0, SCHED_FIFO, &param) in the sleeping thread",
    price: "it needs CAP_SYS_NICE, and a loop that never sleeps keeps others from its CPU",
};

/// What makes sleeps late where a remedy helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// The timer slack that threads start with.
    Slack,
    /// Threads wait for their turn on a CPU.
    Turn,
    /// Nothing is wrong, and the kernel's sleeps do not do.
    TightLimits,
}

/// What a program can do in place of sleeping as it does.
#[derive(Debug)]
pub struct Remedy {
    /// What it is called in verdicts: `with slack 1 ns`.
    pub name: &'static str,
    /// How it is applied, and what it costs.
    pub words: Words,
    /// What makes sleeps late where it helps.
    pub mends: Delay,
    /// Whether what has the second factors is what has the first, with this remedy. Load and target
    /// are not among them.
    applies: fn(&Factors, &Factors) -> bool,
}

impl PartialEq for Remedy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A slack of 1 ns in place of the one that threads start with.
pub static SLACK: &Remedy = &REMEDIES[0];

/// All of them, what costs least first.
pub static REMEDIES: [Remedy; 4] = [
    Remedy {
        name: "slack 1 ns",
        words: TIMER_SLACK,
        mends: Delay::Slack,
        applies: |before, after| {
            after.get(factor::SLACK) == Some("1ns")
                && *after == before.clone().with(factor::SLACK, "1ns")
        },
    },
    Remedy {
        name: "hybrid sleep",
        words: HYBRID_SLEEP,
        mends: Delay::TightLimits,
        applies: |before, after| is_way(after, Way::SleepsThenSpins) && rest(before) == rest(after),
    },
    Remedy {
        name: "real-time policy",
        words: REAL_TIME,
        mends: Delay::Turn,
        applies: |before, after| {
            // Real-time threads have no slack.
            let others = |f: &Factors| f.clone().without(factor::POLICY).without(factor::SLACK);
            let is_other = |f: &Factors| ["", "other"].contains(&f.level(factor::POLICY));
            is_other(before)
                && !is_other(after)
                && !["idle", "batch"].contains(&after.level(factor::POLICY))
                && others(before) == others(after)
        },
    },
    Remedy {
        name: "spinning",
        words: SPINNING,
        mends: Delay::TightLimits,
        applies: |before, after| is_way(after, Way::Spins) && rest(before) == rest(after),
    },
];

impl Remedy {
    /// The one that verdicts call so.
    pub fn named(name: &str) -> Option<&'static Self> {
        REMEDIES.iter().find(|r| r.name == name)
    }

    /// Whether what it mends is a fault.
    pub fn mends_a_fault(&self) -> bool {
        self.mends != Delay::TightLimits
    }

    /// Its place in the list: what costs less comes first.
    pub(super) fn place(&self) -> Option<usize> {
        REMEDIES.iter().position(|r| r == self)
    }

    /// What `after` is to `before`, both without load and target.
    pub(super) fn of(before: &Factors, after: &Factors) -> Option<&'static Self> {
        REMEDIES.iter().find(|r| (r.applies)(before, after))
    }
}

fn is_way(factors: &Factors, way: Way) -> bool {
    basis::way(factors) == Some(way)
}

/// What stays as it is where another method waits.
fn rest(factors: &Factors) -> Factors {
    factors
        .clone()
        .without(factor::METHOD)
        .without(factor::SLACK)
}
