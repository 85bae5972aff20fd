//! Every way to sleep that is compared.

use std::hint::black_box;
use std::time::Duration;

use serde::Serialize;
use spin_sleep::{SpinSleeper, SpinStrategy};
use tompion_time::os::{self, ClockId};
use tompion_time::sleep::{Policy, Sleeper};

/// One way to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// `std::thread::sleep`.
    Std,
    /// The kernel's sleep with 1 ns of timer slack.
    SlackOnly,
    /// spin_sleep as it comes: a margin of 125 us, then yielding.
    SpinSleep,
    /// spin_sleep with its spin-loop hint in place of yielding.
    SpinSleepHint,
    /// Reading the kernel's clock until the time is over.
    BusyWait,
    /// The rule published for HighPerTimer.
    HighPerTimer,
    /// Ours: the hybrid policy with its default budget.
    Hybrid,
    /// The same again, for the A/A rows.
    HybridAgain,
}

/// A started method: sleeps for a time and tells whether a budget cut it.
pub type Sleep = Box<dyn FnMut(Duration) -> bool>;

impl Method {
    /// In the order printed.
    pub const ALL: [Self; 8] = [
        Self::Std,
        Self::SlackOnly,
        Self::SpinSleep,
        Self::SpinSleepHint,
        Self::BusyWait,
        Self::HighPerTimer,
        Self::Hybrid,
        Self::HybridAgain,
    ];

    /// The two ways that spin_sleep has.
    pub const SPIN_SLEEP: [Self; 2] = [Self::SpinSleep, Self::SpinSleepHint];

    /// Those that other tools offer to whoever wants precision.
    pub const PRECISE_PEERS: [Self; 4] = [
        Self::SpinSleep,
        Self::SpinSleepHint,
        Self::BusyWait,
        Self::HighPerTimer,
    ];

    /// The name printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Std => "std::thread::sleep",
            Self::SlackOnly => "slack only (1 ns)",
            Self::SpinSleep => "spin_sleep",
            Self::SpinSleepHint => "spin_sleep, SpinLoopHint",
            Self::BusyWait => "busy wait",
            Self::HighPerTimer => "HighPerTimer's rule",
            Self::Hybrid => "tompion hybrid",
            Self::HybridAgain => "tompion hybrid again (A/A)",
        }
    }

    /// Starts the method on the calling thread, which it may change: the timer
    /// slack belongs to the thread.
    pub fn start(self) -> Sleep {
        match self {
            Self::Std => unlimited(std::thread::sleep),
            Self::SpinSleep => {
                let sleeper = SpinSleeper::default();
                unlimited(move |d| sleeper.sleep(d))
            }
            Self::SpinSleepHint => {
                let sleeper = SpinSleeper::default().with_spin_strategy(SpinStrategy::SpinLoopHint);
                unlimited(move |d| sleeper.sleep(d))
            }
            Self::BusyWait => unlimited(|d| {
                let deadline_ns = os::now_ns(ClockId::Monotonic) + d.as_nanos() as u64;
                while black_box(os::now_ns(ClockId::Monotonic)) < deadline_ns {}
            }),
            Self::SlackOnly => by_policy(Policy::Kernel),
            Self::HighPerTimer => by_policy(Policy::HighPerTimer),
            Self::Hybrid | Self::HybridAgain => by_policy(Policy::hybrid()),
        }
    }
}

fn unlimited(mut sleep: impl FnMut(Duration) + 'static) -> Sleep {
    Box::new(move |duration| {
        sleep(duration);
        false
    })
}

fn by_policy(policy: Policy) -> Sleep {
    let mut sleeper = Sleeper::new(policy);
    Box::new(move |duration| sleeper.sleep(duration).limited)
}
