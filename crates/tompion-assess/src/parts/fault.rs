//! What is wrong with a part of a machine, with its figures. Blame goes by these, not by the words for them.

use tompion_model::format_ns;

use super::taker::Taker;
use super::words::set_ns;

/// What is wrong with a part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// With the clock.
    Clock(ClockFault),
    /// The host takes the CPU, or the firmware where there is none.
    Host {
        took: Taker,
        is_guest: bool,
        /// Whether it is known only by nobody else having taken the CPU.
        is_likely: bool,
    },
    /// With a setting of the kernel's.
    Kernel(KernelFault),
    /// A CPU quota was used up.
    Quota { took: Taker },
    /// Other programs, those that took most by name.
    Programs { took: Taker, names: Vec<String> },
}

/// What is wrong with a clock.
#[derive(Clone, Debug, PartialEq)]
pub enum ClockFault {
    /// The wall clock was set during the run.
    Set {
        /// By this at most, in nanoseconds.
        ns: i64,
        /// How often.
        times: usize,
    },
    /// A clock ran backwards.
    Backwards {
        /// Which.
        clock: String,
        /// How often.
        times: u64,
    },
    /// The wall clock is not in step.
    NotSynchronised,
}

impl ClockFault {
    /// As a clause of the part's sentence.
    pub fn in_words(&self) -> String {
        match self {
            Self::Set { ns, times } => {
                let sign = if *ns < 0 { '\u{2212}' } else { '+' };
                let ns = format_ns(ns.unsigned_abs() as f64);
                let more = match times {
                    0 | 1 => String::new(),
                    n => format!(" and {} times more", n - 1),
                };
                format!("set by {sign}{ns}{more} during the run")
            }
            Self::Backwards { clock, times: 1 } => format!("{clock} ran backwards once"),
            Self::Backwards { clock, times } => format!("{clock} ran backwards {times} times"),
            Self::NotSynchronised => "not synchronised".to_owned(),
        }
    }
}

/// What is wrong with a setting of the kernel's.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelFault {
    /// Sleeps may end that much later, in nanoseconds.
    Slack(u64),
    /// Timers go by the tick.
    NoHighResolution,
    /// This clocksource goes by the tick.
    CoarseClocksource(String),
    /// This clocksource is read through a device.
    SlowClocksource(String),
}

impl KernelFault {
    /// As a clause of the part's sentence.
    pub fn in_words(&self) -> String {
        match self {
            Self::Slack(ns) => format!("timer slack {}", set_ns(*ns)),
            Self::NoHighResolution => "no high-resolution timers".to_owned(),
            Self::CoarseClocksource(name) => format!("clocksource {name}, as coarse as the tick"),
            Self::SlowClocksource(name) => format!("clocksource {name}, read slowly"),
        }
    }
}
