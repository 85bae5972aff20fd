//! The remedies, one file each.

mod cgroup;
mod clocksource;
mod dma_latency;
mod fifo;
mod governor;
mod halt_poll;
mod hybrid_sleep;
mod idle_states;
mod interrupts;
mod memory_lock;
mod pinning;
mod preload;
#[cfg(test)]
mod tests;
mod timer_slack;

use crate::{Knob, Surroundings};

/// All remedies, in the order in which they are listed: first what a program can do
/// for itself, then what the machine's owner can do.
pub fn all(here: &Surroundings) -> Vec<Box<dyn Knob>> {
    let mut knobs: Vec<Box<dyn Knob>> = vec![
        Box::new(timer_slack::TimerSlack),
        Box::new(fifo::Fifo),
        Box::new(pinning::Pinning),
        Box::new(memory_lock::MemoryLock),
        Box::new(hybrid_sleep::HybridSleep),
        Box::new(preload::Preload),
        Box::new(cgroup::LeaveCgroup),
        Box::new(interrupts::MoveInterrupts),
    ];
    knobs.extend(clocksource::each(here));
    knobs.extend([
        Box::new(dma_latency::DmaLatency) as Box<dyn Knob>,
        Box::new(governor::Governor),
        Box::new(idle_states::IdleStates),
        Box::new(halt_poll::HaltPoll),
    ]);
    knobs
}
