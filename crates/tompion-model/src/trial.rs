//! One trial: one cell measured once.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tompion_stats::{Bins, Distribution, WithinBlock};

use crate::Block;

use crate::filled::{EXACT, filled, filled_in_bins};
use crate::{
    CpuUse, Factors, Mark, Observation, RoundTrips, Sample, SideTables, StallPart, Stalls, Summary,
    TableRefs, TrialSummary, stall_parts, table,
};

/// One trial as listed in `run.json` and, while it has a sample file of its own, there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Position in the order of execution, from 0.
    pub id: u32,
    /// The cell that was measured.
    #[schemars(extend("privacy" = "levels"))]
    pub factors: Factors,
    /// The replicate: the number of the pass over all cells, from 0.
    pub block: u32,
    /// Nanoseconds from the run's start to the trial's.
    pub started_ns: u64,
    /// Length of the trial in nanoseconds.
    pub duration_ns: u64,
    /// When the trial began, in UTC by the system clock of that moment, RFC 3339; absent
    /// in runs of format version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("privacy" = "time"))]
    pub started_at: Option<String>,
    /// Whether the table of samples holds every sample.
    pub storage: Storage,
    /// Where the samples and all other tables of the trial lie.
    #[schemars(extend("privacy" = "exact"))]
    pub tables: TableRefs,
    /// How the values came about.
    pub measurement: Measurement,
    /// The load beside the measurement and the proof that it ran; absent at rest.
    pub load: Option<LoadEvidence>,
    /// What the probe found beside values.
    #[serde(default, skip_serializing_if = "Findings::is_empty")]
    pub findings: Findings,
    /// What was watched beside the measurement; absent in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<Observation>,
    /// Who else used the CPUs, from a look before the trial to one after it; absent where none
    /// were taken, and in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_use: Option<CpuUse>,
    /// Derived from the samples.
    pub summary: TrialSummary,
}

impl Trial {
    /// Rows in the table of samples.
    pub fn rows(&self) -> u64 {
        self.tables.get(table::SAMPLES).map_or(0, |t| t.rows)
    }
}

/// What a probe found beside values, by name. What this version does not know is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// What a busy loop found and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Stalls>,
    /// What became of the probes of round trips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<RoundTrips>,
    /// Of probes of later versions.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

impl Findings {
    /// Whether there is nothing but values.
    pub fn is_empty(&self) -> bool {
        self.stalls.is_none() && self.round_trips.is_none() && self.others.is_empty()
    }
}

impl From<Stalls> for Findings {
    fn from(stalls: Stalls) -> Self {
        Self {
            stalls: Some(stalls),
            ..Self::default()
        }
    }
}

impl From<RoundTrips> for Findings {
    fn from(round_trips: RoundTrips) -> Self {
        Self {
            round_trips: Some(round_trips),
            ..Self::default()
        }
    }
}

/// What a caller knows of a trial; the rest is derived when it is saved.
#[derive(Clone, Debug, Default)]
pub struct TrialDraft {
    /// The cell that was measured.
    pub factors: Factors,
    /// The replicate.
    pub block: u32,
    /// Nanoseconds from the run's start to the trial's.
    pub started_ns: u64,
    /// When the trial began, in UTC, RFC 3339, where that is known.
    pub started_at: Option<String>,
    /// Length of the trial in nanoseconds.
    pub duration_ns: u64,
    /// How the values came about.
    pub measurement: Measurement,
    /// The load beside the measurement.
    pub load: Option<LoadEvidence>,
    /// What the probe found beside values.
    pub findings: Findings,
    /// What was watched beside the measurement.
    pub observation: Option<Observation>,
    /// Who else used the CPUs meanwhile.
    pub cpu_use: Option<CpuUse>,
    /// Whether `TrialData` holds every sample.
    pub storage: Storage,
    /// Grid periods missed before unmarked samples; absent without a grid.
    pub missed_periods: Option<u64>,
}

