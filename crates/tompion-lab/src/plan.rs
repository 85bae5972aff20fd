//! The plan: from a TOML file to platforms, loads, probes and replicates, checked as a
//! whole before anything starts. No I/O, no clock.

mod placements;
mod probes;
mod scenarios;
mod short_loads;
pub(crate) mod testbed;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use toml::de::DeTable;
use tompion_load::LoadSpec;
use tompion_model::{AT_REST, Factors, factor};
use tompion_platforms::keys::{Mistake, Source, Table, lines};
use tompion_platforms::{PlatformPlan, read_platforms};
use tompion_run::PlannedCell;
use tompion_run::probes::join::keys_of_tap;
use tompion_store::Planned;

use testbed::TAP;

pub use placements::{GuestPlan, Pinning, PlacementPlan, Role};
pub use probes::ProbePlan;
pub use testbed::TestbedPlan;

/// Replicates where a plan names none.
const REPLICATES: u32 = 10;
/// The most trials of a plan in one replicate: each is held against all others before it starts.
const TRIALS: usize = 1 << 16;
/// Measuring time of a cell where a plan names none, in nanoseconds.
const TIME_NS: u64 = 2_000_000_000;

/// A plan that can be carried out.
#[derive(Clone, Debug, Serialize)]
pub struct LabPlan {
    /// What it is called.
    pub name: String,
    /// Seed of the random order, where it names one.
    pub seed: Option<u64>,
    /// Passes over all cells: the units of the statistics.
    pub replicates: u32,
    /// The network of the platforms that are joined to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub testbed: Option<TestbedPlan>,
    /// Where is measured.
    pub platforms: Vec<PlatformPlan>,
    /// Beside whom: one called `alone` where the plan names none.
    pub placements: Vec<PlacementPlan>,
    /// Beside what.
    #[serde(serialize_with = "levels")]
    pub loads: Vec<LoadSpec>,
    /// What is measured.
    pub probes: Vec<ProbePlan>,
}

/// One cell: each is measured once a replicate, in an instance of its own. Indices
/// into the plan's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabCell {
    /// The platform.
    pub platform: usize,
    /// The placement.
    pub placement: usize,
    /// The load.
    pub load: usize,
    /// The probe.
    pub probe: usize,
}

/// A plan that cannot be carried out: what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PlanError {
    /// The first hundred in the order of their places; never empty.
    pub mistakes: Vec<Mistake>,
    /// How many more there are.
    pub more: usize,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

impl PlanError {
    /// A line for each mistake that is told, with its place, and one for all that are not.
    pub fn lines(&self) -> Vec<String> {
        lines(&self.mistakes, self.more)
    }
}

