//! The waiting functions, one file each; each goes on to its target after a signal.

use tompion_model::MethodRow;
use tompion_time::os::{self, ClockId};

use super::{NAME, Waiting};

tompion_model::entries! {
    /// All of them, in the order in which they are shown.
    pub(super) static ALL: [Waiting] =
        usleep,
        nanosleep,
        clock_nanosleep_abs,
        timerfd,
        ppoll,
        std_sleep,
        busy_wait,
        tompion_hybrid,
}

/// What an entry says of itself, but for what it says otherwise.
const SLEEP: MethodRow = MethodRow {
    probe: NAME,
    ..MethodRow::SLEEP
};

#[inline(always)]
fn monotonic() -> u64 {
    os::now_ns(ClockId::Monotonic)
}

/// Repeats a relative wait with what is left until it was not cut short.
#[inline(always)]
fn until(target_ns: u64, ahead_ns: u64, wait: impl Fn(u64) -> bool) {
    let mut left = ahead_ns;
    while !wait(left) {
        left = target_ns.saturating_sub(monotonic());
        if left == 0 {
            return;
        }
    }
}