/// How the values of a trial came about, with the probe's own cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// How one value is obtained, for example `bracketed by rdtsc`.
    #[schemars(extend("privacy" = "harmless"))]
    pub technique: String,
    /// The clock behind the values, for example `CLOCK_MONOTONIC`.
    #[schemars(extend("privacy" = "harmless"))]
    pub clock: String,
    /// Counter ticks per second used to convert to time, once; absent where the
    /// clock itself counts nanoseconds.
    pub tick_rate_hz: Option<f64>,
    /// The probe's own cost, contained in every value and never subtracted
    /// (median, nanoseconds).
    pub floor_ns: Option<f64>,
    /// What the probe cannot see.
    #[schemars(extend("privacy" = "harmless"))]
    pub blind_spots: String,
    /// Period of the grid in nanoseconds; absent without a grid.
    pub period_ns: Option<u64>,
    /// CPU time that the measuring thread used per sleep, in nanoseconds.
    pub cpu_per_operation_ns: Option<f64>,
    /// Samples that the plan asked for.
    pub wanted_samples: u64,
    /// Whether the time limit ended the trial before it had them.
    pub ended_by_time: bool,
    /// Steps of the clock that was read; only for read cost at rest.
    pub granularity: Option<Granularity>,
    /// CPU that the measuring thread was pinned to; absent when free.
    pub pinned_cpu: Option<u32>,
    /// Timer slack in force in the measuring thread, in nanoseconds.
    pub timer_slack_ns: Option<u64>,
    /// Whether the sample buffer was locked into memory.
    pub memory_locked: bool,
}

/// The steps in which a clock advances, seen over successive reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Granularity {
    /// Smallest non-zero step in nanoseconds.
    pub smallest_step_ns: f64,
    /// Greatest common divisor of all steps in nanoseconds: the unit in which
    /// the clock counts. A large one is a sign of emulation or of a slow clock.
    pub common_step_ns: f64,
    /// Share of successive reads that returned the same value, 0 to 1.
    pub zero_steps: f64,
    /// Steps backwards among successive reads (should be 0).
    pub backward_steps: u64,
}

/// Proof that a load ran while a trial was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadEvidence {
    /// The load as asked for, for example `cpu:threads=100`.
    #[schemars(extend("privacy" = "load"))]
    pub load: String,
    /// What produced it: `built-in`, or a program with its version.
    #[schemars(extend("privacy" = "harmless"))]
    pub driver: String,
    /// Operations done during the trial, where the driver counts them.
    pub operations: Option<u64>,
    /// What one operation is.
    #[schemars(extend("privacy" = "harmless"))]
    pub operation: Option<String>,
    /// Bytes that the load moved during the trial, where the driver counts them:
    /// read, written, copied, sent or received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// CPU time used by the load during the trial, in nanoseconds.
    pub cpu_time_ns: u64,
    /// Length of time over which this evidence was taken, in nanoseconds: from
    /// switching the load on, before it settled, to the end of the trial.
    pub observed_ns: u64,
    /// Context switches per second of the whole machine during the trial.
    pub context_switches_per_second: f64,
    /// Interrupts per second of the whole machine during the trial.
    pub interrupts_per_second: f64,
    /// What has to be known about the way in which the load ran, each in one line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("privacy" = "text"))]
    pub notes: Vec<String>,
    /// Each of several loads that ran together; empty for one alone. Their bytes
    /// and CPU times add up to those above; operations of different kinds do not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LoadEvidence>,
}

impl LoadEvidence {
    /// Operations per second, where the driver counts them.
    pub fn operations_per_second(&self) -> Option<f64> {
        self.operations.map(|n| self.per_second(n))
    }

    /// Bytes per second, where the driver counts them.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.bytes.map(|n| self.per_second(n))
    }

    fn per_second(&self, count: u64) -> f64 {
        // Nothing observed is not infinitely much.
        count as f64 / (self.observed_ns.max(1) as f64 / 1e9)
    }
}

/// Whether the table of samples holds every sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Storage {
    /// Every sample has a row.
    #[default]
    Complete,
    /// The trial outgrew its limit: samples up to the threshold are counted in
    /// the table `bins`, the larger ones are in that of samples.
    Tail {
        /// Rows kept at a time.
        limit_rows: u64,
        /// Every sample above this value is kept as it was.
        threshold_ps: i64,
    },
}

