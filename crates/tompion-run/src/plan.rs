//! From what the user asks to a list of cells.

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use tompion_load::LoadSpec;
use tompion_probe::{Policy, ThreadSettings, read_cost, wake_up};
use tompion_record::{Design, Factors, factor, format_duration};

use crate::Error;

/// Timer slack of a wake-up cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// What the process has.
    Default,
    /// Set to this many nanoseconds.
    Ns(u64),
}

impl Slack {
    fn level(self) -> String {
        match self {
            Self::Default => "default".to_owned(),
            Self::Ns(ns) => format_duration(ns),
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
    /// Loads, each one level.
    pub loads: Vec<LoadSpec>,
    /// Scheduling policies of the measuring thread.
    pub policies: Vec<Policy>,
    /// CPU to pin the measuring thread to.
    pub cpu: Option<u32>,
    /// Passes over all cells.
    pub blocks: u32,
    /// Read-cost samples of a cell at rest, over all blocks; a tenth under load.
    pub read_samples: u64,
    /// Most wake-up samples of a cell, over all blocks.
    pub wake_samples: u64,
    /// Time for all trials together.
    pub duration: Duration,
    /// How long a load runs before its first trial begins.
    pub settle: Duration,
    /// Seed of the random order.
    pub seed: u64,
}

/// What a cell's probe does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Index into [`Plan::loads`].
    pub load: usize,
    /// Samples of one trial.
    pub samples: u64,
    /// Share of the run's time relative to other wake-up cells, beyond the least
    /// that each one needs.
    pub weight: f64,
}

impl PlannedCell {
    /// Samples after the warm-up that every wake-up trial should have.
    pub const FEW: u64 = 5;

    /// The least time that a wake-up trial is worth making for: its warm-up and a
    /// few samples, however long they sleep. Zero for read cost.
    pub fn least_time(&self) -> Duration {
        /// What a sleep takes beyond its target where timer slack is at its default.
        const LATE_NS: u64 = 100_000;
        /// Short sleeps are never so few.
        const SHORTEST: Duration = Duration::from_millis(8);
        match self.probe {
            ProbePlan::ReadCost(_) => Duration::ZERO,
            ProbePlan::WakeUp { target_ns, .. } => {
                let sleeps = wake_up::WARM_UP + self.samples.min(Self::FEW);
                let ns = target_ns.saturating_add(LATE_NS).saturating_mul(sleeps);
                Duration::from_nanos(ns).max(SHORTEST)
            }
        }
    }
}

/// A list of cells, each measured once a block.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cells.
    pub cells: Vec<PlannedCell>,
    /// The loads that cells refer to.
    pub loads: Vec<LoadSpec>,
    /// Passes over all cells.
    pub blocks: u32,
    /// Time for all trials together.
    pub duration: Duration,
    /// How long a load runs before its first trial begins.
    pub settle: Duration,
    /// Seed of the random order.
    pub seed: u64,
}

impl Plan {
    /// Crosses all factors. The error says what is missing or too much; see
    /// [`Plan::warning`] for what is merely more than the time allows.
    pub fn new(options: &PlanOptions) -> Result<Self, Error> {
        let refuse = |text: &str| Err(Error::Plan(text.to_owned()));
        if options.blocks == 0 {
            return refuse("0 blocks measure nothing; use at least 1 (6 or more for a verdict)");
        }
        if options.loads.is_empty() {
            return refuse("no load is named; use `idle` for none");
        }
        let mut cells = Vec::new();
        for (load, spec) in options.loads.iter().enumerate() {
            if options.loads[..load].contains(spec) {
                return Err(Error::Plan(format!(
                    "load `{}` is named twice",
                    spec.level()
                )));
            }
            for &policy in &options.policies {
                cells.extend(options.read_cells(load, spec, policy));
                cells.extend(options.wake_cells(load, spec, policy));
            }
        }
        if cells.is_empty() {
            return refuse("nothing to measure: name at least one method");
        }
        let mut keys: Vec<&Factors> = cells.iter().map(|c| &c.factors).collect();
        keys.sort_unstable();
        if let Some(twice) = keys.windows(2).find(|w| w[0] == w[1]) {
            return Err(Error::Plan(format!(
                "cell `{}` is asked for twice",
                twice[0]
            )));
        }
        let plan = Self {
            cells,
            loads: options.loads.clone(),
            blocks: options.blocks,
            duration: options.duration,
            settle: options.settle,
            seed: options.seed,
        };
        plan.require_one_pass()?;
        Ok(plan)
    }

