//! One cell of a plan: what is measured, and how its trials share the run's time.

use std::time::Duration;

use tompion_probe::{ThreadSettings, read_cost, timer_events, wake_up};
use tompion_record::Factors;

/// What is watched beside a measurement (the feedback mechanism of Whiteaker 2011,
/// section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Observe {
    /// What keeps the thread from running, where that is permitted; else the thread's
    /// switches where the probe hardly switches, and counters alone beside sleeps: a
    /// record of each sleep's two switches costs it a microsecond or two.
    #[default]
    Auto,
    /// Nothing.
    Off,
    /// The machine's counters, ten times a second.
    Counters,
    /// Being preempted, kept waiting or stopped, and page faults, too: recorded only
    /// when it happens; takes privilege.
    Turns,
    /// The measuring thread's own switches and faults, all of them.
    Threads,
    /// Everything that happens on its CPUs, too; takes privilege.
    Cpus,
}

impl Observe {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Auto,
        Self::Off,
        Self::Counters,
        Self::Turns,
        Self::Threads,
        Self::Cpus,
    ];

    /// The name on the command line and the level of the factor `observe`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
            Self::Counters => "counters",
            Self::Turns => "turns",
            Self::Threads => "threads",
            Self::Cpus => "cpus",
        }
    }
}

impl Observe {
    /// What `Auto` means for a probe where turns are not to be had.
    pub fn beside(self, probe: &ProbePlan) -> Self {
        match (self, probe) {
            (Self::Auto, ProbePlan::ReadCost(_) | ProbePlan::Stalls { .. }) => Self::Threads,
            (Self::Auto, _) => Self::Counters,
            (other, _) => other,
        }
    }
}

impl std::str::FromStr for Observe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|o| o.name() == text)
            .ok_or_else(|| {
                format!("`{text}` is nothing to observe; use auto, off, counters, turns, threads or cpus")
            })
    }
}

/// What a cell's probe does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbePlan {
    /// Read cost of one clock.
    ReadCost(read_cost::Method),
    /// Wake-up latency of one function at one target.
    WakeUp {
        /// The function.
        method: wake_up::Method,
        /// How far ahead it is told to wake, in nanoseconds.
        target_ns: u64,
    },
    /// Periodic events of one mechanism.
    TimerEvents {
        /// The mechanism.
        method: timer_events::Method,
        /// A fixed grid, or re-armed after each event.
        form: timer_events::Form,
        /// The period in nanoseconds.
        period_ns: u64,
    },
    /// Stalls of busy loops.
    Stalls {
        /// Iterations longer than this are stalls, in nanoseconds.
        threshold_ns: u64,
        /// One loop on each of these CPUs at once, each a trial of its own; empty
        /// for one loop where the thread's settings put it.
        cpus: Vec<u32>,
    },
}

/// One cell of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCell {
    /// Its key.
    pub factors: Factors,
    /// What is measured.
    pub probe: ProbePlan,
    /// How the measuring thread is set up.
    pub thread: ThreadSettings,
    /// Index into [`Plan::loads`](super::Plan::loads).
    pub load: usize,
    /// What is watched meanwhile.
    pub observe: Observe,
    /// Samples of one trial.
    pub samples: u64,
    /// Share of the run's time relative to other timed cells, beyond the least
    /// that each one needs.
    pub weight: f64,
}

impl PlannedCell {
    /// Samples after the warm-up that every wake-up trial should have.
    pub const FEW: u64 = 5;

    /// The least time that a timed trial is worth making for: its warm-up and a
    /// few samples, however long they sleep. Zero for read cost.
    pub fn least_time(&self) -> Duration {
        /// What a sleep takes beyond its target where timer slack is at its default.
        const LATE_NS: u64 = 100_000;
        /// Short sleeps are never so few.
        const SHORTEST: Duration = Duration::from_millis(8);
        /// A few dozen ticks of the kernel.
        const SHORTEST_LOOP: Duration = Duration::from_millis(100);
        let waiting = |each_ns: u64| {
            let sleeps = wake_up::WARM_UP + self.samples.min(Self::FEW);
            let ns = each_ns.saturating_add(LATE_NS).saturating_mul(sleeps);
            Duration::from_nanos(ns).max(SHORTEST)
        };
        match self.probe {
            ProbePlan::ReadCost(_) => Duration::ZERO,
            ProbePlan::WakeUp { target_ns, .. } => waiting(target_ns),
            ProbePlan::TimerEvents { period_ns, .. } => waiting(period_ns),
            ProbePlan::Stalls { .. } => SHORTEST_LOOP,
        }
    }

    /// The weight of a cell whose trials last as long as they are given; none for
    /// read cost, which takes what it needs.
    pub fn timed_weight(&self) -> Option<f64> {
        match self.probe {
            ProbePlan::ReadCost(_) => None,
            _ => Some(self.weight),
        }
    }

    /// Whether a busy loop is watched.
    pub(crate) fn is_stalls(&self) -> bool {
        matches!(self.probe, ProbePlan::Stalls { .. })
    }

    /// How many trials it gives in each block.
    pub fn trials(&self) -> usize {
        match &self.probe {
            ProbePlan::Stalls { cpus, .. } => cpus.len().max(1),
            _ => 1,
        }
    }

    /// How long the probe waits before it looks whether it should stop, in
    /// nanoseconds; zero where it never waits.
    pub fn wait_ns(&self) -> u64 {
        match self.probe {
            ProbePlan::WakeUp { target_ns, .. } => target_ns,
            ProbePlan::TimerEvents { period_ns, .. } => period_ns,
            ProbePlan::ReadCost(_) | ProbePlan::Stalls { .. } => 0,
        }
    }
}

/// A search for the smallest period that a mechanism holds.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedSearch {
    /// Its key: that of the timer events, without a period.
    pub factors: Factors,
    /// The mechanism.
    pub method: timer_events::Method,
    /// A fixed grid, or re-armed after each event.
    pub form: timer_events::Form,
    /// How the measuring thread is set up.
    pub thread: ThreadSettings,
    /// Index into [`Plan::loads`](super::Plan::loads).
    pub load: usize,
}

impl PlannedSearch {
    /// What is searched for.
    pub fn search() -> timer_events::Search {
        timer_events::Search {
            time_ns: Self::LONGEST.as_nanos() as u64,
            ..timer_events::Search::default()
        }
    }

    /// A search ends after this long, done or not.
    pub const LONGEST: Duration = Duration::from_secs(20);
}
