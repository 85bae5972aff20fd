//! A simulated machine: a kernel clock and a counter that do what tests tell.

use std::cell::Cell;

use crate::discipline::{Observation, Reason, State, Terms};
use crate::engine::Platform;
use crate::evidence::{Current, Watched};
use crate::slots::Slots;

/// What reading costs here, in nanoseconds of true time.
const COUNTER_READ_NS: f64 = 10.0;
const KERNEL_READ_NS: f64 = 25.0;
const POLL_NS: f64 = 1_000.0;

/// True time advances only by what is done; all in one thread, which moves
/// between two CPUs.
pub(super) struct Sim {
    slots: Slots,
    kernel_ns: Cell<f64>,
    suspended_ns: Cell<f64>,
    /// Realtime minus monotonic.
    pub realtime_offset_ns: Cell<i64>,
    counter_base: Cell<u64>,
    counter_run: Cell<f64>,
    pub ticks_per_ns: Cell<f64>,
    pub slew_ppm: Cell<f64>,
    pub frozen: Cell<bool>,
    /// The second CPU's counter minus the first's.
    pub offset_ticks: Cell<i64>,
    pub cpu: Cell<usize>,
    pub clocksource: Cell<Current>,
    pub marker: Cell<Option<u64>>,
    /// True time lost within each of the next brackets.
    pub preempted: Cell<(u32, f64)>,
    pub hint_hz: Cell<Option<u64>>,
    pub policy: Cell<u8>,
    pub longest_hold_ns: Cell<u64>,
    /// How wide the brackets of the realtime are.
    pub realtime_width_ns: Cell<i64>,
    last: Cell<u64>,
    same: Cell<(u64, u32)>,
}

impl Sim {
    pub fn new() -> Self {
        Self {
            slots: Slots::new(),
            kernel_ns: Cell::new(1e12),
            suspended_ns: Cell::new(5e9),
            realtime_offset_ns: Cell::new(1_700_000_000_000_000_000),
            counter_base: Cell::new(3_000_000_000_000),
            counter_run: Cell::new(0.0),
            ticks_per_ns: Cell::new(2.6),
            slew_ppm: Cell::new(0.0),
            frozen: Cell::new(false),
            offset_ticks: Cell::new(0),
            cpu: Cell::new(0),
            clocksource: Cell::new(Current::Counter),
            marker: Cell::new(Some(7)),
            preempted: Cell::new((0, 0.0)),
            hint_hz: Cell::new(None),
            policy: Cell::new(0),
            longest_hold_ns: Cell::new(u64::MAX),
            realtime_width_ns: Cell::new(100),
            last: Cell::new(0),
            same: Cell::new((0, 0)),
        }
    }

    /// Starts `ticks` before the counter wraps.
    pub fn wrapping_in(ticks: u64) -> Self {
        let sim = Self::new();
        sim.counter_base.set(u64::MAX - ticks);
        sim
    }

    /// Lets true time pass.
    pub fn pass(&self, ns: f64) {
        let kernel = self.kernel_ns.get() + ns * (1.0 + self.slew_ppm.get() * 1e-6);
        self.kernel_ns.set(kernel);
        if !self.frozen.get() {
            self.counter_run
                .set(self.counter_run.get() + ns * self.ticks_per_ns.get());
        }
    }

    /// The machine sleeps: the kernel's monotonic clock stands.
    pub fn suspend(&self, ns: f64, counter_runs: bool) {
        self.suspended_ns.set(self.suspended_ns.get() + ns);
        if counter_runs {
            self.counter_run
                .set(self.counter_run.get() + ns * self.ticks_per_ns.get());
        }
    }

    /// The counter begins anew, as after a deep suspend.
    pub fn reset_counter(&self) {
        self.counter_base.set(0);
        self.counter_run.set(0.0);
    }

    /// The counter of all CPUs jumps.
    pub fn jump(&self, ns: f64) {
        let ticks = (ns * self.ticks_per_ns.get()) as i64;
        self.counter_base
            .set(self.counter_base.get().wrapping_add_signed(ticks));
    }

    /// The process finds itself in another time namespace.
    pub fn shift_kernel(&self, ns: f64) {
        self.kernel_ns.set(self.kernel_ns.get() + ns);
    }

    /// What the kernel's clock reads, without time passing.
    pub fn truth(&self) -> u64 {
        self.kernel_ns.get() as u64
    }

    fn counter(&self) -> u64 {
        let shared = self
            .counter_base
            .get()
            .wrapping_add(self.counter_run.get() as u64);
        match self.cpu.get() {
            0 => shared,
            _ => shared.wrapping_add_signed(self.offset_ticks.get()),
        }
    }
}

impl Platform for Sim {
    fn slots(&self) -> &Slots {
        &self.slots
    }

    fn ticks(&self) -> u64 {
        self.pass(COUNTER_READ_NS);
        self.counter()
    }

    fn ticks_ordered(&self) -> u64 {
        self.ticks()
    }

    fn kernel_ns(&self) -> u64 {
        self.pass(KERNEL_READ_NS);
        self.truth()
    }

    fn kernel_realtime_ns(&self) -> u64 {
        self.kernel_ns()
            .wrapping_add_signed(self.realtime_offset_ns.get())
    }

    fn exchange_last(&self, ticks: u64) -> u64 {
        self.last.replace(ticks)
    }

    fn same_again(&self, ticks: u64) -> bool {
        let (at, count) = self.same.get();
        let count = if at == ticks { count + 1 } else { 1 };
        self.same.set((ticks, count % 1000));
        count == 1000
    }

    fn observe(&self) -> Observation {
        self.pass(POLL_NS);
        let suspended = self.suspended_ns.get() as i64;
        let before = self.ticks();
        let (times, lost) = self.preempted.get();
        if times > 0 {
            self.preempted.set((times - 1, lost));
            self.pass(lost);
        }
        let ns = self.kernel_ns();
        Observation {
            before,
            ns,
            after: self.ticks(),
            suspended_ns: (suspended - 60, suspended + 40),
            realtime_ns: (
                self.realtime_offset_ns.get() - self.realtime_width_ns.get() * 6 / 10,
                self.realtime_offset_ns.get() + self.realtime_width_ns.get() * 4 / 10,
            ),
            watched: Watched {
                clocksource: self.clocksource.get(),
                disruption_marker: self.marker.get(),
            },
        }
    }

    fn start(&self) -> State {
        let mut state = State::new(Reason::Calibrating, 0);
        state.policy = self.policy.get();
        state
    }

    fn terms(&self) -> Terms {
        Terms {
            kernel_must_use_it: true,
            hint_hz: self.hint_hz.get(),
            longest_hold_ns: self.longest_hold_ns.get(),
        }
    }

    fn policy(&self) -> u8 {
        self.policy.get()
    }

    fn yield_now(&self) {}

    fn rest(&self) {
        self.pass(1e6);
    }
}
