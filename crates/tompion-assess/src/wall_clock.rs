//! Whether the wall clock is in step, what keeps it so, how far it may be off, and what would
//! help. Pure: it goes by what was read of the machine.

mod remedy;
mod steps;
#[cfg(test)]
mod tests;

use serde::Serialize;
use tompion_model::{Environment, Synchronisation, TimeKeeper};

pub use remedy::Remedy;
pub use steps::{Step, steps};

/// How the wall clock is kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WallClock {
    /// Whether it is in step with a reference; absent where nothing tells.
    pub in_step: Option<bool>,
    /// The same in a sentence, with the reason.
    pub answer: String,
    /// How far it may be off, in nanoseconds; absent where nothing bounds it.
    pub error_at_most_ns: Option<u64>,
    /// What would help; absent where nothing is missing.
    pub remedy: Option<Remedy>,
}

/// What the kernel says once nobody has told it better for long, or since the clock was set
/// (`NTP_PHASE_LIMIT`): no bound, though it reads like one.
const KERNEL_KNOWS_NOTHING_NS: i64 = 16_000_000_000;

/// How it stands, by which advice goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Standing<'a> {
    /// A keeper says so, and the kernel does not contradict.
    InStep(&'a TimeKeeper),
    /// The kernel says so, of a keeper that cannot be asked.
    ByTheKernel(&'a TimeKeeper),
    /// The kernel says so, and what keeps it does not show.
    Unseen,
    /// A keeper says so, and the kernel has not heard of it since the clock was set.
    SetMeanwhile(&'a TimeKeeper),
    /// It runs and is not in step.
    NotYet(&'a TimeKeeper),
    /// It runs, cannot be asked, and the kernel does not say.
    Untold(&'a TimeKeeper),
    /// It runs and leaves the clock alone.
    LeavesAlone(&'a TimeKeeper),
    /// Nothing keeps it.
    Unkept,
    /// Nothing is seen that keeps it, and the kernel may not be asked.
    Unknown,
}

/// Says how the wall clock of a machine is kept; nothing of a machine of which this was never
/// looked at.
pub fn wall_clock(environment: &Environment) -> Option<WallClock> {
    let keeping = environment.time_keeping.as_ref()?;
    let kernel = environment.synchronisation.as_ref();
    let keeps: Vec<&TimeKeeper> = keeping
        .keepers
        .iter()
        .filter(|k| k.running && k.keeps)
        .collect();
    let standing = standing(&keeps, &keeping.keepers, kernel);
    let in_step = standing.in_step();
    let mut answer = standing.answer();
    if keeps.len() > 1 {
        let names: Vec<&str> = keeps.iter().map(|k| k.name.as_str()).collect();
        answer.push_str(&format!("; {} correct it at once", names.join(" and ")));
    }
    Some(WallClock {
        in_step,
        answer,
        error_at_most_ns: match standing {
            Standing::InStep(keeper) => keeper.error_at_most_ns,
            _ => None,
        },
        remedy: remedy::remedy(environment, &standing, &keeps),
    })
}

fn standing<'a>(
    keeps: &[&'a TimeKeeper],
    all: &'a [TimeKeeper],
    kernel: Option<&Synchronisation>,
) -> Standing<'a> {
    let heard = |keeper: &TimeKeeper| {
        let knows_nothing = |k: &Synchronisation| k.maximum_error_ns >= KERNEL_KNOWS_NOTHING_NS;
        !(keeper.tells_kernel && kernel.is_some_and(knows_nothing))
    };
    let by_word = |word: Option<bool>| keeps.iter().copied().filter(move |k| k.in_step == word);
    if let Some(keeper) = by_word(Some(true)).next() {
        return match heard(keeper) {
            true => Standing::InStep(keeper),
            false => Standing::SetMeanwhile(keeper),
        };
    }
    let synchronised = kernel.map(|k| k.synchronised);
    if let Some(keeper) = by_word(None).next() {
        return match synchronised {
            Some(true) => Standing::ByTheKernel(keeper),
            Some(false) if keeper.tells_kernel => Standing::NotYet(keeper),
            _ => Standing::Untold(keeper),
        };
    }
    if let Some(keeper) = by_word(Some(false)).next() {
        return Standing::NotYet(keeper);
    }
    let follows = |k: &&TimeKeeper| k.running && k.in_step.is_some();
    match (all.iter().find(follows), synchronised) {
        (_, Some(true)) => Standing::Unseen,
        (Some(keeper), _) => Standing::LeavesAlone(keeper),
        (None, Some(false)) => Standing::Unkept,
        (None, None) => Standing::Unknown,
    }
}

impl Standing<'_> {
    fn in_step(self) -> Option<bool> {
        match self {
            Self::InStep(_) | Self::ByTheKernel(_) | Self::Unseen => Some(true),
            Self::SetMeanwhile(_) | Self::NotYet(_) | Self::LeavesAlone(_) | Self::Unkept => {
                Some(false)
            }
            Self::Untold(_) | Self::Unknown => None,
        }
    }

    fn answer(self) -> String {
        match self {
            Self::InStep(k) => format!("{} keeps the wall clock in step", k.name),
            Self::ByTheKernel(k) => format!(
                "{} keeps the wall clock in step, by the kernel's word",
                k.name
            ),
            Self::Unseen => "The kernel regards its clock as synchronised; what keeps it does \
                             not show from here"
                .to_owned(),
            Self::SetMeanwhile(k) => format!(
                "The wall clock was set by something else since {} last corrected it",
                k.name
            ),
            Self::NotYet(k) => format!("{} runs and is not in step{}", k.name, why(k)),
            Self::Untold(k) => format!("{} runs, and nothing says whether it is in step", k.name),
            Self::LeavesAlone(k) => {
                format!("{} runs and does not correct the wall clock", k.name)
            }
            Self::Unkept => "Nothing keeps the wall clock in step".to_owned(),
            Self::Unknown => {
                "Nothing is seen that keeps the wall clock in step, and the kernel does not say whether it is"
                    .to_owned()
            }
        }
    }
}

/// What its sources say for it.
fn why(keeper: &TimeKeeper) -> String {
    let asked = |state: &str| keeper.sources.iter().filter(|s| s.state == state).count();
    let (all, unreachable) = (keeper.sources.len(), asked("unreachable"));
    match (keeper.in_step, all) {
        (None, _) => String::new(),
        (_, 0) => ": it has no sources".to_owned(),
        _ if all == asked("configured") => String::new(),
        (_, 1) if unreachable == 1 => ": its only source does not answer".to_owned(),
        _ if unreachable == all => format!(": none of its {all} sources answers"),
        _ => format!(": it has chosen none of its {all} sources yet"),
    }
}