impl LabPlan {
    /// Reads and checks a plan.
    ///
    /// # Errors
    /// Every mistake with its line and column, as many as are told.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let source = Source::new(text);
        let plan = parse(text, &source);
        let (mistakes, more) = source.mistakes();
        match plan {
            Some(plan) if mistakes.is_empty() => Ok(plan),
            _ => Err(PlanError { mistakes, more }),
        }
    }

    /// Every cell of one replicate, in the order of the plan.
    pub fn cells(&self) -> Vec<LabCell> {
        let mut cells = Vec::new();
        for platform in 0..self.platforms.len() {
            for placement in 0..self.placements.len() {
                let has = |load: &usize| self.placements[placement].has(&self.loads[*load]);
                for load in (0..self.loads.len()).filter(has) {
                    let probes = 0..self.probes.len();
                    cells.extend(probes.map(|probe| LabCell {
                        platform,
                        placement,
                        load,
                        probe,
                    }));
                }
            }
        }
        cells
    }

    /// The level of the factor `placement`; none where the plan names no placement.
    pub fn placement_level(&self, cell: LabCell) -> Option<&str> {
        let placement = &self.placements[cell.placement];
        placement.at.map(|_| placement.name.as_str())
    }

    /// The cell in words: `runc/idle/stalls`.
    pub fn name_of(&self, cell: LabCell) -> String {
        let mut platform = self.platforms[cell.platform].level();
        if let Some(placement) = self.placement_level(cell) {
            platform = format!("{platform}/{placement}");
        }
        let load = self.loads[cell.load].level();
        let probe = &self.probes[cell.probe];
        let alike = |p: &&ProbePlan| p.name() == probe.name();
        let number = self.probes[..cell.probe].iter().filter(alike).count();
        match self.probes.iter().filter(alike).count() {
            1 => format!("{platform}/{load}/{}", probe.name()),
            _ => format!("{platform}/{load}/{} {}", probe.name(), number + 1),
        }
    }

    /// The keys of the trials that a load and a probe give on a platform.
    pub fn keys(&self, cell: LabCell) -> Vec<Factors> {
        let mut keys = self.own_keys(cell.load, cell.probe);
        if self.is_joined(cell) {
            keys.extend(keys_of_tap(&keys, TAP));
        }
        keys
    }

    /// Whether a cell is measured on the testbed.
    pub(crate) fn is_joined(&self, cell: LabCell) -> bool {
        self.testbed.is_some() && !self.platforms[cell.platform].network().is_none()
    }

    /// The keys of the trials that a load and a probe give on a platform, joined to the testbed where the plan has one.
    pub(crate) fn most_keys(&self, load: usize, probe: usize) -> Vec<Factors> {
        let mut keys = self.own_keys(load, probe);
        if self.testbed.is_some() {
            keys.extend(keys_of_tap(&keys, TAP));
        }
        keys
    }

    /// The keys of the trials that an instance gives by itself.
    pub(crate) fn own_keys(&self, load: usize, probe: usize) -> Vec<Factors> {
        let plan = self.probes[probe].plan(&self.loads[load], 0);
        let cells = plan.map(|plan| plan.cells).unwrap_or_default();
        cells.iter().flat_map(PlannedCell::keys).collect()
    }

    /// How much its run will hold.
    fn planned(&self) -> Planned {
        // Beside the texts of a guest's own number.
        const OF_PLACE: usize = factor::PLATFORM.len() + factor::PLACEMENT.len();
        const OF_GUEST: usize = factor::GUEST.len() + 4;
        let pairs = (0..self.loads.len())
            .flat_map(|load| (0..self.probes.len()).map(move |probe| (load, probe)));
        let (mut keys, mut bytes) = (0_u64, 0_u64);
        for (load, probe) in pairs {
            let plan = self.probes[probe].plan(&self.loads[load], 0);
            for cell in plan.map(|plan| plan.cells).unwrap_or_default() {
                let mut own = cell.keys();
                if self.testbed.is_some() {
                    own.extend(keys_of_tap(&own, TAP));
                }
                keys += own.len() as u64;
                bytes += own.iter().map(Planned::bytes_of).sum::<u64>();
            }
        }
        let (mut places, mut bytes_of_places) = (0_u64, 0_u64);
        for platform in &self.platforms {
            let level = platform.level();
            for placement in &self.placements {
                let guests = placement.measuring() as u64;
                let name = placement.at.map_or(0, |_| placement.name.len());
                places = places.saturating_add(guests);
                let of_one = level.len() + name + OF_PLACE + OF_GUEST;
                bytes_of_places =
                    bytes_of_places.saturating_add(guests.saturating_mul(of_one as u64));
            }
        }
        let cells = keys.saturating_mul(places);
        Planned {
            trials: cells.saturating_mul(self.replicates.into()),
            platforms: self.platforms.len() as u64,
            cells,
            key_bytes: bytes
                .saturating_mul(places)
                .saturating_add(bytes_of_places.saturating_mul(keys)),
        }
    }

    /// How many results all replicates have together, one of each guest that measures, and how many
    /// keys these.
    pub(crate) fn results(&self) -> (u64, u64) {
        let guests: usize = self.placements.iter().map(PlacementPlan::measuring).sum();
        let times = u64::from(self.replicates) * (self.platforms.len() * guests) as u64;
        let pairs = (0..self.loads.len())
            .flat_map(|load| (0..self.probes.len()).map(move |probe| (load, probe)));
        let keys: usize = pairs
            .map(|(load, probe)| self.most_keys(load, probe).len())
            .sum();
        let probes = (self.loads.len() * self.probes.len()) as u64;
        (times * probes, times.saturating_mul(keys as u64))
    }
}

