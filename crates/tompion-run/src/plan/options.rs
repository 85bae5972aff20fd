//! What the user asks for, and the cells that come of it.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tompion_load::LoadSpec;
use tompion_probe::{Policy, ThreadSettings, read_cost, timer_events, wake_up};
use tompion_record::{Factors, Way, factor, format_duration};

use super::{Observe, PlannedCell, PlannedSearch};
use crate::probing::{ReadCost, Stalls, TimerEvents, WakeUp};

/// Timer slack of a wake-up cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// What the process has.
    Default,
    /// Set to this many nanoseconds.
    Ns(u64),
}

impl Slack {
    pub(super) fn level(self) -> String {
        match self {
            Self::Default => "default".to_owned(),
            Self::Ns(ns) => format_duration(ns),
        }
    }
}

/// Periodic events (Adamczyk 2015).
#[derive(Clone, Debug)]
pub struct TimerEventOptions {
    /// Mechanisms.
    pub methods: Vec<timer_events::Method>,
    /// Fixed grid, re-armed, or both.
    pub forms: Vec<timer_events::Form>,
    /// Periods in nanoseconds.
    pub periods_ns: Vec<u64>,
    /// Events of one trial.
    pub events: u64,
    /// Whether to search for the smallest period that each mechanism holds.
    pub search: bool,
}

/// Stalls of a busy loop (Perneel 2015).
#[derive(Clone, Debug)]
pub struct StallOptions {
    /// A loop on each of these CPUs at once; empty for one, wherever it may run.
    pub cpus: Vec<u32>,
    /// Iterations longer than this are stalls, in nanoseconds.
    pub threshold_ns: u64,
    /// Share of the run's time relative to wake-up cells of 1 ms.
    pub weight: f64,
}

/// What the time of a run is called where it is set, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSetting {
    /// Its name, for example `--duration`.
    pub name: &'static str,
    /// Part of [`PlanOptions::duration`] that was not set there, but added to it.
    pub added: Duration,
}

impl TimeSetting {
    /// An option of the command line, for all of the time.
    pub const fn option(name: &'static str) -> Self {
        Self {
            name,
            added: Duration::ZERO,
        }
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Read-cost methods; may be empty.
    pub read_methods: Vec<read_cost::Method>,
    /// Wake-up methods; may be empty.
    pub wake_methods: Vec<wake_up::Method>,
    /// Targets in nanoseconds, each with the methods measured at it (`None`:
    /// all of `wake_methods`).
    pub targets: Vec<(u64, Option<Vec<wake_up::Method>>)>,
    /// Timer slacks; they apply under `SCHED_OTHER` only.
    pub slacks: Vec<Slack>,
    /// Periodic timer events, absent for none.
    pub timer_events: Option<TimerEventOptions>,
    /// Stalls of a busy loop, absent for none.
    pub stalls: Option<StallOptions>,
    /// Loads, each one level.
    pub loads: Vec<LoadSpec>,
    /// Scheduling policies of the measuring thread.
    pub policies: Vec<Policy>,
    /// CPU to pin the measuring thread to.
    pub cpu: Option<u32>,
    /// What is watched meanwhile. Several, or one named twice, become levels of a
    /// factor: so observing is tested for its own effect.
    pub observe: Vec<Observe>,
    /// Passes over all cells.
    pub blocks: u32,
    /// Read-cost samples of a cell at rest, over all blocks; a tenth under load.
    pub read_samples: u64,
    /// Most wake-up samples of a cell, over all blocks.
    pub wake_samples: u64,
    /// Time for all trials together.
    pub duration: Duration,
    /// What whoever asks calls that time.
    pub time: TimeSetting,
    /// How long a load runs before its first trial begins.
    pub settle: Duration,
    /// Seed of the random order.
    pub seed: u64,
}

impl PlanOptions {
    /// About how long the timer events asked for take beside all loads, so that no
    /// trial is cut short for want of time.
    pub fn time_for_events(&self) -> Duration {
        /// What an event takes beyond its period where it is re-armed late, and what
        /// a trial takes beside its events.
        const LATE_NS: u64 = 100_000;
        const OVERHEAD: Duration = Duration::from_millis(50);
        let one_pass: Duration = self
            .loads
            .iter()
            .enumerate()
            .flat_map(|(i, spec)| {
                self.policies
                    .iter()
                    .flat_map(move |&policy| self.event_cells(i, spec, policy))
            })
            .map(|cell| {
                let each_ns = cell.wait_ns().saturating_add(LATE_NS);
                Duration::from_nanos(each_ns.saturating_mul(cell.samples)) + OVERHEAD
            })
            .sum();
        let switching = (self.settle + OVERHEAD) * self.loads.len() as u32;
        // Half as much again: beside loads everything takes longer.
        (one_pass + switching)
            .saturating_mul(self.blocks)
            .saturating_mul(3)
            / 2
    }

