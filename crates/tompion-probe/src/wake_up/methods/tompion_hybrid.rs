//! Tompion's own sleep.

use tompion_model::{InCheck, MethodRow, Way};
use tompion_time::sleep::{self, Policy, Sleeper};

use super::SLEEP;
use crate::wake_up::{Waiter, Waiting, run};

pub(super) static ENTRY: Waiting = Waiting {
    row: MethodRow {
        name: "tompion-hybrid",
        about: "Tompion's sleep: kernel, then spinning, on a grid",
        way: Way::SleepsThenSpins,
        has_grid: true,
        // It sets its own.
        has_slack: false,
        in_check: InCheck::Always,
        usual: Some(0),
        ..SLEEP
    },
    // It sleeps in whichever way is left.
    available: || Ok(()),
    measure: |target_ns, limits| {
        let mut hybrid = Hybrid(Sleeper::new(Policy::hybrid()));
        run(&mut hybrid, target_ns, limits)
    },
};

struct Hybrid(Sleeper);

impl Drop for Hybrid {
    fn drop(&mut self) {
        // Trials set the slack themselves: the library must not remember that
        // this thread's is 1 ns.
        sleep::restore_timer_slack();
    }
}

impl Waiter for Hybrid {
    const GRID: bool = true;

    #[inline(always)]
    fn wait(&mut self, target_ns: u64, _ahead_ns: u64) {
        self.0.sleep_until_ns(target_ns);
    }
}
