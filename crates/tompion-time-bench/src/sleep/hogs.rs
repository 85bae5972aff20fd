//! CPU hogs as loads: none, as many as CPUs, twice as many.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tompion_load::{LoadConfig, LoadProcess, LoadSpec, Observation};
use tompion_time::os::{self, ClockId};

/// What runs beside the sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Nothing of ours.
    Idle,
    /// As many hogs as CPUs.
    Hogs,
    /// Twice as many.
    TwiceHogs,
}

impl Load {
    /// In the order printed.
    pub const ALL: [Self; 3] = [Self::Idle, Self::Hogs, Self::TwiceHogs];

    /// Groups of hogs, each as many as CPUs.
    fn groups(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Hogs => 1,
            Self::TwiceHogs => 2,
        }
    }

    /// The name printed.
    pub fn title(self, cpus: usize) -> String {
        match self.groups() * cpus {
            0 => "idle".to_owned(),
            1 => format!("1 CPU hog on {cpus} CPU"),
            n => format!(
                "{n} CPU hogs on {cpus} CPU{}",
                if cpus == 1 { "" } else { "s" }
            ),
        }
    }
}

/// How long hogs run before the first sleep, until the scheduler has spread them.
const SETTLE: Duration = Duration::from_millis(50);

/// Two groups of hogs, each a process with a thread for each CPU; switched on and
/// off, and ended with this program however it ends.
pub struct Hogs {
    groups: [LoadProcess; 2],
    /// What the CPUs did under each load.
    used: [(Load, Used); 3],
}

/// CPU time under one load.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    hogs_ns: u64,
    sleepers_ns: u64,
    machine_ns: u64,
    wall_ns: u64,
}

/// Who kept how many CPUs busy on average under one load: proof that it ran, and
/// that little else did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CpusUsed {
    /// The load.
    pub load: Load,
    /// Our hogs.
    pub hogs: f64,
    /// The threads that slept and spun.
    pub sleepers: f64,
    /// Everything else on this machine, by the kernel's count of busy time, which
    /// is by ticks on many machines.
    pub others: f64,
}

impl Used {
    fn cpus(self, load: Load) -> CpusUsed {
        let share = |ns: u64| match self.wall_ns {
            0 => 0.0,
            wall_ns => ns as f64 / wall_ns as f64,
        };
        let ours_ns = self.hogs_ns + self.sleepers_ns;
        CpusUsed {
            load,
            hogs: share(self.hogs_ns),
            sleepers: share(self.sleepers_ns),
            others: share(self.machine_ns.saturating_sub(ours_ns)),
        }
    }
}

fn cpu_ns(groups: &mut [LoadProcess]) -> anyhow::Result<u64> {
    let mut sum = 0;
    for group in groups {
        sum += group.observe()?.cpu_time_ns;
    }
    Ok(sum)
}

/// Busy time of all CPUs since the machine booted, what the hypervisor stole left
/// out.
fn machine_busy_ns() -> std::io::Result<u64> {
    let text = std::fs::read_to_string("/proc/stat")?;
    busy_ns(&text).ok_or_else(|| std::io::Error::other("it has no readable line 'cpu'"))
}

/// proc(5): user, nice, system, idle, iowait, irq, softirq, in units of USER_HZ,
/// which is 100 on every architecture that we build for.
fn busy_ns(stat: &str) -> Option<u64> {
    const UNIT_NS: u64 = 10_000_000;
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .skip(1)
        .map_while(|field| field.parse().ok())
        .collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, ..] = fields[..] else {
        return None;
    };
    Some((user + nice + system + irq + softirq) * UNIT_NS)
}