    /// A search for each mechanism and form that is measured beside a load.
    pub(super) fn searches(
        &self,
        load: usize,
        spec: &LoadSpec,
        policy: Policy,
    ) -> Vec<PlannedSearch> {
        if !self.timer_events.as_ref().is_some_and(|e| e.search) {
            return Vec::new();
        }
        let mut searches: Vec<PlannedSearch> = Vec::new();
        for cell in self.event_cells(load, spec, policy) {
            let probe: &dyn Any = &*cell.probe;
            let Some(&TimerEvents { method, form, .. }) = probe.downcast_ref() else {
                continue;
            };
            let factors = cell.factors.without(factor::TARGET);
            if searches.iter().all(|s| s.factors != factors) {
                searches.push(PlannedSearch {
                    factors,
                    method,
                    form,
                    thread: cell.thread,
                    load,
                });
            }
        }
        searches
    }

    /// Every cell beside one load under one policy.
    pub(super) fn cells(&self, load: usize, spec: &LoadSpec, policy: Policy) -> Vec<PlannedCell> {
        let mut cells = self.read_cells(load, spec, policy);
        cells.extend(self.wake_cells(load, spec, policy));
        cells.extend(self.event_cells(load, spec, policy));
        let others = match self.observe.as_slice() {
            [] => cells,
            [one] => cells
                .into_iter()
                .map(|c| PlannedCell { observe: *one, ..c })
                .collect(),
            several => crossed(&cells, several),
        };
        let mut cells = others;
        cells.extend(self.stall_cells(load, spec, policy));
        cells
    }

    fn key(&self, probe: &str, method: &str, load: &LoadSpec, policy: Policy) -> Factors {
        let key = Factors::new()
            .with(factor::PROBE, probe)
            .with(factor::METHOD, method)
            .with(factor::LOAD, load.level());
        if policy == Policy::Other {
            key
        } else {
            key.with(factor::POLICY, policy.to_string())
        }
    }

    fn read_cells(&self, load: usize, spec: &LoadSpec, policy: Policy) -> Vec<PlannedCell> {
        let of_cell = if spec.is_idle() {
            self.read_samples
        } else {
            self.read_samples / 10
        };
        self.read_methods
            .iter()
            .map(|&method| PlannedCell {
                factors: self.key(read_cost::NAME, method.name(), spec, policy),
                probe: Arc::new(ReadCost { method }),
                thread: ThreadSettings {
                    policy,
                    slack_ns: None,
                    cpu: self.cpu,
                },
                load,
                observe: Observe::default(),
                samples: (of_cell / method.sample_divisor())
                    .div_ceil(u64::from(self.blocks))
                    .max(1),
                weight: 1.0,
            })
            .collect()
    }

    fn wake_cells(&self, load: usize, spec: &LoadSpec, policy: Policy) -> Vec<PlannedCell> {
        let mut cells = Vec::new();
        for (target_ns, only) in &self.targets {
            for &method in only.as_ref().unwrap_or(&self.wake_methods) {
                if !self.wake_methods.contains(&method) {
                    continue;
                }
                let key = self
                    .key(wake_up::NAME, method.name(), spec, policy)
                    .with(factor::TARGET, format_duration(*target_ns));
                let slacks = self.slacks(policy, method.row().has_slack);
                cells.extend(slacks.into_iter().map(|slack| PlannedCell {
                    factors: with_slack(&key, slack),
                    probe: Arc::new(WakeUp {
                        method,
                        target_ns: *target_ns,
                    }),
                    thread: self.thread(policy, slack),
                    load,
                    observe: Observe::default(),
                    samples: self.wake_samples.div_ceil(u64::from(self.blocks)).max(1),
                    weight: weight(method, *target_ns),
                }));
            }
        }
        cells
    }