impl From<Trial> for TrialDraft {
    /// A trial that is saved again, in another run.
    fn from(trial: Trial) -> Self {
        Self {
            factors: trial.factors,
            block: trial.block,
            started_ns: trial.started_ns,
            duration_ns: trial.duration_ns,
            measurement: trial.measurement,
            load: trial.load,
            findings: trial.findings,
            started_at: trial.started_at,
            observation: trial.observation,
            cpu_use: trial.cpu_use,
            storage: trial.storage,
            missed_periods: trial.summary.missed_periods,
        }
    }
}

/// Which of a trial's values to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Single operations as measured, without warm-up.
    Measured,
    /// The same without disturbed samples. Samples that are kept in bins alone bear
    /// no marks, and count.
    Undisturbed,
    /// The same, and for each missed period the latency it would have had: a
    /// late event of latency L that missed k periods d adds L-d, ..., L-kd.
    ///
    /// This is the correction for coordinated omission of HdrHistogram
    /// (G. Tene), applied to counted periods instead of guessed ones. Beyond four million of
    /// them the values are exact within 2^-12 (0.025 %).
    Filled {
        /// The grid's period in picoseconds.
        period_ps: i64,
    },
    /// The same, where there is a grid, or those as measured, without the samples that other programs held up. Those that
    /// are kept in bins alone count.
    Quiet {
        /// The grid's period in picoseconds; absent without one.
        period_ps: Option<i64>,
    },
    /// Operations timed in batches.
    Batched,
}

/// A trial's samples in memory.
#[derive(Clone, Debug, Default)]
pub struct TrialData {
    /// Samples in time order.
    pub samples: Vec<Sample>,
    /// Counts of the samples not kept, for [`Storage::Tail`].
    pub bins: Option<Bins>,
    /// Values standing for the missed periods of the samples not kept.
    pub filled_bins: Option<Bins>,
    /// Side tables of the probe.
    pub tables: SideTables,
}

impl TrialData {
    /// Stalls by cause; empty where there is no table of them.
    pub fn stall_parts(&self) -> Vec<StallPart> {
        let table = self.tables.get(stall_parts::NAME);
        // One that is read from a run has been looked at already.
        table
            .and_then(|t| stall_parts::of_table(t).ok())
            .unwrap_or_default()
    }

    /// The values under one view, in picoseconds.
    pub fn distribution(&self, view: View) -> Distribution {
        let kept = match self.in_order(view, EXACT) {
            Ok(values) => Distribution::from_values(values),
            Err(distribution) => distribution,
        };
        self.with_bins(kept, view)
    }

    /// The same, and how the values follow one another; `None` where they are too few for that,
    /// or some are known by number alone. `most_exact` missed periods, and four million at most,
    /// stand for a value each; `most_in_order` values are kept in their order.
    pub fn block(&self, view: View, most_exact: u64, most_in_order: usize) -> Block {
        let all_kept = self.bins.is_none() || view == View::Batched;
        match self.in_order(view, most_exact.min(EXACT)) {
            Ok(values) => {
                let kept = Distribution::from_slice(&values);
                let within = WithinBlock::of(&values, &kept).filter(|_| all_kept);
                let is_kept = all_kept && values.len() <= most_in_order;
                Block {
                    distribution: self.with_bins(kept, view),
                    within,
                    in_order: is_kept.then(|| values.into()),
                }
            }
            Err(kept) => Block::counted(self.with_bins(kept, view), None),
        }
    }

    /// The values under one view in time order; `None` where some are known by number alone.
    pub fn series(&self, view: View) -> Option<Vec<i64>> {
        self.in_order(view, EXACT)
            .ok()
            .filter(|_| self.bins.is_none())
    }