impl Hogs {
    /// Starts both groups, paused.
    ///
    /// # Errors
    /// If the processes cannot be started.
    pub fn start(cpus: usize, planned: Duration) -> anyhow::Result<Self> {
        let spec: LoadSpec = format!("cpu:threads={cpus}").parse()?;
        let config = LoadConfig {
            executable: std::env::current_exe().context("finding this program")?,
            // CPU hogs write no files.
            directory: PathBuf::from("/"),
            write_budget_bytes: 0,
            planned_load_time: planned,
            measured_cpu: None,
        };
        let group = || LoadProcess::start(&spec, &config).context("starting the CPU hogs");
        Ok(Self {
            groups: [group()?, group()?],
            used: Load::ALL.map(|load| (load, Used::default())),
        })
    }

    /// Runs `work` beside a load; it returns the CPU time it used itself, in
    /// nanoseconds.
    ///
    /// # Errors
    /// If the hogs died, or used no CPU time while they were on.
    pub fn beside(&mut self, load: Load, work: impl FnOnce() -> u64) -> anyhow::Result<()> {
        let groups = &mut self.groups[..load.groups()];
        let mut since: Vec<Observation> = Vec::with_capacity(groups.len());
        for group in groups.iter_mut() {
            since.push(group.observe()?);
            group.resume()?;
        }
        std::thread::sleep(SETTLE);
        let start_ns = os::now_ns(ClockId::Monotonic);
        let machine_before_ns = machine_busy_ns().context("reading /proc/stat")?;
        let hogs_before_ns = cpu_ns(groups)?;
        let sleepers_ns = work();
        let hogs_ns = cpu_ns(groups)? - hogs_before_ns;
        let machine_ns = machine_busy_ns().context("reading /proc/stat")? - machine_before_ns;
        let wall_ns = os::now_ns(ClockId::Monotonic) - start_ns;
        for (group, since) in groups.iter_mut().zip(&since) {
            // Fails where a group did nothing at all.
            group.evidence(since)?;
            group.pause()?;
        }
        for (_, used) in self.used.iter_mut().filter(|(of, _)| *of == load) {
            used.hogs_ns += hogs_ns;
            used.sleepers_ns += sleepers_ns;
            used.machine_ns += machine_ns;
            used.wall_ns += wall_ns;
        }
        Ok(())
    }

    /// Who kept the CPUs busy under a load.
    pub fn cpus_used(&self, load: Load) -> CpusUsed {
        let used = self.used.iter().find(|(of, _)| *of == load);
        let used = used.map(|(_, used)| *used).unwrap_or_default();
        used.cpus(load)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_told_by_number() {
        assert_eq!(Load::Idle.title(2), "idle");
        assert_eq!(Load::Hogs.title(2), "2 CPU hogs on 2 CPUs");
        assert_eq!(Load::Hogs.title(1), "1 CPU hog on 1 CPU");
        assert_eq!(Load::TwiceHogs.title(1), "2 CPU hogs on 1 CPU");
        assert_eq!(Load::TwiceHogs.title(8), "16 CPU hogs on 8 CPUs");
    }

    #[test]
    fn what_others_used_is_what_is_left() {
        let used = Used {
            hogs_ns: 1_030,
            sleepers_ns: 170,
            machine_ns: 2_000,
            wall_ns: 1_000,
        };
        let cpus = used.cpus(Load::Hogs);
        assert_eq!((cpus.hogs, cpus.sleepers, cpus.others), (1.03, 0.17, 0.8));
        // Counted by ticks, the machine may seem to have done less than we did.
        let coarse = Used {
            machine_ns: 1_190,
            ..used
        };
        assert_eq!(coarse.cpus(Load::Hogs).others, 0.0);
        assert_eq!(Used::default().cpus(Load::Idle).others, 0.0);
    }

    #[test]
    fn busy_time_leaves_idle_waiting_and_stolen_time_out() {
        let stat = "cpu  1 2 4 1000 1000 8 16 1000 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\n";
        assert_eq!(busy_ns(stat), Some(31 * 10_000_000));
        assert_eq!(busy_ns("cpu  1 2 x\n"), None);
        assert_eq!(busy_ns("intr 5\n"), None);
    }
}
