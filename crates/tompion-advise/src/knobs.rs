//! The remedies, one file each.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::path::{Component, Path};

use crate::{Knob, Surroundings};

tompion_model::entries! {
    /// All of them, in the order in which they are listed: first what a program can do for
    /// itself, then what the machine's owner can do.
    static ALL: [Remedy] =
        timer_slack,
        fifo,
        pinning,
        memory_lock,
        hybrid_sleep,
        preload,
        cgroup,
        interrupts,
        clocksource,
        dma_latency,
        governor,
        idle_states,
        halt_poll,
        time_keeper,
}

/// An entry in the list of remedies.
struct Remedy {
    /// The knobs that it has here.
    knobs: fn(&Surroundings) -> Vec<Box<dyn Knob>>,
    /// The files of the kernel that it writes to and puts back; `*` stands for a number.
    writes: &'static [&'static str],
}

/// Whether a remedy writes to this file. A record of what is to be put back may name no other.
pub(crate) fn writes(path: &Path) -> bool {
    let fits = |pattern: &str| {
        let (mut parts, mut of_path) = (pattern.split('/').skip(1), path.components().skip(1));
        path.is_absolute()
            && loop {
                match (parts.next(), of_path.next()) {
                    (None, None) => break true,
                    (Some(part), Some(Component::Normal(name))) if is_named(part, name) => {}
                    _ => break false,
                }
            }
    };
    let mut patterns = ALL.iter().flat_map(|remedy| remedy.writes);
    patterns.any(|pattern| fits(pattern))
}

/// Whether a remedy looks there for what became of a value that it wrote: beside it, where the
/// kernel says to which CPU an interrupt goes. A record may have nothing else read.
pub(crate) fn shows(written: &Path, seen_in: &Path) -> bool {
    // As it is spelled: a path that goes up and down again is not ours.
    let beside = interrupts::seen_in(written);
    beside.as_os_str() == seen_in.as_os_str()
}

fn is_named(pattern: &str, name: &OsStr) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let rest = name.to_str().and_then(|name| name.strip_prefix(before));
    let number = rest.and_then(|rest| rest.strip_suffix(after));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// All remedies, in the order in which they are listed.
pub fn all(here: &Surroundings) -> Vec<Box<dyn Knob>> {
    ALL.iter().flat_map(|remedy| (remedy.knobs)(here)).collect()
}
