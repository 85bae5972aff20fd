//! What fires the events, one file each.

use std::io;

use tompion_model::{InCheck, MethodRow};
use tompion_time::os::{self, ClockId};

use super::{Firing, NAME};

tompion_model::entries! {
    /// All of them, in the order in which they are shown.
    pub(super) static ALL: [Firing] =
        timerfd,
        clock_nanosleep_abs,
        clock_nanosleep_rel,
        posix_timer,
        io_uring,
        epoll,
        ticker,
}

/// What an entry says of itself, but for what it says otherwise.
const EVENTS: MethodRow = MethodRow {
    probe: NAME,
    has_grid: true,
    in_check: InCheck::No,
    ..MethodRow::SLEEP
};

#[inline(always)]
fn monotonic() -> u64 {
    os::now_ns(ClockId::Monotonic)
}

/// Points of a grid that a timer of the kernel has told of: with each event it
/// says how many passed since the one before.
#[derive(Debug, Default)]
pub(super) struct Told(u64);

impl Told {
    /// Enters an event that stands for `passed` points; says whether it is the one
    /// of `point`, counted from 0, or a later one.
    ///
    /// A point that passed between the event before and the clock read after it has
    /// been counted as missed, and the kernel tells of it now: it is passed over.
    /// An event ahead of the clock is an early one. Past its time the clock alone
    /// decides, so that a kernel that miscounts delays nobody.
    #[inline]
    pub(super) fn reaches(&mut self, passed: u64, point: u64, is_due: impl Fn() -> bool) -> bool {
        self.0 += passed;
        self.0 > point || is_due()
    }

    /// Waits for the event of a point, or of a later one; `wait` says for how many points
    /// each event stands.
    #[inline(always)]
    fn wait_point(
        &mut self,
        point: u64,
        target_ns: u64,
        wait: impl Fn() -> io::Result<u64>,
    ) -> io::Result<()> {
        loop {
            let passed = wait()?;
            if self.reaches(passed, point, || monotonic() >= target_ns) {
                return Ok(());
            }
        }
    }
}
