//! The clock of this process: its policy and its report.

use std::fmt;
use std::time::Duration;

use crate::agreement::{Agreement, NotMeasured};
use crate::discipline::{INTERVAL_NS, Mode, Reason, SLEW_PPM};
use crate::engine::Platform;
use crate::evidence::{Evidence, Standing};
use crate::machine::CLOCK;
use crate::os::{self, ClockId};
use crate::policy::Policy;
use crate::source::Source;

/// The clock behind [`Instant`](crate::Instant). There is one in a process; it
/// starts by itself at the first read.
///
/// ```
/// use tompion_time::{Clock, Policy, Source};
///
/// let report = Clock::init(Policy::Auto);
/// match report.source {
///     Source::Counter => println!("within {:?} of the kernel's clock", report.error_bound),
///     Source::Kernel(why) => println!("the kernel's clock, because {why}"),
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock;

impl Clock {
    /// Sets the policy and waits until the clock has settled: until the counter
    /// is in use, or surely is not (about 20 ms, at most 200 ms).
    ///
    /// Nobody has to call this. It makes the first reads cheap, and keeps them
    /// from gathering evidence (files, memory) within a signal handler.
    pub fn init(policy: Policy) -> Report {
        Self::set_policy(policy);
        let end = CLOCK.now(true).saturating_add(200_000_000);
        let settling = |mode| matches!(mode, Mode::Kernel(Reason::Calibrating) | Mode::Closing);
        while settling(CLOCK.state().mode) && CLOCK.now(true) < end {
            CLOCK.platform.rest();
        }
        Self::report()
    }

    /// Sets the policy. Where the counter was in use it is left at the end of a
    /// piece, so that this may take some 6 ms; time neither jumps nor stands.
    pub fn set_policy(policy: Policy) {
        CLOCK.platform.set_policy(policy);
        CLOCK.restart();
    }

    /// The policy in force.
    pub fn policy() -> Policy {
        CLOCK.platform.wanted()
    }

    /// Where the time comes from at present.
    pub fn source() -> Source {
        CLOCK.state().source()
    }

    /// Compares the clock with the kernel's now instead of at the next anchor,
    /// for programs that have reason to doubt.
    pub fn check() -> Source {
        CLOCK.check();
        Self::source()
    }

    /// `CLOCK_REALTIME` (the system's time of day) in nanoseconds since 1970, at the
    /// cost of [`Instant::now_ordered`](crate::Instant::now_ordered).
    ///
    /// A step of the system's time shows within one interval of 5 ms. Where the
    /// counter is not used, or the step between the two clocks is not known, this is
    /// the kernel's own reading.
    ///
    /// ```
    /// let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed()?.as_nanos() as u64;
    /// let ours = tompion_time::Clock::realtime_ns();
    /// assert!(ours.abs_diff(since_1970) < 1_000_000_000);
    /// # Ok::<(), std::time::SystemTimeError>(())
    /// ```
    pub fn realtime_ns() -> u64 {
        CLOCK.realtime()
    }

    /// What the clock uses, why, how closely it follows the kernel's clock, and
    /// what a read costs. Measures the costs: takes about a quarter of a
    /// millisecond.
    pub fn report() -> Report {
        let state = CLOCK.state();
        let gathered = CLOCK.platform.gathered();
        let policy = Self::policy();
        let source = state.source();
        let spread_ns = match &gathered.agreement {
            Some(Ok(found)) => (found.spread_bound_ticks() as f64 * state.ns_per_tick) as u64,
            _ => 0,
        };
        let half_ns = (state.wide_half_ticks as f64 * state.ns_per_tick).ceil() as u64;
        let pieces = 1 + u64::from(state.unusable);
        Report {
            policy,
            source,
            against: match source {
                Source::Counter => Policy::Auto.admits(&gathered.evidence, None).err(),
                Source::Kernel(_) => None,
            },
            error_bound: Duration::from_nanos(match source {
                Source::Counter => {
                    2 * half_ns + pieces * INTERVAL_NS * SLEW_PPM / 1_000_000 + spread_ns
                }
                // Time that is being held.
                Source::Kernel(_) => state.floor_ns.saturating_sub(CLOCK.platform.kernel_ns()),
            }),
            counter_hz: (state.ns_per_tick > 0.0).then(|| 1e9 / state.ns_per_tick),
            rate_uncertainty_ppm: state.rate_uncertainty * 1e6,
            read_cost_ns: cost(|| CLOCK.now(false)),
            ordered_read_cost_ns: cost(|| CLOCK.now(true)),
            kernel_read_cost_ns: cost(|| CLOCK.platform.kernel_ns()),
            anchors: state.events.anchors,
            losses: state.events.losses,
            last_loss: state.events.last_loss,
            held: Duration::from_nanos(state.events.held_ns),
            longest_hold: Duration::from_nanos(state.events.longest_hold_ns),
            rate_changes: state.events.rate_changes,
            worst_off: Duration::from_nanos(state.events.worst_off_ns),
            evidence: gathered.evidence.clone(),
            agreement: gathered.agreement.clone(),
        }
    }
}

