//! The same clock inside somebody else's process: over system calls and thread
//! memory of the caller's choice, for Tompion's preload library. Not for programs,
//! which have [`Instant`](crate::Instant), and not a stable interface.
//!
//! What differs from the clock behind [`Instant`](crate::Instant):
//! * it opens no file, allocates nothing and makes no system call of its own: the
//!   evidence is gathered beforehand by whoever embeds it;
//! * a kernel's clock that is suddenly far behind is followed instead of waited for:
//!   to an unmodified program the kernel's clock is the truth, even when it finds
//!   itself in another time namespace.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use crate::agreement::{Agreement, NotMeasured};
use crate::bracket::Brackets;
use crate::counter;
use crate::discipline::{INTERVAL_NS, Observation, State, Terms};
use crate::engine::{Engine, Platform};
pub use crate::evidence::{Current, Watched};
use crate::evidence::{Evidence, Vmclock};
pub use crate::float::by_default as with_default_floats;
use crate::os::ClockId;
use crate::policy::Policy;
use crate::slots::Slots;
use crate::{Reason, Source};

/// Longer than a piece and what may be wrong with it: a kernel's clock further behind
/// is another one.
const LONGEST_HOLD_NS: u64 = 4 * INTERVAL_NS;

/// Where the clock keeps its state: a static of its own.
pub struct Memory(Slots);

impl Memory {
    /// All zeros: nothing published yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self(Slots::new())
    }

    /// Lets children of `fork` begin anew, because their kernel's clock may be
    /// another one; `false` where the kernel cannot.
    pub fn wipe_on_fork(&'static self) -> bool {
        self.0.wipe_on_fork()
    }
}

/// What the clock needs of the process that it is embedded in. All of it is called
/// by any thread, within signal handlers too.
pub trait Process {
    /// Where the state is kept.
    fn memory(&self) -> &Memory;
    /// A clock of the kernel, by a way that is allowed; in nanoseconds.
    fn kernel_ns(&self, clock: ClockId) -> u64;
    /// Stores the calling thread's newest count and returns the one before; 0 at
    /// first.
    fn exchange_last(&self, ticks: u64) -> u64;
    /// Whether the calling thread read the same count very often in a row.
    fn same_again(&self, ticks: u64) -> bool;
    /// What is seen of the evidence at an anchor, where reading the kernel's clock
    /// took so many ticks.
    fn watched(&self, read_ticks: u64) -> Watched;
}

/// The hypervisor's notice of disruptions, mapped.
pub struct DisruptionMarker(Vmclock);

impl DisruptionMarker {
    /// Maps `/dev/vmclock0`; `None` where there is none for us.
    pub fn open() -> Option<Self> {
        Vmclock::open(Path::new("/")).ok().map(Self)
    }

    /// Its present value: one read of shared memory.
    pub fn value(&self) -> u64 {
        self.0.disruption_marker()
    }
}

/// On what terms the counter may be used.
#[derive(Clone, Copy, Debug)]
pub struct Trust(Terms);

impl Trust {
    /// Weighs the evidence as the clock behind [`Instant`](crate::Instant) does.
    /// `agreement` is the comparison of the CPUs, `None` where it is known from
    /// elsewhere that they agree.
    ///
    /// # Errors
    /// Why the counter is not to be used.
    pub fn weigh(
        policy: Policy,
        evidence: &Evidence,
        agreement: Option<&Result<Agreement, NotMeasured>>,
    ) -> Result<Self, Reason> {
        policy.admits(evidence, agreement)?;
        Ok(Self(Terms {
            longest_hold_ns: LONGEST_HOLD_NS,
            ..Terms::of(policy, evidence)
        }))
    }
}

/// What became of the clock so far.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Where the time comes from at present.
    pub source: Source,
    /// Comparisons with the kernel's clock.
    pub anchors: u64,
    /// Times that trust in the counter was lost, and why the last time.
    pub losses: u64,
    /// Why the last time.
    pub last_loss: Option<Reason>,
    /// The largest difference from the kernel's clock met at an anchor, in
    /// nanoseconds.
    pub worst_off_ns: u64,
}

/// A clock embedded in a process.
pub struct Embedded<P> {
    engine: Engine<Adapter<P>>,
}

impl<P: Process> Embedded<P> {
    /// Reads the kernel's clock until it has proved the counter. To be read only
    /// after [`Embedded::trust`].
    pub const fn new(process: P) -> Self {
        Self {
            engine: Engine::new(Adapter {
                process,
                brackets: Brackets::new(),
                kernel_must_use_it: AtomicBool::new(true),
                hint_hz: AtomicU64::new(0),
            }),
        }
    }

    /// The process given.
    pub fn process(&self) -> &P {
        &self.engine.platform.process
    }

    /// Sets the terms, before the first reading.
    pub fn trust(&self, trust: Trust) {
        let adapter = &self.engine.platform;
        adapter
            .kernel_must_use_it
            .store(trust.0.kernel_must_use_it, Ordering::Relaxed);
        let hint_hz = trust.0.hint_hz.unwrap_or(0);
        adapter.hint_hz.store(hint_hz, Ordering::Relaxed);
    }

