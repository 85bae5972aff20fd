//! A simulated host: planted latencies and stalls, no real time.

use super::host::{Host, Interrupted, Slack};

/// A machine whose every delay is planned.
pub(super) struct Sim {
    pub now_ns: u64,
    /// The latency of a kernel sleep of the length given.
    latency: Box<dyn FnMut(u64) -> u64>,
    /// What the cheap clock reads too much, or too little.
    pub cheap_error_ns: i64,
    /// The CPU is taken away at the first, for as long as the second says.
    stalls: Vec<(u64, u64)>,
    /// Kernel sleeps return half-way, as if a signal had come.
    pub cut_short: bool,
    /// Signal handlers run at these times, and end kernel sleeps.
    pub signals: Vec<u64>,
    pub slack: Option<Slack>,
    /// Targets of the kernel sleeps that were waited for.
    pub kernel_targets: Vec<u64>,
    pub pauses: u64,
}

impl Sim {
    pub const TICK_NS: u64 = 4_000_000;
    /// One clock read or pause.
    pub const STEP_NS: u64 = 25;

    pub fn new(latency: impl FnMut(u64) -> u64 + 'static) -> Self {
        Self {
            now_ns: 5_000_000_000,
            latency: Box::new(latency),
            cheap_error_ns: 0,
            stalls: Vec::new(),
            cut_short: false,
            signals: Vec::new(),
            slack: None,
            kernel_targets: Vec::new(),
            pauses: 0,
        }
    }

    /// Takes the CPU away at `at_ns` for `length_ns`.
    pub fn stall(&mut self, at_ns: u64, length_ns: u64) {
        self.stalls.push((at_ns, length_ns));
    }

    fn advance(&mut self, ns: u64) {
        self.now_ns += ns;
        let mut taken = 0;
        let now = self.now_ns;
        self.stalls.retain(|&(at, length)| {
            let due = at <= now;
            taken += if due { length } else { 0 };
            !due
        });
        self.now_ns += taken;
    }
}

impl Host for Sim {
    fn now_ns(&mut self) -> u64 {
        self.advance(Self::STEP_NS);
        self.now_ns.saturating_add_signed(self.cheap_error_ns)
    }

    fn kernel_now_ns(&mut self) -> u64 {
        let now = self.now_ns;
        self.advance(Self::STEP_NS);
        now
    }

    fn sleep_until_ns(&mut self, deadline_ns: u64) -> Result<(), Interrupted> {
        if deadline_ns > self.now_ns {
            self.kernel_targets.push(deadline_ns);
            let length = deadline_ns - self.now_ns;
            if self.cut_short && length > 10_000 {
                self.advance(length / 2);
                return Ok(());
            }
            let now = self.now_ns;
            self.signals.retain(|&at| at >= now);
            if let Some(at) = self.signals.iter().min().filter(|at| **at < deadline_ns) {
                self.advance(at - now);
                return Err(Interrupted);
            }
            let latency = (self.latency)(length);
            self.advance(length + latency);
        }
        Ok(())
    }

    fn set_slack(&mut self, slack: Slack) {
        self.slack = Some(slack);
    }

    fn pause(&mut self, left_ns: u64) {
        assert!(left_ns > 0);
        self.pauses += 1;
        self.advance(left_ns.min(Self::STEP_NS));
    }

    fn tick_ns(&mut self) -> u64 {
        Self::TICK_NS
    }
}
