//! What was measured, where and with what: the lines above the tables.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tompion_model::Environment;

use crate::cli::Options;

/// The machine and the settings of the run.
#[derive(Clone, Debug, Serialize)]
pub struct Head {
    /// Start, UTC.
    pub started_at: String,
    /// Blocks measured.
    pub blocks: u32,
    /// Whether the figures are only a smoke test's.
    pub quick: bool,
    /// Whether this program was built without optimisation.
    pub unoptimised: bool,
    /// Seed of the random order.
    pub seed: u64,
    /// CPUs that this program may use; as many hogs make one load.
    pub cpus: usize,
    /// Tasks that ran or waited for a CPU over the last minute, at the start.
    pub load_average: Option<f64>,
    /// CPU time taken by the hypervisor during the run, in milliseconds.
    pub stolen_ms: Option<u64>,
    /// Where tompion-time's clock takes its time from, and why.
    pub clock: String,
    /// Peers with their versions, and whether they use the counter here.
    pub peers: Vec<Peer>,
    /// Everything else about the machine.
    pub environment: Environment,
}

/// A peer's name and version.
#[derive(Clone, Debug, Serialize)]
pub struct Peer {
    name: &'static str,
    version: &'static str,
    /// Whether it reads the CPU counter on this machine, where it tells.
    uses_counter: Option<bool>,
}

/// The versions pinned in this crate's manifest; a test holds them to it.
const VERSIONS: [(&str, &str); 4] = [
    ("fastant", "0.1.11"),
    ("minstant", "0.1.7"),
    ("quanta", "0.13.0"),
    ("spin_sleep", "1.3.3"),
];

impl Head {
    /// Looks at this machine.
    pub fn of_this_machine(options: &Options) -> Self {
        Self {
            started_at: tompion_model::now_utc(),
            blocks: options.blocks(),
            quick: options.quick,
            unoptimised: cfg!(debug_assertions),
            seed: options.seed.unwrap_or_else(|| {
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |d| d.as_nanos() as u64)
            }),
            cpus: cpus(),
            load_average: load_average(),
            stolen_ms: None,
            // Waits until the clock has measured the counter's rate.
            clock: tompion_time::Clock::init(tompion_time::Policy::Auto).to_string(),
            peers: peers(),
            environment: tompion_host::detect(),
        }
    }

    /// The same after the run: what was stolen meanwhile is known.
    pub fn finished(self) -> Self {
        let before = self.environment.virtualization.steal_ms;
        let after = tompion_host::detect().virtualization.steal_ms;
        Self {
            stolen_ms: after.zip(before).map(|(a, b)| a.saturating_sub(b)),
            ..self
        }
    }

    /// Why the figures are not to be trusted fully.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.unoptimised {
            warnings.push("built without optimisation: the figures mean nothing".to_owned());
        }
        if self.quick {
            warnings.push("a quick run: a look at the program, not a measurement".to_owned());
        } else if self.blocks < Options::ENOUGH_BLOCKS {
            warnings.push(format!(
                "{} blocks; the limits are meant for {} or more",
                self.blocks,
                Options::ENOUGH_BLOCKS
            ));
        }
        match self.load_average {
            Some(load) if load > 0.5 => warnings.push(format!(
                "load average {load:.2} at the start: other programs ran, and the figures are \
                 partly theirs"
            )),
            _ => {}
        }
        warnings
    }
}

/// CPUs that this program may use.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn load_average() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

fn peers() -> Vec<Peer> {
    let uses_counter = |name| match name {
        "fastant" => Some(fastant::is_tsc_available()),
        "minstant" => Some(minstant::is_tsc_available()),
        _ => None,
    };
    VERSIONS
        .iter()
        .map(|&(name, version)| Peer {
            name,
            version,
            uses_counter: uses_counter(name),
        })
        .collect()
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)?;
        match self.uses_counter {
            Some(false) => f.write_str(" (without the counter here)"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let environment = &self.environment;
        let peers: Vec<String> = self.peers.iter().map(Peer::to_string).collect();
        writeln!(
            f,
            "tompion-time {} beside {}",
            env!("CARGO_PKG_VERSION"),
            peers.join(", ")
        )?;
        writeln!(
            f,
            "machine      {} x {}, {}, kernel {}",
            self.cpus,
            known(&environment.machine.cpu_model),
            environment
                .virtualization
                .hypervisor
                .as_deref()
                .map_or("no hypervisor seen".to_owned(), |h| format!("under {h}")),
            known(&environment.kernel.release),
        )?;
        writeln!(
            f,
            "clocksource  {} (available: {})",
            known(&environment.clock.clocksource),
            environment.clock.clocksources_available.join(", ")
        )?;
        let slack = environment.clock.timer_slack_ns;
        writeln!(
            f,
            "timer slack  {}, scheduling policy {}, load average {}",
            slack.map_or("unknown".to_owned(), |ns| format!("{ns} ns")),
            known(&environment.scheduling.policy),
            self.load_average
                .map_or("unknown".to_owned(), |load| format!("{load:.2}")),
        )?;
        let mut clock = self.clock.lines();
        let first = clock.next().unwrap_or_default();
        writeln!(f, "our clock    {}", first.trim_start_matches("clock: "))?;
        for line in clock {
            writeln!(f, "             {line}")?;
        }
        writeln!(f, "design       {} blocks, seed {}", self.blocks, self.seed)?;
        for warning in self.warnings() {
            writeln!(f, "warning      {warning}")?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_printed_are_those_pinned() {
        let manifest = include_str!("../Cargo.toml");
        for (name, version) in VERSIONS {
            let line = manifest
                .lines()
                .find(|line| line.starts_with(&format!("{name} = ")))
                .unwrap();
            assert!(line.contains(&format!("\"={version}\"")), "{line}");
        }
    }
}
