//! One thread's sleeps under a policy.

use std::time::Duration;

use super::budget::{Budget, Ledger};
use super::host::{Host, Interrupted, Machine, Slack};
use super::margin::Margins;
use super::policy::Policy;
use crate::Instant;

/// What one sleep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slept {
    /// Wall time spent spinning before the deadline, in nanoseconds: at most so
    /// much CPU time was burnt.
    pub spun_ns: u64,
    /// How long after the deadline the sleep ended, in nanoseconds, by the last
    /// reading of `CLOCK_MONOTONIC` before the return.
    pub late_ns: u64,
    /// How long before the deadline the kernel's sleep was to end, in
    /// nanoseconds; 0 where the policy has no margin.
    pub margin_ns: u64,
    /// Whether the budget cut the spin, at the price of a later wake-up.
    pub limited: bool,
}

/// Sleeps for one thread, by a [`Policy`].
///
/// It learns the wake-up latency of the thread that uses it. Handed to another
/// thread it stays correct and learns anew within some dozens of sleeps. The
/// first sleep under a policy that needs it sets the calling thread's timer slack
/// to 1 ns; see [`restore_timer_slack`](super::restore_timer_slack).
///
/// No sleep ends before its deadline on `CLOCK_MONOTONIC`, signals or not. A
/// spin never yields the CPU: under load a yield costs milliseconds, and under a
/// real-time class it would not wait at all.
///
/// ```
/// use std::time::Duration;
/// use tompion_time::sleep::{Policy, Sleeper};
///
/// let mut sleeper = Sleeper::new(Policy::hybrid());
/// let slept = sleeper.sleep(Duration::from_micros(300));
/// println!("{} ns late, {} ns spun", slept.late_ns, slept.spun_ns);
/// ```
///
/// Zeroed memory is a sleeper of [`Policy::Kernel`] that has learned nothing, where
/// that is a host too.
#[derive(Clone, Debug)]
pub struct Sleeper<H: Host = Machine> {
    policy: Policy,
    host: H,
    margins: Margins,
    ledger: Ledger,
}

impl Sleeper {
    /// A sleeper for this machine.
    pub fn new(policy: Policy) -> Self {
        Self::with_host(policy, Machine::new())
    }
}

impl<H: Host> Sleeper<H> {
    /// A sleeper for a host of the caller's, as tests need.
    pub fn with_host(policy: Policy, host: H) -> Self {
        Self {
            policy,
            host,
            margins: Margins::default(),
            ledger: Ledger::default(),
        }
    }

    /// The policy given.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Another policy from now on; what was learned is kept.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// The host given.
    pub fn host(&mut self) -> &mut H {
        &mut self.host
    }

    /// Sleeps for `duration`, counted from the call.
    pub fn sleep(&mut self, duration: Duration) -> Slept {
        let start = self.host.kernel_now_ns();
        let length = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let deadline = start.saturating_add(length);
        self.wait(start, deadline)
            .unwrap_or_else(|Interrupted| self.sleep_until_ns(deadline))
    }

    /// Sleeps until `CLOCK_MONOTONIC` reads `deadline_ns`; returns at once when
    /// it has passed.
    pub fn sleep_until_ns(&mut self, deadline_ns: u64) -> Slept {
        loop {
            if let Ok(slept) = self.try_sleep_until_ns(deadline_ns) {
                return slept;
            }
        }
    }

    /// As [`sleep_until_ns`](Self::sleep_until_ns), given up where the host says
    /// that a signal handler ran during the kernel's part of the sleep. One that
    /// runs during the spin, shorter than the wake-up latency, is not noticed.
    ///
    /// # Errors
    /// [`Interrupted`]; never from [`Machine`], whose sleeps go on.
    pub fn try_sleep_until_ns(&mut self, deadline_ns: u64) -> Result<Slept, Interrupted> {
        let start = self.host.kernel_now_ns();
        self.wait(start, deadline_ns)
    }

    /// Sleeps until `deadline`; returns at once when it has passed.
    pub fn sleep_until(&mut self, deadline: Instant) -> Slept {
        self.sleep_until_ns(deadline.as_nanos())
    }