    /// `CLOCK_MONOTONIC` in nanoseconds, read after all earlier instructions.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.engine.now(true)
    }

    /// `CLOCK_REALTIME` in nanoseconds, read after all earlier instructions.
    #[inline(always)]
    pub fn realtime(&self) -> u64 {
        self.engine.realtime()
    }

    /// Runs `reads` as if the counter were in use already, whatever times they are
    /// given, to find out what a reading costs. Only while nobody else reads.
    pub fn try_out<R>(&self, reads: impl FnOnce() -> R) -> R {
        let slots = self.engine.slots();
        let trial = State::trial(
            counter::read_ordered(),
            self.process().kernel_ns(ClockId::Monotonic),
        );
        slots.replace(slots.load().version, &trial);
        let result = reads();
        let fresh = self.engine.platform.start();
        slots.replace(slots.load().version, &fresh);
        result
    }

    /// What became of it, without reading a clock; `None` where it was never read.
    pub fn summary(&self) -> Option<Summary> {
        let state = self.engine.peek()?;
        Some(Summary {
            source: state.source(),
            anchors: state.events.anchors,
            losses: state.events.losses,
            last_loss: state.events.last_loss,
            worst_off_ns: state.events.worst_off_ns,
        })
    }
}

/// The engine's view of a process.
struct Adapter<P> {
    process: P,
    brackets: Brackets,
    kernel_must_use_it: AtomicBool,
    /// 0 where nobody states a rate.
    hint_hz: AtomicU64,
}

impl<P: Process> Platform for Adapter<P> {
    #[inline(always)]
    fn slots(&self) -> &Slots {
        &self.process.memory().0
    }

    #[inline(always)]
    fn ticks(&self) -> u64 {
        counter::read()
    }

    #[inline(always)]
    fn ticks_ordered(&self) -> u64 {
        counter::read_ordered()
    }

    fn kernel_ns(&self) -> u64 {
        self.process.kernel_ns(ClockId::Monotonic)
    }

    fn kernel_realtime_ns(&self) -> u64 {
        self.process.kernel_ns(ClockId::Realtime)
    }

    #[inline(always)]
    fn exchange_last(&self, ticks: u64) -> u64 {
        self.process.exchange_last(ticks)
    }

    fn same_again(&self, ticks: u64) -> bool {
        self.process.same_again(ticks)
    }

    fn observe(&self) -> Observation {
        let kernel = |clock| self.process.kernel_ns(clock) as i64;
        let first = kernel(ClockId::Monotonic);
        let boot = kernel(ClockId::Boottime);
        let between = kernel(ClockId::Monotonic);
        let real = kernel(ClockId::Realtime);
        let bracket = self.brackets.narrowest(|| self.kernel_ns());
        let ns = bracket.ns as i64;
        Observation {
            before: bracket.before,
            ns: bracket.ns,
            after: bracket.after,
            suspended_ns: (boot - between, boot - first),
            realtime_ns: (real - ns, real - between),
            watched: self.process.watched(bracket.width_ticks()),
        }
    }

    fn start(&self) -> State {
        State::new(Reason::Calibrating, 0)
    }

    fn terms(&self) -> Terms {
        Terms {
            kernel_must_use_it: self.kernel_must_use_it.load(Ordering::Relaxed),
            hint_hz: match self.hint_hz.load(Ordering::Relaxed) {
                0 => None,
                hz => Some(hz),
            },
            longest_hold_ns: LONGEST_HOLD_NS,
        }
    }

    fn policy(&self) -> u8 {
        0
    }

    fn yield_now(&self) {
        std::hint::spin_loop();
    }

    fn rest(&self) {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os;
    use std::cell::Cell;

    static MEMORY: Memory = Memory::new();

    thread_local! {
        static LAST: Cell<u64> = const { Cell::new(0) };
    }

    struct Plain;

    impl Process for Plain {
        fn memory(&self) -> &Memory {
            &MEMORY
        }

        fn kernel_ns(&self, clock: ClockId) -> u64 {
            os::now_ns(clock)
        }

        fn exchange_last(&self, ticks: u64) -> u64 {
            LAST.replace(ticks)
        }

        fn same_again(&self, _ticks: u64) -> bool {
            false
        }

        fn watched(&self, _read_ticks: u64) -> Watched {
            Watched {
                clocksource: Current::Counter,
                disruption_marker: None,
            }
        }
    }

    #[test]
    fn an_embedded_clock_keeps_the_kernels_time_before_and_after_its_proof() {
        let clock = Embedded::new(Plain);
        let policy = Policy::Tsc;
        let Ok(trust) = Trust::weigh(policy, &Evidence::gather(), None) else {
            return; // no counter that could be trusted here
        };
        clock.trust(trust);
        // What is tried out leaves nothing behind.
        clock.try_out(|| clock.now());
        let end = os::now_ns(ClockId::Monotonic) + 100_000_000;
        loop {
            let (mono, real) = (ClockId::Monotonic, ClockId::Realtime);
            let before = (os::now_ns(mono), os::now_ns(real));
            let now = (clock.now(), clock.realtime());
            let after = (os::now_ns(mono), os::now_ns(real));
            let bound = 100_000;
            assert!(now.0 + bound >= before.0 && now.0 <= after.0 + bound);
            assert!(now.1 + bound >= before.1 && now.1 <= after.1 + bound);
            if before.0 > end {
                break;
            }
        }
        assert!(clock.summary().is_some_and(|s| s.anchors > 3));
    }
}
