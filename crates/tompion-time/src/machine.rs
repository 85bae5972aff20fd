//! The machine that the program runs on, as the clock's engine sees it.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::agreement::{self, Agreement, NotMeasured};
use crate::bracket::Brackets;
use crate::counter;
use crate::discipline::{Observation, Reason, State, Terms};
use crate::engine::{Engine, Platform};
use crate::evidence::{self, CounterAccess, Current, Evidence, Watch, Watched};
use crate::once_leaked::OnceLeaked;
use crate::os::{self, ClockId};
use crate::policy::Policy;
use crate::slots::Slots;

/// The clock of this process.
pub(crate) static CLOCK: Engine<Machine> = Engine::new(Machine::new());

/// All zeros, hence in memory that no file backs, as wiping needs.
static SLOTS: Slots = Slots::new();

/// So many reads that return the thread's last count again make it look at the
/// kernel's clock. Counters that tick slower than they are read repeat often.
const SAME_READS: u32 = 1000;

thread_local! {
    static LAST: Cell<u64> = const { Cell::new(0) };
    static SAME: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
}

/// What does not change, asked once for each policy, and what watches the rest.
pub(crate) struct Gathered {
    pub evidence: Evidence,
    /// Measured only where a policy asks for it.
    pub agreement: Option<Result<Agreement, NotMeasured>>,
    pub verdict: Result<(), Reason>,
    terms: Terms,
    watch: Watch,
}

impl Gathered {
    fn new(policy: Policy) -> Self {
        let evidence = Evidence::gather();
        let readable = counter::AVAILABLE && evidence.access != CounterAccess::Refused;
        let agreement =
            (policy == Policy::Tsc && readable).then(|| agreement::measure(agreement::TIME_LIMIT));
        Self {
            verdict: policy.admits(&evidence, agreement.as_ref()),
            terms: Terms::of(policy, &evidence),
            watch: Watch::open(Path::new("/")),
            evidence,
            agreement,
        }
    }
}

/// The real platform. All of it may be used by all threads at any time.
pub(crate) struct Machine {
    policy: AtomicU8,
    gathered: [OnceLeaked<Gathered>; 3],
    brackets: Brackets,
    /// The counter may not be read, hence the vDSO's clocks may not either. Of the
    /// thread that started the clock: the kernel forbids by thread.
    forbidden: AtomicBool,
    /// Some thread looks at the clocksource just now.
    looking: AtomicBool,
    /// What the last look saw.
    clocksource: AtomicU8,
}

impl Machine {
    const fn new() -> Self {
        Self {
            policy: AtomicU8::new(Policy::Auto as u8),
            gathered: [const { OnceLeaked::new() }; 3],
            brackets: Brackets::new(),
            forbidden: AtomicBool::new(false),
            looking: AtomicBool::new(false),
            clocksource: AtomicU8::new(Current::Unknown as u8),
        }
    }

    pub fn wanted(&self) -> Policy {
        Policy::from_number(self.policy.load(Ordering::Acquire))
    }

    pub fn set_policy(&self, policy: Policy) {
        // First, so that no reader ever waits for it, nor a signal handler that
        // interrupts it.
        self.gathered[policy as usize].get_or_make(|| Gathered::new(policy));
        self.policy.store(policy as u8, Ordering::Release);
    }

    pub fn gathered(&self) -> &Gathered {
        let policy = self.wanted();
        self.gathered[policy as usize].get_or_make(|| Gathered::new(policy))
    }

    /// Looks at the evidence. One thread at a time: the kernel takes locks to tell
    /// its clocksource, and nobody is to wait for a thread that was stopped there;
    /// the others take what was seen last.
    fn look(&self) -> Watched {
        let watch = &self.gathered().watch;
        if self.looking.swap(true, Ordering::Acquire) {
            let last = self.clocksource.load(Ordering::Relaxed);
            let clocksource = [Current::Counter, Current::Other]
                .into_iter()
                .find(|c| *c as u8 == last);
            if let Some(clocksource) = clocksource {
                return Watched {
                    clocksource,
                    disruption_marker: watch.disruption_marker(),
                };
            }
        }
        let watched = watch.poll();
        self.clocksource
            .store(watched.clocksource as u8, Ordering::Relaxed);
        self.looking.store(false, Ordering::Release);
        watched
    }

    #[inline]
    fn kernel(&self, clock: ClockId) -> u64 {
        if self.forbidden.load(Ordering::Relaxed) {
            os::now_ns_by_syscall(clock)
        } else {
            os::now_ns(clock)
        }
    }
}

impl Platform for Machine {
    #[inline(always)]
    fn slots(&self) -> &Slots {
        &SLOTS
    }

    #[inline(always)]
    fn ticks(&self) -> u64 {
        counter::read()
    }

    #[inline(always)]
    fn ticks_ordered(&self) -> u64 {
        counter::read_ordered()
    }

    #[inline]
    fn kernel_ns(&self) -> u64 {
        self.kernel(ClockId::Monotonic)
    }

    #[inline]
    fn kernel_realtime_ns(&self) -> u64 {
        self.kernel(ClockId::Realtime)
    }

    #[inline(always)]
    fn exchange_last(&self, ticks: u64) -> u64 {
        LAST.replace(ticks)
    }

    fn same_again(&self, ticks: u64) -> bool {
        let (at, count) = SAME.get();
        let count = if at == ticks { count + 1 } else { 1 };
        SAME.set((ticks, count % SAME_READS));
        count == SAME_READS
    }

    fn observe(&self) -> Observation {
        // The bracket comes last, as near to its use as can be.
        let watched = self.look();
        let first = os::now_ns(ClockId::Monotonic) as i64;
        let boot = os::now_ns(ClockId::Boottime) as i64;
        let between = os::now_ns(ClockId::Monotonic) as i64;
        let real = os::now_ns(ClockId::Realtime) as i64;
        let bracket = self.brackets.narrowest(|| os::now_ns(ClockId::Monotonic));
        let ns = bracket.ns as i64;
        Observation {
            before: bracket.before,
            ns: bracket.ns,
            after: bracket.after,
            suspended_ns: (boot - between, boot - first),
            realtime_ns: (real - ns, real - between),
            watched,
        }
    }

    fn start(&self) -> State {
        // Asked each time: it may have been forbidden since, or in a parent.
        let forbidden = evidence::counter_access() == CounterAccess::Refused;
        self.forbidden.store(forbidden, Ordering::Relaxed);
        let reason = match self.gathered().verdict {
            _ if forbidden => Reason::Forbidden,
            Ok(()) => Reason::Calibrating,
            Err(reason) => reason,
        };
        SLOTS.wipe_on_fork();
        let mut state = State::new(reason, 0);
        state.policy = self.policy.load(Ordering::Acquire);
        // A parent may have been looking when this process was forked off.
        self.looking.store(false, Ordering::Release);
        state
    }

    fn terms(&self) -> Terms {
        self.gathered().terms
    }

    fn policy(&self) -> u8 {
        self.policy.load(Ordering::Acquire)
    }

    fn yield_now(&self) {
        std::thread::yield_now();
    }

    fn rest(&self) {
        // To an absolute time: signals do not lengthen it.
        os::sleep_until_ns(self.kernel_ns() + 1_000_000);
    }
}
