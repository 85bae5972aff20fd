//! How late sleeps end, and what they burn, beside CPU hogs.
//!
//! A block goes through the loads in random order, and under each through all
//! methods and targets in random order. Trials last a given time, so that methods
//! which lose the CPU for whole time slices get fewer sleeps, but never less than
//! a given number.

mod bed;
mod cell;
mod figures;
mod hogs;
mod judge;
mod methods;
mod results;
mod tables;

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::cli::Options;
use crate::head::cpus;
use crate::progress::Progress;
use bed::{Bed, Length, Trial};
use cell::{Cell, TARGETS};
use figures::Figures;
use hogs::{Hogs, Load};
use methods::Method;

pub use results::Sleep;
pub use tables::tables;

/// Progress steps a block: one for each trial.
pub const fn steps_a_block() -> u64 {
    (Load::ALL.len() * TARGETS.len() * Method::ALL.len()) as u64
}

/// How long the trials of one condition are. Where limits apply there is most.
fn length(quick: bool, load: Load, target: Duration) -> Length {
    let (time_ms, sleeps) = match (quick, target.as_micros()) {
        (true, _) => (10, 5),
        (false, ..1_000) => (150, 100),
        (false, ..10_000) if load == Load::Hogs => (900, 100),
        (false, ..10_000) => (400, 100),
        (false, _) => (500, 20),
    };
    Length {
        time_ns: time_ms * 1_000_000,
        sleeps,
    }
}

/// A cell while it is measured.
struct Site {
    load: Load,
    target: Duration,
    method: Method,
    bed: Bed,
    trials: Vec<Trial>,
}

/// Measures all cells, block by block.
///
/// # Errors
/// If threads or hogs cannot be started, or hogs die.
pub fn measure(options: &Options, seed: u64, progress: &Progress) -> anyhow::Result<Sleep> {
    let cpus = cpus();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut sites = sites()?;
    let mut hogs = Hogs::start(cpus, planned(options))?;
    for block in 1..=options.blocks() {
        let mut loads = Load::ALL;
        loads.shuffle(&mut random);
        for load in loads {
            let mut beside: Vec<&mut Site> =
                sites.iter_mut().filter(|site| site.load == load).collect();
            beside.shuffle(&mut random);
            progress.next(format!("sleeps, block {block}, {}", load.title(cpus)));
            hogs.beside(load, || {
                let mut cpu_ns = 0;
                for site in beside {
                    let length = length(options.quick, load, site.target);
                    let trial = site.bed.measure(length);
                    cpu_ns += trial.cpu_ns;
                    site.trials.push(trial);
                    progress.step();
                }
                cpu_ns
            })?;
        }
    }
    let cells: Vec<Cell> = sites.into_iter().filter_map(Site::cell).collect();
    Ok(Sleep {
        cpus,
        cpus_used: Load::ALL.map(|load| hogs.cpus_used(load)).to_vec(),
        limits: judge::limits(&cells),
        claims: judge::claims(&cells),
        cells,
    })
}

fn sites() -> anyhow::Result<Vec<Site>> {
    let mut sites = Vec::new();
    for load in Load::ALL {
        for target in TARGETS {
            for method in Method::ALL {
                sites.push(Site {
                    load,
                    target,
                    method,
                    bed: Bed::new(method, target)?,
                    trials: Vec::new(),
                });
            }
        }
    }
    Ok(sites)
}

/// How long hogs will be on in all, roughly.
fn planned(options: &Options) -> Duration {
    let of_trials = |load| -> u64 {
        TARGETS
            .iter()
            .map(|target| length(options.quick, load, *target).time_ns)
            .sum()
    };
    let block: u64 = [Load::Hogs, Load::TwiceHogs]
        .into_iter()
        .map(of_trials)
        .sum();
    Duration::from_nanos(block * Method::ALL.len() as u64 * u64::from(options.blocks()))
}

impl Site {
    fn cell(self) -> Option<Cell> {
        Some(Cell {
            load: self.load,
            target_ns: self.target.as_nanos() as u64,
            method: self.method,
            all: Figures::over(&self.trials)?,
            blocks: self.trials.iter().filter_map(Figures::of).collect(),
        })
    }
}