    /// The values that were kept, in time order; without it where missed periods are too many.
    fn in_order(&self, view: View, most: u64) -> Result<Vec<i64>, Distribution> {
        let chosen = self.samples.iter().filter(|s| {
            let counts = match view {
                View::Undisturbed => s.mark == Mark::None,
                View::Quiet { .. } => !s.mark.is_left_out() && !s.mark.is_held_up_by_others(),
                _ => !s.mark.is_left_out(),
            };
            counts && ((s.n == 1) != (view == View::Batched))
        });
        match view {
            View::Measured
            | View::Undisturbed
            | View::Batched
            | View::Quiet { period_ps: None } => {
                let mut values = Vec::with_capacity(self.samples.len());
                values.extend(chosen.map(|s| s.value_ps));
                Ok(values)
            }
            View::Filled { period_ps }
            | View::Quiet {
                period_ps: Some(period_ps),
            } => filled(chosen.clone(), period_ps, most)
                .ok_or_else(|| filled_in_bins(chosen, period_ps)),
        }
    }

    fn with_bins(&self, kept: Distribution, view: View) -> Distribution {
        let mut parts = vec![kept];
        if view != View::Batched {
            parts.extend(self.bins.iter().map(Bins::distribution));
        }
        if matches!(
            view,
            View::Filled { .. } | View::Quiet { period_ps: Some(_) }
        ) {
            parts.extend(self.filled_bins.iter().map(Bins::distribution));
        }
        Distribution::merged(&parts)
    }

    /// Whether anything disturbed a sample: where not, the undisturbed values are all that count.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.samples.iter().any(|s| s.mark.is_disturbed())
    }

    /// Whether another program held a sample up.
    pub(crate) fn is_held_up_by_others(&self) -> bool {
        self.samples.iter().any(|s| s.mark.is_held_up_by_others())
    }

    /// Periods missed before samples that count.
    pub(crate) fn missed_periods(&self) -> u64 {
        let counted = self.samples.iter().filter(|s| !s.mark.is_left_out());
        counted.map(|s| u64::from(s.missed)).sum()
    }

    /// Whether a period was missed: where not, there is nothing to fill in.
    pub(crate) fn misses_periods(&self) -> bool {
        self.filled_bins.is_some() || self.samples.iter().any(|s| s.missed > 0)
    }

    /// The views that apply, by their names in a [`TrialSummary`], in its order.
    fn views(&self, period_ns: Option<u64>) -> Vec<(&'static str, View)> {
        let filled = period_ns.map(|p| View::Filled {
            period_ps: p as i64 * 1000,
        });
        [
            ("measured", Some(View::Measured)),
            (
                "undisturbed",
                self.is_disturbed().then_some(View::Undisturbed),
            ),
            ("missed_filled", filled),
            ("batched", Some(View::Batched)),
        ]
        .into_iter()
        .filter_map(|(name, view)| Some((name, view?)))
        .collect()
    }

    /// Does something with the distribution under every view that applies, by the name that
    /// [`TrialSummary`] has for it.
    pub fn each_view(
        &self,
        period_ns: Option<u64>,
        mut with: impl FnMut(&'static str, &Distribution),
    ) {
        for (name, view) in self.views(period_ns) {
            with(name, &self.distribution(view));
        }
    }

    /// Summaries under every view that applies.
    pub fn summarise(&self, period_ns: Option<u64>, missed_periods: Option<u64>) -> TrialSummary {
        self.summarise_with(period_ns, missed_periods, |_, _| ())
    }

    /// The same, and something done with each distribution while it is there.
    pub fn summarise_with(
        &self,
        period_ns: Option<u64>,
        missed_periods: Option<u64>,
        mut with: impl FnMut(&'static str, &Distribution),
    ) -> TrialSummary {
        let mut summary = TrialSummary {
            missed_periods,
            marked_samples: self.samples.iter().filter(|s| s.mark != Mark::None).count() as u64,
            ..TrialSummary::default()
        };
        for (name, view) in self.views(period_ns) {
            let block = self.block(view, EXACT, 0);
            let values = block.distribution;
            // Of the sets that runs are compared by.
            let is_compared = ["measured", "missed_filled"].contains(&name);
            let within = block.within.filter(|_| is_compared);
            *summary.by_name(name).expect("a view of ours") =
                Summary::of_trial(&values, within.as_ref());
            with(name, &values);
        }
        summary
    }
}
