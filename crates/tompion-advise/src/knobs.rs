//! The remedies, one file each.

#[cfg(test)]
mod tests;

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
}

/// An entry in the list of remedies: the knobs that it has here.
struct Remedy(fn(&Surroundings) -> Vec<Box<dyn Knob>>);

/// All remedies, in the order in which they are listed.
pub fn all(here: &Surroundings) -> Vec<Box<dyn Knob>> {
    ALL.iter().flat_map(|remedy| (remedy.0)(here)).collect()
}
