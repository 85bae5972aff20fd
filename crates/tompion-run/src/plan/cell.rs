//! One cell of a plan: what is measured, and how its trials share the run's time.

use std::sync::Arc;
use std::time::Duration;

use tompion_model::Factors;
use tompion_probe::{ThreadSettings, timer_events};

use crate::Observe;
use crate::probes::{Probing, Way};

/// One cell of the plan.
#[derive(Clone, Debug)]
pub struct PlannedCell {
    /// Its key.
    pub factors: Factors,
    /// What is measured.
    pub probe: Arc<dyn Probing>,
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
    /// How long a trial lasts where the run's time allows it; absent for what gets a share by its weight.
    pub lasting: Option<Duration>,
    /// Whether it is measured only in blocks for which somebody asks for it.
    pub is_optional: bool,
}

impl PlannedCell {
    /// What a trial that is to last so long takes beyond the least.
    pub fn lasting_beyond(&self) -> Option<Duration> {
        Some(self.lasting?.saturating_sub(self.least_time()))
    }

    /// The least time that a timed trial is worth making for: its warm-up and a
    /// few samples, however long they sleep. Zero for read cost.
    pub fn least_time(&self) -> Duration {
        self.probe.least_time(self.samples)
    }

    /// The weight of a cell whose trials last as long as they are given; none for
    /// what takes what it needs.
    pub fn timed_weight(&self) -> Option<f64> {
        self.probe.is_timed().then_some(self.weight)
    }

    /// How many trials it gives in each block.
    pub fn trials(&self) -> usize {
        self.probe.trials()
    }

    /// The keys of its trials; of busy loops on several CPUs, without those.
    pub fn keys(&self) -> Vec<Factors> {
        let joined = |own: &Factors| self.factors.clone().joined(own);
        match self.probe.way() {
            Way::Sleepers(at_once) => at_once.members.iter().map(|m| joined(&m.factors)).collect(),
            Way::Split(split) => split.parts.iter().map(joined).collect(),
            Way::OnThread(_) | Way::Loops(_) => vec![self.factors.clone()],
        }
    }

    /// How long the probe waits before it looks whether it should stop, in
    /// nanoseconds; zero where it never waits.
    pub fn wait_ns(&self) -> u64 {
        self.probe.wait_ns()
    }

    /// The CPUs on which busy loops of its own run; empty without.
    pub fn loop_cpus(&self) -> &[u32] {
        match self.probe.way() {
            Way::Loops(stalls) => &stalls.cpus,
            Way::OnThread(_) | Way::Sleepers(_) | Way::Split(_) => &[],
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
