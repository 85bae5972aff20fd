//! What is watched during a measurement.

use tompion_model::InvalidValue;

/// What is watched during a measurement (the feedback mechanism of Whiteaker 2011,
/// section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Observe {
    /// What keeps the thread from running, where that is permitted; else the thread's
    /// switches where the probe hardly switches, and counters alone beside sleeps: a
    /// record of each sleep's two switches costs it a microsecond or two.
    #[default]
    Auto,
    /// Nothing.
    Off,
    /// The machine's counters, ten times a second.
    Counters,
    /// Being preempted, kept waiting or stopped, and page faults, too: recorded only
    /// when it happens; takes privilege.
    Turns,
    /// The measuring thread's own switches and faults, all of them.
    Threads,
    /// Everything that happens on its CPUs, too; takes privilege.
    Cpus,
}

impl Observe {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Auto,
        Self::Off,
        Self::Counters,
        Self::Turns,
        Self::Threads,
        Self::Cpus,
    ];

    /// The name on the command line and the level of the factor `observe`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
            Self::Counters => "counters",
            Self::Turns => "turns",
            Self::Threads => "threads",
            Self::Cpus => "cpus",
        }
    }
}

impl std::str::FromStr for Observe {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        Self::ALL
            .into_iter()
            .find(|o| o.name() == text)
            .ok_or_else(|| {
                format!(
                    "`{text}` is nothing to observe; use auto, off, counters, turns, threads or cpus"
                )
                .into()
            })
    }
}
