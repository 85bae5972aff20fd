//! Beside whom is measured: the placements of a plan. Guests have roles, CPUs and a part
//! of the CPU's time; seven placements have names, after Perneel 2015, section V.

mod reading;

use std::fmt;

use serde::Serialize;
use tompion_load::LoadSpec;
use tompion_platforms::groups::Scheduling;

/// The name of the placement of a plan that names none.
pub const ALONE: &str = "alone";

/// One placement of a plan: the level of the factor `placement`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacementPlan {
    /// Its name, by which results tell it from others.
    pub name: String,
    /// Which of Perneel's scenarios it is, or began as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<&'static str>,
    /// On which CPUs guests run.
    pub pinning: Pinning,
    /// The CPUs that it has; all that the lab may use where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Vec<u32>>,
    /// What runs on the host beside the guests.
    #[serde(serialize_with = "level", skip_serializing_if = "Option::is_none")]
    pub host_load: Option<LoadSpec>,
    /// What all guests have together, against the rest of the machine.
    #[serde(skip_serializing_if = "Scheduling::is_usual")]
    pub together: Scheduling,
    /// What the measuring guest has.
    #[serde(skip_serializing_if = "Scheduling::is_usual")]
    pub measure: Scheduling,
    /// The guests beside it.
    pub guests: Vec<GuestPlan>,
    /// The loads of the plan with which it is measured; all where absent.
    #[serde(serialize_with = "levels", skip_serializing_if = "Option::is_none")]
    pub loads: Option<Vec<LoadSpec>>,
    /// Line and column in the plan; absent where the plan names no placement.
    #[serde(skip)]
    pub at: Option<(usize, usize)>,
}

/// On which CPUs guests run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pinning {
    /// Where the scheduler puts them.
    #[default]
    Free,
    /// Each of a guest's CPUs on a CPU of its own.
    OneToOne,
    /// All on one CPU.
    OneCpu,
    /// As many CPUs as the guests have together, and each may run on all of them.
    AllOnAll,
}

impl Pinning {
    pub(super) const NAMES: [(&str, Self); 4] = [
        ("free", Self::Free),
        ("one-to-one", Self::OneToOne),
        ("one-cpu", Self::OneCpu),
        ("all-on-all", Self::AllOnAll),
    ];

    /// Its name in a plan.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, pinning)| *pinning == self);
        found.map_or("", |(name, _)| name)
    }
}

/// What a guest beside the first is there for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing: it has booted, and waits.
    Idle,
    /// It carries a load.
    Load(LoadSpec),
    /// It measures the same at the same time.
    Measure,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("idle"),
            Self::Load(load) => f.write_str(&load.level()),
            Self::Measure => f.write_str("measure"),
        }
    }
}

/// Guests beside the first one, which measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GuestPlan {
    /// What they do.
    #[serde(serialize_with = "role")]
    pub role: Role,
    /// How many of them.
    pub count: usize,
    /// What each of them has.
    #[serde(flatten)]
    pub scheduling: Scheduling,
}

impl PlacementPlan {
    /// That of a plan which names none.
    pub(super) fn alone() -> Self {
        Self {
            name: ALONE.to_owned(),
            scenario: None,
            pinning: Pinning::Free,
            cpus: None,
            host_load: None,
            together: Scheduling::default(),
            measure: Scheduling::default(),
            guests: Vec::new(),
            loads: None,
            at: None,
        }
    }

    /// Whether it leaves everything as it is.
    pub fn is_plain(&self) -> bool {
        let free = self.pinning == Pinning::Free && self.cpus.is_none();
        free && !self.needs_groups()
    }

    /// Whether guests share the CPU by control groups: else the threads of one would
    /// have a part each, and not the guest.
    pub fn needs_groups(&self) -> bool {
        let usual = self.together.is_usual() && self.measure.is_usual();
        !usual || !self.guests.is_empty() || self.host_load.is_some()
    }

    /// Whether it is measured with this load of the plan.
    pub fn has(&self, load: &LoadSpec) -> bool {
        self.loads.as_ref().is_none_or(|loads| loads.contains(load))
    }

    /// The loads of the guests beside the measuring one, and of the host.
    pub(super) fn loads_beside(&self) -> impl Iterator<Item = &LoadSpec> {
        let roles = self.guests.iter().map(|guests| &guests.role);
        let of_guests = roles.filter_map(|role| match role {
            Role::Load(load) => Some(load),
            Role::Idle | Role::Measure => None,
        });
        of_guests.chain(&self.host_load)
    }

    /// Guests beside the measuring one.
    pub fn neighbours(&self) -> usize {
        self.guests.iter().map(|guests| guests.count).sum()
    }

    /// Guests that measure, the first among them.
    pub fn measuring(&self) -> usize {
        let others = self.guests.iter().filter(|g| g.role == Role::Measure);
        1 + others.map(|guests| guests.count).sum::<usize>()
    }

    /// What it is, for people to read.
    pub fn settings(&self) -> Vec<String> {
        let mut said: Vec<String> = self
            .scenario
            .iter()
            .map(|s| format!("scenario {s}"))
            .collect();
        said.push(format!("pinning {}", self.pinning.name()));
        said.extend(
            self.cpus
                .iter()
                .map(|c| format!("CPUs {}", tompion_host::cpu_list(c))),
        );
        let with = |what: String, has: &Scheduling| match has.in_words() {
            words if words.is_empty() => what,
            words => format!("{what} ({})", words.join(", ")),
        };
        if !self.together.is_usual() {
            said.push(with("together".to_owned(), &self.together));
        }
        said.push(with("measure".to_owned(), &self.measure));
        for guests in &self.guests {
            said.push(with(
                format!("{} x {}", guests.count, guests.role),
                &guests.scheduling,
            ));
        }
        said.extend(
            self.host_load
                .iter()
                .map(|load| format!("on the host {}", load.level())),
        );
        if let Some(loads) = &self.loads {
            let loads: Vec<String> = loads.iter().map(LoadSpec::level).collect();
            said.push(format!("with {} alone", loads.join(", ")));
        }
        said
    }
}

fn role<S: serde::Serializer>(role: &Role, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(role)
}

fn levels<S: serde::Serializer>(loads: &Option<Vec<LoadSpec>>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(loads.iter().flatten().map(LoadSpec::level))
}

fn level<S: serde::Serializer>(load: &Option<LoadSpec>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_some(&load.as_ref().map(LoadSpec::level))
}