    fn event_cells(&self, load: usize, spec: &LoadSpec, policy: Policy) -> Vec<PlannedCell> {
        let Some(events) = &self.timer_events else {
            return Vec::new();
        };
        let mut cells = Vec::new();
        for &period_ns in &events.periods_ns {
            for &method in &events.methods {
                for &form in &events.forms {
                    let key = self
                        .key(timer_events::NAME, method.name(), spec, policy)
                        .with(factor::TARGET, format_duration(period_ns))
                        .with(factor::FORM, form.name());
                    for slack in self.slacks(policy, method.row().has_slack) {
                        cells.push(PlannedCell {
                            factors: with_slack(&key, slack),
                            probe: Arc::new(TimerEvents {
                                method,
                                form,
                                period_ns,
                            }),
                            thread: self.thread(policy, slack),
                            load,
                            observe: Observe::default(),
                            samples: events.events.max(1),
                            weight: (period_ns as f64 / 1e5).max(1.0),
                        });
                    }
                }
            }
        }
        cells
    }

    fn stall_cells(&self, load: usize, spec: &LoadSpec, policy: Policy) -> Vec<PlannedCell> {
        let Some(stalls) = &self.stalls else {
            return Vec::new();
        };
        vec![PlannedCell {
            factors: self.key("stalls", "busy-loop", spec, policy),
            probe: Arc::new(Stalls {
                threshold_ns: stalls.threshold_ns,
                cpus: stalls.cpus.clone(),
            }),
            thread: self.thread(policy, None),
            load,
            observe: Observe::default(),
            samples: u64::MAX,
            weight: stalls.weight,
        }]
    }

    /// Real-time threads have no slack, and some methods none to vary.
    fn slacks(&self, policy: Policy, varies: bool) -> Vec<Option<Slack>> {
        if policy.is_real_time() || !varies {
            vec![None]
        } else {
            self.slacks.iter().copied().map(Some).collect()
        }
    }

    fn thread(&self, policy: Policy, slack: Option<Slack>) -> ThreadSettings {
        ThreadSettings {
            policy,
            slack_ns: match slack {
                Some(Slack::Ns(ns)) => Some(ns),
                _ => None,
            },
            cpu: self.cpu,
        }
    }
}

/// Each cell once for each thing to observe; one named again is another level, for
/// comparison with itself.
fn crossed(cells: &[PlannedCell], several: &[Observe]) -> Vec<PlannedCell> {
    let level = |i: usize| match several[..i].iter().filter(|o| **o == several[i]).count() {
        0 => several[i].name().to_owned(),
        1 => format!("{} again", several[i].name()),
        n => format!("{} again {n}", several[i].name()),
    };
    let with = |cell: &PlannedCell, i: usize| PlannedCell {
        factors: cell.factors.clone().with(factor::OBSERVE, level(i)),
        observe: several[i],
        ..cell.clone()
    };
    cells
        .iter()
        .flat_map(|cell| (0..several.len()).map(move |i| with(cell, i)))
        .collect()
}

fn with_slack(key: &Factors, slack: Option<Slack>) -> Factors {
    match slack {
        Some(s) => key.clone().with(factor::SLACK, s.level()),
        None => key.clone(),
    }
}

/// Long targets weigh more, since their samples take longer: by the square root,
/// so that they get neither all of the time nor a vanishing number of samples.
///
/// Fitness profiles judge the best method at a target near their period, up to
/// p99.9, which takes 3688 samples: the precise sleep gets time for them.
fn weight(method: wake_up::Method, target_ns: u64) -> f64 {
    const JUDGED: f64 = 8.0;
    let by_length = (target_ns as f64 / 1e6).sqrt().max(1.0);
    if method.row().way == Way::SleepsThenSpins && target_ns >= 500_000 {
        by_length.max(JUDGED)
    } else {
        by_length
    }
}
