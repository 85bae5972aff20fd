//! The probes: what can be measured, with which parameters, one file each.
//!
//! An entry says all that others need to know of a probe: command line, plans of the lab,
//! `tompion list` and the runner take it from here.

mod context;
mod parameter;
mod probing;
mod selection;

use std::fmt;
use std::time::Duration;
use tompion_model::{AT_REST, SideTable, Unavailable};

use crate::{PlannedCell, PlannedSearch};

pub use context::{Context, Slack};
pub use packet_delay::join;
pub use parameter::{Form, InPlan, Parameter, Preset};
pub use probing::{
    AtOnce, FEW, MeasureParts, Member, OnThread, Part, Probing, Room, Split, Stalls, Way,
};
pub use read_cost::ReadCost;
pub use selection::{Place, Selection, Values};
pub use timer_events::TimerEvents;
pub use wake_up::WakeUp;

use probing::{WAKE_ROW, waiting};

tompion_model::entries! {
    /// Every probe, in the order in which they are shown.
    pub static PROBES: [Probe] =
        read_cost,
        wake_up,
        timer_events,
        stalls,
        packet_delay,
}

/// An entry in the list of probes.
pub struct Probe {
    /// Its name: the level of the factor `probe`, the command `tompion measure NAME`, and
    /// `kind = "NAME"` in a plan of the lab.
    pub name: &'static str,
    /// What it measures, as part of a sentence, for example `wake-up latency`.
    pub title: &'static str,
    /// What it measures, in one line.
    pub about: &'static str,
    /// Commands for the help of `tompion measure`.
    pub overview: &'static [&'static str],
    /// Commands for the help of its own command.
    pub examples: &'static [&'static str],
    /// What that help says after them; may be empty.
    pub remarks: &'static str,
    /// What can be set, in the order of the help.
    pub parameters: &'static [Parameter],
    /// What its command measures where nothing else is asked for.
    pub usual: Usual,
    /// What of its trials is observed.
    pub observing: Observing,
    /// The tables that its trials have beside their samples.
    pub tables: &'static [OwnTable],
    /// Whether its intervals can be written as an HdrHistogram interval log.
    pub has_interval_log: bool,
    /// Whether it can watch a running program instead of a loop of its own.
    pub watches_programs: bool,
    /// The most trials into which it splits one measurement.
    pub parts: usize,
    /// What it takes to begin, on top of the measuring time.
    pub opening: Duration,
    /// What it takes to end, on top of the measuring time.
    pub closing: Duration,
    /// Whether this machine has what these values name; if not, why, in one line.
    pub available: fn(&Values) -> Result<(), Unavailable>,
    /// The cells for one load and one policy.
    cells: fn(&Values, &Context<'_>) -> Vec<PlannedCell>,
    /// The searches for one load and one policy, which follow the last block.
    searches: fn(&Values, &Context<'_>) -> Vec<PlannedSearch>,
}

/// A table that a probe writes beside its samples: what another machine calls so has to be one.
pub struct OwnTable {
    /// Its name.
    pub name: &'static str,
    /// One without rows, for its columns.
    pub empty: fn() -> SideTable,
    /// Whether what stands in these columns can be read.
    pub is_read: fn(&SideTable) -> bool,
}

/// What of a probe's trials is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observing {
    /// What is asked for.
    AsAsked,
    /// All evidence that there is: there is nothing to choose.
    Always,
}

/// What the command of a probe measures where nothing else is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Usual {
    /// Loads by name.
    pub loads: &'static [&'static str],
    /// Passes over all cells.
    pub blocks: u32,
    /// Time of the run.
    pub time: Time,
}

/// The usual time of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// This long.
    Whole(Duration),
    /// This long for each trial.
    EachTrial(Duration),
    /// As long as all samples take.
    AllSamples,
}

impl Probe {
    /// The one of that name, if there is one.
    pub fn find(name: &str) -> Option<&'static Self> {
        PROBES.iter().copied().find(|probe| probe.name == name)
    }

    /// The one of that name.
    ///
    /// # Panics
    /// Where there is none: for names that stand in the program.
    pub fn named(name: &str) -> &'static Self {
        Self::find(name).expect("a name that stands in the program")
    }

    /// The parameter of that name, if it has one.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|p| p.name == name)
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Probe {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Probe {}

/// What most probes have in common.
const BASE: Probe = Probe {
    name: "",
    title: "",
    about: "",
    overview: &[],
    examples: &[],
    remarks: "",
    parameters: &[],
    usual: Usual {
        loads: &[AT_REST],
        blocks: 6,
        time: Time::Whole(Duration::from_secs(60)),
    },
    observing: Observing::AsAsked,
    tables: &[],
    has_interval_log: false,
    watches_programs: false,
    parts: 1,
    opening: Duration::ZERO,
    closing: Duration::ZERO,
    available: |_| Ok(()),
    cells: |_, _| Vec::new(),
    searches: |_, _| Vec::new(),
};

#[cfg(test)]
mod tests;
