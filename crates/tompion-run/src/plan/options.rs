//! What the user asks for, and the cells that come of it.

use std::time::Duration;

use tompion_load::LoadSpec;
use tompion_model::factor;
use tompion_probe::Policy;

use super::{PlannedCell, PlannedSearch};
use crate::Observe;
use crate::probes::{Context, Observing, Selection};

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
    /// Probes with their parameters. Whoever names one twice sees to it that no cell is asked
    /// for twice.
    pub probes: Vec<Selection>,
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
    /// About how long all samples asked for take beside all loads, so that no trial is cut
    /// short for want of time.
    pub fn time_for_samples(&self) -> Duration {
        /// What a sample takes beyond its wait where that ends late, and what a trial
        /// takes beside its samples.
        const LATE_NS: u64 = 100_000;
        const OVERHEAD: Duration = Duration::from_millis(500);
        let one_pass: Duration = self
            .loads
            .iter()
            .enumerate()
            .flat_map(|(i, spec)| self.policies.iter().map(move |&p| self.context(i, spec, p)))
            .flat_map(|context| self.probes.iter().flat_map(move |s| s.cells(&context)))
            .map(|cell| {
                let each_ns = cell.wait_ns().saturating_add(LATE_NS);
                Duration::from_nanos(each_ns.saturating_mul(cell.samples)) + OVERHEAD
            })
            .sum();
        let switching = (self.settle + OVERHEAD) * self.loads.len() as u32;
        // Twice as much: beside loads everything takes longer, and a run ends when it has all.
        (one_pass + switching)
            .saturating_mul(self.blocks)
            .saturating_mul(2)
    }

    /// Every search beside one load under one policy.
    pub(super) fn searches(
        &self,
        load: usize,
        spec: &LoadSpec,
        policy: Policy,
    ) -> Vec<PlannedSearch> {
        let context = self.context(load, spec, policy);
        let searches = self.probes.iter().flat_map(|s| s.searches(&context));
        searches.collect()
    }

    /// Every cell beside one load under one policy.
    pub(super) fn cells(&self, load: usize, spec: &LoadSpec, policy: Policy) -> Vec<PlannedCell> {
        let context = self.context(load, spec, policy);
        let has_rest = self.loads.iter().any(LoadSpec::is_idle);
        // What has a policy of its own stands once, beside the usual one, and not where all is measured under that.
        let stands_here = |own: Policy| {
            policy == Policy::Other && (own == policy || !self.policies.contains(&own))
        };
        let is_here = |s: &&Selection| {
            (!s.at_rest || !has_rest || spec.is_idle())
                && s.beside.as_ref().is_none_or(|loads| loads.contains(spec))
                && s.policy.is_none_or(stands_here)
        };
        let cells = self.probes.iter().filter(is_here).flat_map(|selection| {
            let mut cells = selection.cells(&context);
            let lasting = selection.lasting.map(|share| {
                let ns = self.duration.as_nanos() as f64 * share / f64::from(self.blocks.max(1));
                Duration::from_nanos(ns as u64)
            });
            cells.iter_mut().for_each(|cell| cell.lasting = lasting);
            match self.observe.as_slice() {
                _ if selection.probe.observing != Observing::AsAsked => cells,
                [] => cells,
                [one] => cells
                    .into_iter()
                    .map(|c| PlannedCell { observe: *one, ..c })
                    .collect(),
                several => crossed(&cells, several),
            }
        });
        cells.collect()
    }

    /// What the user named twice, for example ``target `100us` ``.
    pub(super) fn named_twice(&self) -> Option<String> {
        let of_probes = self.probes.iter().find_map(Selection::named_twice);
        of_probes.or_else(|| {
            let mut later = self.policies.iter().enumerate();
            let twice = later.find(|(i, policy)| self.policies[..*i].contains(policy));
            twice.map(|(_, policy)| format!("policy `{policy}`"))
        })
    }

    fn context<'a>(&self, load: usize, spec: &'a LoadSpec, policy: Policy) -> Context<'a> {
        Context {
            load,
            spec,
            policy,
            cpu: self.cpu,
            blocks: self.blocks,
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