    fn wait(&mut self, start: u64, deadline: u64) -> Result<Slept, Interrupted> {
        if start >= deadline {
            return Ok(Woken(start).late(deadline));
        }
        Ok(match self.policy {
            Policy::Kernel => {
                self.host.set_slack(Slack::Least);
                self.sleep_in_kernel(deadline)?.late(deadline)
            }
            Policy::System => {
                self.host.set_slack(Slack::Default);
                self.sleep_in_kernel(deadline)?.late(deadline)
            }
            Policy::Spin => self.spin(Woken(start), deadline),
            Policy::HighPerTimer => {
                self.host.set_slack(Slack::Default);
                let tick = self.host.tick_ns();
                let mut woken = Woken(start);
                if deadline - start > tick {
                    woken = self.sleep_in_kernel(deadline - tick)?;
                }
                self.spin(woken, deadline)
            }
            Policy::Hybrid { budget } => {
                self.host.set_slack(Slack::Least);
                self.hybrid(start, deadline, budget)?
            }
        })
    }

    fn hybrid(&mut self, start: u64, deadline: u64, budget: Budget) -> Result<Slept, Interrupted> {
        /// A kernel sleep this short would only return late.
        const WORTH_A_SLEEP_NS: u64 = 5_000;
        let length = deadline - start;
        let latencies = self.margins.of(length);
        let wanted = latencies.margin_ns(length);
        // A wake-up takes at least the shortest latency known, so that the margin
        // may exceed what is left to spin by as much.
        let at_wake_up = deadline.saturating_sub(wanted).max(start);
        let left = self.ledger.left_ns(at_wake_up, budget);
        let margin = wanted.min(left.saturating_add(latencies.shortest_ns()));

        let mut woken = Woken(start);
        let target = deadline.saturating_sub(margin);
        if target > start.saturating_add(WORTH_A_SLEEP_NS) {
            woken = self.sleep_in_kernel(target)?;
            self.margins.of_mut(length).observe(woken.0 - target);
        } else {
            self.margins.of_mut(length).skip();
        }
        // It woke sooner than ever, or the sleep is shorter than the margin.
        let left = self.ledger.left_ns(woken.0, budget);
        let too_soon = deadline.saturating_sub(woken.0) > left;
        if too_soon {
            woken = self.sleep_in_kernel(deadline - left)?;
        }
        let slept = self.spin(woken, deadline);
        self.ledger.enter(deadline, slept.spun_ns);
        Ok(Slept {
            margin_ns: margin,
            limited: margin < wanted || too_soon,
            ..slept
        })
    }

    /// Sleeps until `target` and returns the time then.
    fn sleep_in_kernel(&mut self, target: u64) -> Result<Woken, Interrupted> {
        loop {
            self.host.sleep_until_ns(target)?;
            let now = self.host.kernel_now_ns();
            // Never early, even where a sandbox cuts sleeps short.
            if now >= target {
                return Ok(Woken(now));
            }
        }
    }

    /// Spins from the wake-up to the deadline.
    fn spin(&mut self, woken: Woken, deadline: u64) -> Slept {
        /// Left to the kernel's clock: more than the cheap one is off.
        const GUARD_NS: u64 = 200;
        let mut now = woken.0;
        if now < deadline {
            let soon = deadline.saturating_sub(GUARD_NS);
            let mut cheap = now;
            while cheap < soon {
                self.host.pause(soon - cheap);
                cheap = self.host.now_ns();
            }
            while now < deadline {
                now = self.host.kernel_now_ns();
            }
        }
        Slept {
            spun_ns: deadline.saturating_sub(woken.0),
            ..Woken(now).late(deadline)
        }
    }
}

/// The time at a wake-up.
#[derive(Clone, Copy)]
struct Woken(u64);

impl Woken {
    /// At or after the deadline.
    fn late(self, deadline: u64) -> Slept {
        Slept {
            late_ns: self.0 - deadline,
            ..Slept::default()
        }
    }
}
