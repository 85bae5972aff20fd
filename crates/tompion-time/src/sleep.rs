//! Sleeping precisely, and at what price.
//!
//! * [`sleep`], [`sleep_until_ns`]: the kernel's sleep with 1 ns of timer slack.
//!   Never spins; late by the wake-up latency alone.
//! * [`Sleeper`]: sleeps by a [`Policy`]. [`Policy::Hybrid`] lets the kernel sleep
//!   for most of the time and spins over the wake-up latency that it has learned,
//!   within a [`Budget`]; [`Slept`] tells what it burnt.
//! * [`Ticker`]: wakes periodically without drift and counts missed periods.
//!
//! # Timer slack
//! The kernel may delay the wake-up of an ordinary thread by its timer slack,
//! 50 us by default, which is more than all the rest of the latency. The policies
//! `kernel` and `hybrid` and the functions here set the calling thread's slack to
//! 1 ns, once for each thread, and leave it so: [`restore_timer_slack`] takes it
//! back. Threads started meanwhile inherit 1 ns as *their* default. Whoever sets
//! the slack by other means in between is not noticed. Threads of the real-time
//! classes have no slack; nothing is set for them that has an effect.
//!
//! # What no sleep can do
//! Where the CPU is not ours at the deadline, because the hypervisor gave it to
//! another machine or the scheduler to another thread, every policy is late,
//! spinning included.

mod budget;
mod host;
mod margin;
mod policy;
mod sleeper;
mod spin;
mod ticker;

#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use budget::{Budget, BudgetError};
pub use host::{Host, Interrupted, Machine, Slack};
pub use policy::{ParsePolicyError, Policy};
pub use sleeper::{Sleeper, Slept};
pub use ticker::{PeriodError, Tick, Ticker};

use crate::Instant;
use crate::machine::CLOCK;
use crate::os;

/// Sleeps for `duration` in the kernel; never spins.
///
/// Sets the calling thread's timer slack to 1 ns the first time: see the
/// [module](self).
///
/// ```
/// tompion_time::sleep::sleep(std::time::Duration::from_micros(100));
/// ```
pub fn sleep(duration: Duration) {
    let length = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    sleep_until_ns(CLOCK.kernel_ns().saturating_add(length));
}

/// Sleeps in the kernel until `deadline`; never spins. Timer slack as for
/// [`sleep()`].
pub fn sleep_until(deadline: Instant) {
    sleep_until_ns(deadline.as_nanos());
}

/// Sleeps in the kernel until `CLOCK_MONOTONIC` reads `deadline_ns`; returns at
/// once when it has passed; never spins. Timer slack as for [`sleep()`].
pub fn sleep_until_ns(deadline_ns: u64) {
    host::set_thread_slack(Slack::Least);
    // Again where a sandbox refuses the sleep or cuts it short.
    while CLOCK.kernel_ns() < deadline_ns {
        os::sleep_until_ns(deadline_ns);
    }
}

/// Gives the calling thread its default timer slack back, where a sleep of this
/// module took it. The next such sleep takes it again.
pub fn restore_timer_slack() {
    host::set_thread_slack(Slack::Default);
}
