//! What there is to switch among, and the cells that stand for it.

use std::any::Any;
use std::time::Duration;

use tompion_load::LoadSpec;
use tompion_model::{InvalidValue, Way, factor, format_duration};
use tompion_probe::{stalls, wake_up};
use tompion_run::probes::{Place, Probe, Selection, Stalls, WakeUp};
use tompion_run::session::SETTLE;
use tompion_run::{Observe, Plan, PlanOptions, PlannedCell, TimeSetting};
use tompion_watch::{Choices, Setting};

use super::super::session;
use crate::cli::WatchOptions;

/// A slice of sleeps.
pub const SLICE: Duration = Duration::from_millis(250);

/// A slice of a busy loop.
pub const LOOP: Duration = Duration::from_millis(500);

/// A slice of longer sleeps would take more than about a second, its warm-up included.
const LONGEST_TARGET_NS: u64 = 250_000_000;

/// Iterations of the busy loop that count as stalls.
const STALL: &str = "1us";

/// Everything that can be measured, by what is chosen.
pub struct Cells {
    plan: Plan,
    methods: Vec<wake_up::Method>,
    targets_ns: Vec<u64>,
    /// What there is to choose from.
    pub choices: Choices,
    /// What it begins with.
    pub first: Setting,
}

impl Cells {
    /// All combinations.
    pub fn new(options: &WatchOptions) -> anyhow::Result<Self> {
        let methods = match options.methods.is_empty() {
            true => all_methods(),
            false => options.methods.clone(),
        };
        let targets_ns: Vec<u64> = options.targets.iter().map(|t| t.0).collect();
        if let Some(long) = targets_ns.iter().find(|ns| **ns > LONGEST_TARGET_NS) {
            anyhow::bail!(
                "--targets {}: no key is read while a slice is measured, which holds sleeps of \
                 at most 250ms; `tompion measure wake-up` takes longer ones",
                super::super::writing::in_option(Duration::from_nanos(*long))
            );
        }
        let loads = options.loads.0.clone();
        let usable = tompion_host::usable_cpus();
        if let Some(cpu) = options.cpu {
            session::require_cpus("--cpu", &[cpu])?;
        }
        let mut cpus: Vec<Option<u32>> = vec![None];
        cpus.extend(usable.iter().copied().map(Some));
        let Some(cpu) = cpus.iter().position(|c| *c == options.cpu) else {
            anyhow::bail!(
                "--cpu: this process may use only these CPUs: {}",
                tompion_host::cpu_list(&usable)
            );
        };
        let choices = Choices {
            loads: loads.iter().map(LoadSpec::level).collect(),
            methods: methods.iter().map(|m| m.name().to_owned()).collect(),
            targets: targets_ns.iter().map(|ns| format_duration(*ns)).collect(),
            cpus,
        };
        let plan = Plan::new(&PlanOptions {
            probes: probes(&choices)?,
            loads,
            policies: vec![options.policy],
            cpu: None,
            observe: vec![Observe::Auto],
            blocks: 1,
            // One slice after another for as long as is wanted: no pass to hold.
            duration: Duration::from_secs(1 << 32),
            time: TimeSetting::option("--for"),
            settle: SETTLE,
            seed: 0,
        })?;
        Ok(Self {
            plan,
            methods,
            targets_ns,
            choices,
            first: Setting {
                cpu,
                ..Setting::default()
            },
        })
    }

    /// The loads, in the order in which cells refer to them.
    pub fn loads(&self) -> &[LoadSpec] {
        &self.plan.loads
    }

    /// All cells, unpinned.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What may be written in that time, in bytes, generously.
    pub fn bytes_in(&self, time: Duration) -> u64 {
        // A row takes 14; stalls and descriptions come to less than 10 kB a second.
        const ROW: u64 = 20;
        const OTHERS: u64 = 20_000;
        let shortest = self.targets_ns.iter().min().copied().unwrap_or(1);
        // Half of the time is spent otherwise.
        let rows = 500_000_000 / shortest.max(1);
        (rows * ROW + OTHERS).saturating_mul(time.as_secs().max(1))
    }

    /// Sleeps as they are chosen.
    pub fn wake_up(&self, setting: Setting) -> PlannedCell {
        let (wanted, ns) = (
            self.methods[setting.method],
            self.targets_ns[setting.target],
        );
        let mut cell = self.cell(setting, |probe| {
            let sleep: Option<&WakeUp> = probe.downcast_ref();
            sleep.is_some_and(|s| s.method == wanted && s.target_ns == ns)
        });
        // No more than a slice can hold.
        cell.samples = (SLICE.as_nanos() as u64).div_ceil(ns.max(1)).max(1);
        cell
    }

    /// A busy loop beside the load that is chosen, on the CPU that is chosen.
    pub fn stalls(&self, setting: Setting) -> PlannedCell {
        self.cell(setting, |probe| probe.is::<Stalls>())
    }

    fn cell(&self, setting: Setting, is_wanted: impl Fn(&dyn Any) -> bool) -> PlannedCell {
        let found = self
            .plan
            .cells
            .iter()
            .find(|c| c.load == setting.load && is_wanted(&*c.probe));
        let mut cell = found.expect("a cell for every choice").clone();
        if let Some(cpu) = self.choices.cpus[setting.cpu] {
            cell.thread.cpu = Some(cpu);
            cell.factors = cell.factors.with(factor::CPU, cpu.to_string());
        }
        cell
    }
}

/// Sleeps by every method at every target, and a busy loop.
fn probes(choices: &Choices) -> Result<Vec<Selection>, InvalidValue> {
    let one = |text: &str| vec![text.to_owned()];
    let sleeps = [
        ("methods", choices.methods.clone()),
        ("targets", choices.targets.clone()),
        ("slack", one("default")),
    ];
    let loops = [("threshold", one(STALL))];
    let at = Place::CommandLine;
    Ok(vec![
        Selection::new(Probe::named(wake_up::NAME), at, sleeps)?,
        Selection::new(Probe::named(stalls::NAME), at, loops)?,
    ])
}

/// A periodic sleep of the kernel first: the most usual one of those that are precise.
fn all_methods() -> Vec<wake_up::Method> {
    let is_first = |m: &wake_up::Method| m.row().has_grid && m.row().way == Way::Sleeps;
    let first = wake_up::Method::all().find(is_first);
    let others = wake_up::Method::all().filter(|m| Some(*m) != first);
    first.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Watch {
        #[command(flatten)]
        options: WatchOptions,
    }

    fn cells(targets: &str) -> anyhow::Result<Cells> {
        Cells::new(&Watch::parse_from(["watch", "--loads", "idle", "--targets", targets]).options)
    }

    #[test]
    fn no_slice_keeps_a_key_waiting_for_much_more_than_a_second() {
        for targets in ["250ms", "130ms", "100us,1ms", "1ns"] {
            let cells = cells(targets).unwrap();
            for target in 0..cells.targets_ns.len() {
                let setting = Setting {
                    target,
                    ..Setting::default()
                };
                let least = cells.wake_up(setting).least_time();
                assert!(least <= Duration::from_millis(1100), "{targets}: {least:?}");
            }
        }
    }

    #[test]
    fn targets_too_long_or_named_twice_are_refused_in_a_line() {
        for (targets, want) in [
            ("251ms", "--targets 251ms: "),
            ("100us,1h", "--targets 1h: "),
            ("3s", "measure wake-up"),
            ("100us,1ms,100us", "target `100us` is named twice"),
        ] {
            let error = cells(targets).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(want) && !error.contains('\n'), "{error}");
        }
    }
}