fn parse(text: &str, source: &Source<'_>) -> Option<LabPlan> {
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            source.wrong(error.span().unwrap_or(0..0), error.message());
            return None;
        }
    };
    let top = Table::new(source, table.get_ref(), 0..0, "plan");
    let name = top.read("name", |value| match value.as_str() {
        Some(name) if !name.chars().any(char::is_control) => Ok(name.to_owned()),
        _ => Err("one line of text in quotes is wanted".to_owned()),
    });
    let name = name.unwrap_or_default();
    let seed = top.number("seed", 0..u64::MAX);
    let replicates = top.number("replicates", 1..100_001);
    let time_ns = top.time_ns("time").unwrap_or(TIME_NS);
    let loads: Option<Vec<LoadSpec>> = top.list("loads", |text| short_loads::load(Some(text)));
    let loads = loads.unwrap_or_else(|| vec![AT_REST.parse().expect("a load's name")]);
    let platforms = read_platforms(&top);
    let placements = read_placements(&top, &loads);
    let testbed = top
        .table("testbed", "testbed")
        .map(|table| (table.at(), TestbedPlan::read(table)));
    let (testbed_at, testbed) = testbed.unzip();
    let places: Vec<_> = top.tables("probes", "probe");
    let at: Vec<_> = places
        .iter()
        .map(|table| (table.at(), table.at_key("time")))
        .collect();
    let read = |table| {
        let before = source.count();
        // What follows from a mistake is none of its own.
        ProbePlan::read(table, time_ns).filter(|_| source.count() == before)
    };
    let probes: Vec<_> = places.into_iter().map(read).collect();
    let (at_loads, at_placements) = (top.at_key("loads"), top.at_key("placements"));
    twice(
        &loads,
        |load| load.level(),
        |level| top.wrong(at_loads.clone(), format!("load `{level}` is named twice")),
    );
    let mut seen: Vec<(Factors, usize)> = Vec::new();
    let mut trials = 0_usize;
    let places = [platforms.len(), placements.len(), loads.len()];
    for (number, probe) in probes.iter().enumerate() {
        let Some(probe) = probe else { continue };
        let of_one = probe.most_trials();
        trials = trials.saturating_add(places.into_iter().fold(of_one, usize::saturating_mul));
        if trials > TRIALS {
            let text = format!(
                "platforms, placements, loads and probes up to this one come to {trials} trials in \
                 each replicate; {TRIALS} at most"
            );
            top.wrong(at[number].0.clone(), text);
            break;
        }
        let mut wrong = None;
        let (rest, loaded): (Vec<_>, Vec<_>) = loads.iter().partition(|load| load.is_idle());
        for load in rest.into_iter().chain(loaded) {
            match probe.plan(load, 0) {
                // What is too short at rest is shorter still beside a load.
                Err(why) => wrong = Some(why),
                Ok(plan) => seen.extend(plan.cells.into_iter().map(|c| (c.factors, number))),
            }
        }
        if let Some(why) = wrong {
            top.wrong(at[number].1.clone(), why.to_string());
        }
    }
    // Two probes with a cell in common would mix their trials.
    seen.sort();
    for pair in seen.windows(2).filter(|w| w[0].0 == w[1].0) {
        let text = format!(
            "cell `{}` is asked for twice",
            pair[0].0.clone().without(factor::LOAD)
        );
        top.wrong(at[pair[1].1].0.clone(), text);
    }
    top.finish();
    let mut plan = LabPlan {
        name,
        seed,
        replicates: replicates.map_or(REPLICATES, |n| u32::try_from(n).unwrap_or(u32::MAX)),
        testbed,
        platforms,
        placements,
        loads,
        probes: Vec::new(),
    };
    let places = testbed::Places {
        testbed: testbed_at.unwrap_or(0..0),
        loads: at_loads,
        placements: at_placements,
        probes: at.into_iter().map(|(table, _)| table).collect(),
    };
    testbed::check(source, &plan, &probes, &places);
    plan.probes = probes.into_iter().flatten().collect();
    if source.count() == 0
        && let Err(why) = plan.planned().check()
    {
        let text =
            format!("{why}; take fewer of its platforms, placements, loads, methods or replicates");
        source.wrong(0..0, &text);
    }
    Some(plan)
}

fn read_placements(top: &Table<'_, '_>, loads: &[LoadSpec]) -> Vec<PlacementPlan> {
    if !top.has("placements") {
        return vec![PlacementPlan::alone()];
    }
    let known = loads.iter().map(LoadSpec::level).collect();
    let mut placements: Vec<PlacementPlan> = Vec::new();
    for table in top.tables("placements", "placement") {
        let at = table.at();
        let Some(placement) = PlacementPlan::read(table, &known) else {
            continue;
        };
        if placements.iter().any(|other| other.name == placement.name) {
            let name = &placement.name;
            top.wrong(
                at,
                format!("a second placement called `{name}`; give it another name = \"...\""),
            );
        }
        placements.push(placement);
    }
    placements
}

fn twice<T, K: Ord + Clone>(all: &[T], key: impl Fn(&T) -> K, mut found: impl FnMut(K)) {
    let mut keys: Vec<K> = all.iter().map(key).collect();
    keys.sort();
    keys.windows(2)
        .filter(|w| w[0] == w[1])
        .for_each(|w| found(w[0].clone()));
}

impl ProbePlan {
    /// Measuring time of one cell.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.time_ns)
    }
}

fn levels<S: serde::Serializer>(loads: &[LoadSpec], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(loads.iter().map(LoadSpec::level))
}
