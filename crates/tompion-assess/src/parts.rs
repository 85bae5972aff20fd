//! Who takes the time: whether the clock is right, what the host takes, what the kernel costs,
//! and what else goes on here. Pure: it goes by what a run recorded.

mod clock;
pub(crate) mod fault;
mod here;
pub(crate) mod host;
mod kernel;
mod part;
#[cfg(test)]
pub(crate) mod planted;
pub(crate) mod programs;
mod seen;
mod taken;
pub(crate) mod taker;
mod takers;
pub(crate) mod words;

pub use fault::{ClockFault, KernelFault};
pub use part::{Part, SENTENCE, State};
pub use seen::Seen;
pub use words::percent;

/// Says of each part of a machine how it stands: clock, host, kernel, and what else goes on here.
pub fn parts(seen: &Seen<'_>) -> [Part; 4] {
    [
        clock::part(seen),
        host::part(seen),
        kernel::part(seen),
        here::part(seen),
    ]
}

#[cfg(test)]
mod tests;