/// Nanoseconds a read: the best of a few batches, which is the one that nothing
/// disturbed.
fn cost(mut read: impl FnMut() -> u64) -> f64 {
    const READS: u32 = 200;
    // By system call: right even where the vDSO's clocks may not be read.
    let now = || os::now_ns_by_syscall(ClockId::Monotonic);
    (0..16)
        .map(|_| {
            let start = now();
            for _ in 0..READS {
                std::hint::black_box(read());
            }
            now().saturating_sub(start) as f64 / f64::from(READS)
        })
        .fold(f64::INFINITY, f64::min)
}

/// What [`Clock::report`] tells. Its `Display` is a few lines for people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The policy in force.
    pub policy: Policy,
    /// What is used, and why not the counter.
    pub source: Source,
    /// Where the counter is used only because the program asked for it: why
    /// [`Policy::Auto`] would not. To be said wherever results are shown.
    pub against: Option<Reason>,
    /// The largest difference from `CLOCK_MONOTONIC` that the design allows while
    /// the kernel slews its clock by up to 500 ppm either way and the counter
    /// behaves: as of the last anchors, whose brackets it contains. For the kernel's
    /// clock itself 0, or how much longer time will be held.
    pub error_bound: Duration,
    /// The counter's measured rate against the kernel's clock.
    pub counter_hz: Option<f64>,
    /// The uncertainty of that rate from the brackets, in parts per million.
    pub rate_uncertainty_ppm: f64,
    /// One [`Instant::now`](crate::Instant::now), in nanoseconds, in a loop.
    pub read_cost_ns: f64,
    /// One [`Instant::now_ordered`](crate::Instant::now_ordered).
    pub ordered_read_cost_ns: f64,
    /// One read of the kernel's clock, for comparison.
    pub kernel_read_cost_ns: f64,
    /// Comparisons with the kernel's clock so far.
    pub anchors: u64,
    /// Times that trust in the counter was lost.
    pub losses: u64,
    /// Why it was lost the last time.
    pub last_loss: Option<Reason>,
    /// How long the clock held its last value in all, because it was ahead of the
    /// kernel's when trust was lost.
    pub held: Duration,
    /// The longest such hold.
    pub longest_hold: Duration,
    /// Times that the kernel's clock changed its rate against the counter.
    pub rate_changes: u64,
    /// The largest difference from the kernel's clock met at an anchor.
    pub worst_off: Duration,
    /// What is known of the counter.
    pub evidence: Evidence,
    /// The comparison of the CPUs' counters, where the policy asked for one.
    pub agreement: Option<Result<Agreement, NotMeasured>>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |d: Duration| d.as_nanos() as f64 / 1e3;
        match self.source {
            Source::Counter => write!(f, "clock: the CPU counter (policy {})", self.policy)?,
            Source::Kernel(why) => {
                write!(
                    f,
                    "clock: the kernel's (policy {}), because {why}",
                    self.policy
                )?;
            }
        }
        if let Some(why) = self.against {
            write!(f, "; by request, although {why}")?;
        }
        let standing = match self.evidence.clocksources.standing() {
            Standing::InUse => "the kernel keeps time by the counter",
            Standing::Listed => "the kernel lists the counter but uses another",
            Standing::NotListed => "the kernel does not list the counter",
            Standing::Unknown => "the kernel does not tell its clocksource",
        };
        let invariant = if self.evidence.cpu.invariant {
            "constant"
        } else {
            "not promised constant"
        };
        write!(f, "\nevidence: {standing}; rate {invariant}")?;
        match &self.agreement {
            None => write!(f, "; CPUs not compared")?,
            Some(Err(why)) => write!(f, "; CPUs not compared: {why}")?,
            Some(Ok(found)) => write!(
                f,
                "; {} of {} CPUs compared: {}, within {} ticks",
                found.covered(),
                found.allowed_cpus,
                if found.agrees() {
                    "they agree"
                } else {
                    "they differ"
                },
                found.spread_bound_ticks(),
            )?,
        }
        if let Some(hz) = self.counter_hz {
            write!(
                f,
                "\nrate: {hz:.0} Hz (give or take {:.2} ppm)",
                self.rate_uncertainty_ppm
            )?;
        }
        write!(
            f,
            "\nerror against CLOCK_MONOTONIC: at most {:.2} us; {}largest met {:.2} us at {} anchors",
            us(self.error_bound),
            match self.source {
                Source::Counter => "",
                Source::Kernel(_) => "the counter's ",
            },
            us(self.worst_off),
            self.anchors
        )?;
        write!(
            f,
            "\none read: {:.1} ns, ordered {:.1} ns, the kernel's {:.1} ns",
            self.read_cost_ns, self.ordered_read_cost_ns, self.kernel_read_cost_ns
        )?;
        if let Some(why) = self.last_loss {
            write!(
                f,
                "\ntrust lost {} times, last because {why}; time held for {:.1} us in all",
                self.losses,
                us(self.held)
            )?;
        }
        Ok(())
    }
}