    /// One block in its random order: loads in random order, and for each its
    /// cells in random order. The same seed and block give the same order.
    ///
    /// Cells of one load stay together (a split-plot design), because a load of
    /// a hundred threads needs a round of the scheduler, some 200 ms on two CPUs,
    /// before it weighs evenly: switched on for every single trial, the run would
    /// measure the switching.
    pub fn order(&self, block: u32) -> Vec<(usize, Vec<usize>)> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(u64::from(block));
        let mut loads: Vec<usize> = (0..self.loads.len()).collect();
        loads.shuffle(&mut random);
        loads
            .into_iter()
            .map(|load| {
                let of_load = |&c: &usize| self.cells[c].load == load;
                let mut cells: Vec<usize> = (0..self.cells.len()).filter(of_load).collect();
                cells.shuffle(&mut random);
                (load, cells)
            })
            .collect()
    }

    /// How the trials are ordered, for the record.
    pub fn design(&self) -> Design {
        Design {
            order: "every block measures every cell once: loads in random order, and beside each \
                    load its cells in random order"
                .to_owned(),
            seed: self.seed,
            blocks: self.blocks,
            cells: self.cells.len() as u32,
        }
    }

    /// Trials in all.
    pub fn trials(&self) -> usize {
        self.cells.len() * self.blocks as usize
    }
}

impl PlanOptions {
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
                factors: self.key("read-cost", method.name(), spec, policy),
                probe: ProbePlan::ReadCost(method),
                thread: ThreadSettings {
                    policy,
                    slack_ns: None,
                    cpu: self.cpu,
                },
                load,
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
                    .key("wake-up", method.name(), spec, policy)
                    .with(factor::TARGET, format_duration(*target_ns));
                // Real-time threads have no slack, and some methods none to vary.
                let slacks: Vec<Option<Slack>> = if policy.is_real_time() || !method.has_slack() {
                    vec![None]
                } else {
                    self.slacks.iter().copied().map(Some).collect()
                };
                cells.extend(slacks.into_iter().map(|slack| PlannedCell {
                    factors: match slack {
                        Some(s) => key.clone().with(factor::SLACK, s.level()),
                        None => key.clone(),
                    },
                    probe: ProbePlan::WakeUp {
                        method,
                        target_ns: *target_ns,
                    },
                    thread: ThreadSettings {
                        policy,
                        slack_ns: match slack {
                            Some(Slack::Ns(ns)) => Some(ns),
                            _ => None,
                        },
                        cpu: self.cpu,
                    },
                    load,
                    samples: self.wake_samples.div_ceil(u64::from(self.blocks)).max(1),
                    weight: weight(method, *target_ns),
                }));
            }
        }
        cells
    }
}

/// Long targets weigh more, since their samples take longer: by the square root,
/// so that they get neither all of the time nor a vanishing number of samples.
///
/// Fitness profiles judge the best method at a target near their period, up to
/// p99.9, which takes 3688 samples: the precise sleep gets time for them.
fn weight(method: wake_up::Method, target_ns: u64) -> f64 {
    const JUDGED: f64 = 7.0;
    let by_length = (target_ns as f64 / 1e6).sqrt().max(1.0);
    if method == wake_up::Method::TompionHybrid && target_ns >= 500_000 {
        by_length.max(JUDGED)
    } else {
        by_length
    }
}

#[cfg(test)]
pub(crate) mod tests;
