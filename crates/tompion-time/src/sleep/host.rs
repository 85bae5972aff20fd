//! What a sleeper needs from the machine.

use std::cell::Cell;

use super::spin::Pause;
use crate::machine::CLOCK;
use crate::os;

/// The thread's timer slack: by how much the kernel may delay a wake-up in order
/// to serve several at once. Threads of the real-time classes have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// The thread's default, 50 us unless somebody changed it.
    Default,
    /// 1 ns, the least there is.
    Least,
}

/// A signal handler ran, and the host ends sleeps then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Clocks and waiting, for one thread. [`Machine`] is the real one; tests plant
/// theirs. All times are nanoseconds of `CLOCK_MONOTONIC`.
pub trait Host {
    /// A cheap reading. It may be off by a little either way: a spin is ended
    /// by [`kernel_now_ns`](Self::kernel_now_ns), not by this.
    fn now_ns(&mut self) -> u64;
    /// The kernel's own reading.
    fn kernel_now_ns(&mut self) -> u64;
    /// Sleeps in the kernel until the time given, or returns at once when it
    /// has passed.
    ///
    /// # Errors
    /// Where the host lets a signal handler end a sleep.
    fn sleep_until_ns(&mut self, deadline_ns: u64) -> Result<(), Interrupted>;
    /// Sees to the calling thread's timer slack; cheap when it is right already.
    fn set_slack(&mut self, slack: Slack);
    /// Waits a moment within a spin, shorter than `left_ns`.
    fn pause(&mut self, left_ns: u64);
    /// The length of the scheduler's tick, 1/HZ.
    fn tick_ns(&mut self) -> u64;
}

/// The machine that the program runs on.
#[derive(Clone, Debug)]
pub struct Machine {
    pause: Pause,
    tick_ns: u64,
}

impl Machine {
    /// Looks at the CPU and the kernel, once. Also takes the first faults on
    /// the way to the clock and to the kernel's sleep.
    pub fn new() -> Self {
        // A sleep into the past: the way there without the wait.
        os::sleep_until_ns(CLOCK.kernel_ns());
        Self {
            pause: Pause::detect(),
            tick_ns: os::tick_ns(),
        }
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

thread_local! {
    /// Whether this thread's slack was set to 1 ns by us. Of the thread, not of
    /// the sleeper: a sleeper may move, and a thread may have several.
    static SLACK_IS_LEAST: Cell<bool> = const { Cell::new(false) };
}

/// Sees to the calling thread's timer slack. Where the kernel refuses, sleeps
/// are later by the slack, which the margin learns.
pub(super) fn set_thread_slack(slack: Slack) {
    SLACK_IS_LEAST.with(|is_least| {
        let (wanted, ns) = match slack {
            Slack::Default => (false, 0),
            Slack::Least => (true, 1),
        };
        if is_least.replace(wanted) != wanted {
            let _ = os::set_timer_slack_ns(ns);
        }
    });
}

impl Host for Machine {
    #[inline]
    fn now_ns(&mut self) -> u64 {
        // A counter read costs half of it, but the spin ends by the kernel's
        // clock anyhow: nothing would be gained.
        CLOCK.kernel_ns()
    }

    #[inline]
    fn kernel_now_ns(&mut self) -> u64 {
        CLOCK.kernel_ns()
    }

    fn sleep_until_ns(&mut self, deadline_ns: u64) -> Result<(), Interrupted> {
        os::sleep_until_ns(deadline_ns);
        Ok(())
    }

    #[inline]
    fn set_slack(&mut self, slack: Slack) {
        set_thread_slack(slack);
    }

    #[inline]
    fn pause(&mut self, left_ns: u64) {
        self.pause.wait(left_ns);
    }

    fn tick_ns(&mut self) -> u64 {
        self.tick_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_is_one_of_a_kernel() {
        // CONFIG_HZ is 100, 250, 300 or 1000; some ports have 24 to 1200.
        let tick = Machine::new().tick_ns();
        assert!((800_000..=42_000_000).contains(&tick), "{tick}");
    }

    #[test]
    fn slack_is_set_for_the_thread_and_restored() {
        // A thread of its own: the slack belongs to the thread.
        std::thread::spawn(|| {
            let before = os::timer_slack_ns().unwrap();
            set_thread_slack(Slack::Default);
            assert_eq!(os::timer_slack_ns().unwrap(), before);
            set_thread_slack(Slack::Least);
            assert_eq!(os::timer_slack_ns().unwrap(), 1);
            set_thread_slack(Slack::Default);
            assert_eq!(os::timer_slack_ns().unwrap(), before);
        })
        .join()
        .unwrap();
    }
}
