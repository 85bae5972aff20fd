//! The state between two anchors.

use super::observation::{Observation, Terms};
use super::realtime::Offset;
use super::reason::Reason;
use crate::source::Source;

/// How long a piece lasts, hence how long a change can go unnoticed by a program
/// that reads its clock, in nanoseconds.
///
/// The kernel's clock may change its rate by up to 1000 ppm at once (from
/// +500 to -500, the most that NTP slews): 5 us over a piece. An anchor costs
/// about a microsecond, 0.02 % of a piece.
pub const INTERVAL_NS: u64 = 5_000_000;

/// Steady anchors needed before the counter is used for the first time.
pub(super) const FIRST_PROOF: u32 = 3;

/// The rate is taken over a stretch of one to two of these.
const STRETCH_NS: u64 = 500_000_000;

/// A straight piece of the clock: `n0 + (t - t0) * mult / 2^32` for the `length`
/// ticks from `t0` on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Counter at its beginning.
    pub t0: u64,
    /// Nanoseconds at its beginning.
    pub n0: u64,
    /// Nanoseconds a tick, times 2^32.
    pub mult: u64,
    /// Ticks it may be used for.
    pub length: u64,
}

impl Segment {
    /// The value `ticks` after its beginning; exact for all that may be asked:
    /// `length * mult` stays below 2^64, because it is 5 ms times 2^32.
    #[inline(always)]
    pub fn at(&self, ticks: u64) -> u64 {
        self.n0 + ((ticks * self.mult) >> 32)
    }

    /// No value of it is beyond this.
    pub fn end_ns(&self) -> u64 {
        self.at(self.length)
    }

    fn new(t0: u64, n0: u64, ns_per_tick: f64) -> Self {
        Self {
            t0,
            n0,
            mult: (ns_per_tick * 4_294_967_296.0) as u64,
            length: (INTERVAL_NS as f64 / ns_per_tick) as u64,
        }
    }
}

/// A moment known on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Anchor {
    /// Counter in the middle of the bracket.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`.
    pub ns: u64,
    /// Half the width of the bracket, in ticks.
    pub half_ticks: u64,
}

impl Anchor {
    pub fn new(seen: &Observation) -> Self {
        let half_width = seen.after.wrapping_sub(seen.before) / 2;
        // A count tells only that the next one is not reached yet.
        let half_ticks = half_width + 1;
        Self {
            ticks: seen.before.wrapping_add(half_width),
            ns: seen.ns,
            half_ticks,
        }
    }

    /// Ticks since `earlier`; negative where the counter went back.
    pub fn ticks_since(&self, earlier: &Self) -> i64 {
        self.ticks.wrapping_sub(earlier.ticks) as i64
    }

    /// Nanoseconds since `earlier`.
    pub fn ns_since(&self, earlier: &Self) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }

    /// Nanoseconds a tick since `earlier`, and their relative uncertainty by the
    /// brackets; `None` where no time passed.
    fn rate_since(&self, earlier: &Self) -> Option<(f64, f64)> {
        let (ticks, ns) = (self.ticks_since(earlier), self.ns_since(earlier));
        if ticks <= 0 || ns == 0 {
            return None;
        }
        let rate = ns as f64 / ticks as f64;
        Some((rate, self.uncertain_ns(earlier, rate) / ns as f64))
    }

    /// How far two anchors' values may be off together, in nanoseconds.
    pub fn uncertain_ns(&self, other: &Self, ns_per_tick: f64) -> f64 {
        self.half_ticks.saturating_add(other.half_ticks) as f64 * ns_per_tick
    }
}

/// Where the time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The counter.
    Counter,
    /// The kernel's clock.
    Kernel(Reason),
    /// Between the two: whoever reads now takes an anchor. After this state is
    /// public nobody is given a time that the kernel told before.
    Closing,
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Events {
    /// Anchors taken.
    pub anchors: u64,
    /// Times that trust was lost.
    pub losses: u64,
    /// Why it was lost the last time.
    pub last_loss: Option<Reason>,
    /// How long the last value was held in all, in nanoseconds.
    pub held_ns: u64,
    /// The longest such hold.
    pub longest_hold_ns: u64,
    /// Times that the kernel's rate was seen to change.
    pub rate_changes: u64,
    /// The largest difference from the kernel's clock met at an anchor.
    pub worst_off_ns: u64,
}

/// All that the next anchor needs to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct State {
    pub mode: Mode,
    /// The piece in use; of no use outside [`Mode::Counter`].
    pub segment: Segment,
    /// The end of the last piece: no value beyond it was given, and none below it
    /// may follow.
    pub floor_ns: u64,
    /// Outside [`Mode::Counter`]: when to look again. Never, if `u64::MAX`.
    pub next_look_ns: u64,
    /// The rate, or 0 while nothing is known.
    pub ns_per_tick: f64,
    /// Its relative uncertainty, from the brackets.
    pub rate_uncertainty: f64,
    /// The last anchor.
    pub last: Anchor,
    /// The anchor from which the rate is taken.
    pub base: Anchor,
    /// The one from which it will be taken next.
    pub next_base: Anchor,
    pub suspended_ns: (i64, i64),
    pub marker: Option<u64>,
    /// From this clock to `CLOCK_REALTIME`.
    pub realtime: Offset,
    /// Steady anchors in a row.
    pub steady: u32,
    /// How many are needed.
    pub proof_needed: u32,
    /// How often the proof was doubled.
    pub doublings: u32,
    /// When trust was lost.
    pub lost_ns: u64,
    /// Unusable anchors in a row.
    pub unusable: u32,
    /// Half of the widest bracket lately, in ticks.
    pub wide_half_ticks: u64,
    /// The policy for which it was started, by number.
    pub policy: u8,
    pub events: Events,
}

impl State {
    /// The kernel's clock for good, or until a first look.
    pub fn new(reason: Reason, floor_ns: u64) -> Self {
        Self {
            mode: Mode::Kernel(reason),
            segment: Segment::default(),
            floor_ns,
            next_look_ns: if reason.is_final() { u64::MAX } else { 0 },
            ns_per_tick: 0.0,
            rate_uncertainty: 0.0,
            last: Anchor::default(),
            base: Anchor::default(),
            next_base: Anchor::default(),
            suspended_ns: (i64::MIN / 2, i64::MAX / 2),
            marker: None,
            realtime: Offset::UNKNOWN,
            steady: 0,
            proof_needed: FIRST_PROOF,
            doublings: 0,
            lost_ns: 0,
            unusable: 0,
            wide_half_ticks: 0,
            policy: 0,
            events: Events::default(),
        }
    }

    /// As if the counter were in use, to find out what a reading costs.
    #[cfg(feature = "embed")]
    pub fn trial(t0: u64, n0: u64) -> Self {
        let mut state = Self::new(Reason::Calibrating, 0);
        state.mode = Mode::Counter;
        state.segment = Segment {
            t0,
            n0,
            mult: 1 << 31,
            length: 1 << 32,
        };
        state.realtime = state.realtime.after((1, 1));
        state
    }

    /// Where the time comes from.
    pub fn source(&self) -> Source {
        match self.mode {
            Mode::Counter => Source::Counter,
            Mode::Kernel(reason) => Source::Kernel(reason),
            Mode::Closing => Source::Kernel(Reason::Calibrating),
        }
    }

    /// Whether time would be held for longer than it may be.
    pub fn holds_beyond(&self, terms: &Terms, now_ns: u64) -> bool {
        self.floor_ns.saturating_sub(now_ns) > terms.longest_hold_ns
    }

    /// Whether no anchor was taken yet.
    pub fn is_new(&self) -> bool {
        self.last.ns == 0
    }

    /// The kernel's clock from `at` on, its proof begun anew.
    pub fn fall_back(&mut self, reason: Reason, at: &Anchor) {
        self.mode = Mode::Kernel(reason);
        self.segment = Segment::default();
        self.steady = 0;
        self.last = *at;
        self.next_look_ns = at.ns.saturating_add(INTERVAL_NS);
    }

    /// The time at an anchor's ticks by the last anchor and the rate.
    pub fn predicted_ns(&self, at: &Anchor) -> u64 {
        let ticks = at.ticks_since(&self.last).max(0);
        self.last.ns + (ticks as f64 * self.ns_per_tick) as u64
    }

    /// Takes the rate from the base to `at`: from the one that leaves less unknown.
    pub fn measure_rate(&mut self, at: &Anchor) {
        // A base whose bracket was preempted would spoil the rate for a stretch: a sharp
        // anchor is the next one at once, and the base once it leaves less unknown.
        if self.next_base.half_ticks / 2 > at.half_ticks {
            self.next_base = *at;
        }
        let by_next = at.rate_since(&self.next_base);
        let by_base = at.rate_since(&self.base);
        let (rate, uncertainty) = match (by_base, by_next) {
            (Some(base), Some(next)) if next.1 < base.1 => {
                self.base = self.next_base;
                self.next_base = *at;
                next
            }
            (Some(base), _) => base,
            (None, _) => return,
        };
        self.ns_per_tick = rate;
        self.rate_uncertainty = uncertainty;
    }

    /// Takes account of an anchor that fits, though the old rate was `off` by
    /// some nanoseconds, where `uncertain` would mean nothing.
    pub fn follow(&mut self, at: &Anchor, off: f64, uncertain: f64) {
        /// Wander of the kernel's rate that is no change.
        const WANDER: f64 = 2e-6;
        if off.abs() > uncertain + at.ns_since(&self.last) as f64 * WANDER {
            self.events.rate_changes += 1;
            self.base = self.last;
            self.next_base = self.last;
        }
        self.measure_rate(at);
        if at.ns_since(&self.next_base) >= STRETCH_NS {
            self.base = self.next_base;
            self.next_base = *at;
        }
        self.last = *at;
    }

    /// The next piece. `now_ns` is the time at `ticks`; the piece begins there,
    /// or at the end of the last one if that is later, and is right at its end.
    pub fn begin(&mut self, ticks: u64, now_ns: u64) {
        let n0 = self.floor_ns.max(now_ns);
        let ahead = (n0 - now_ns) as f64;
        // Ahead by no more than what may have been slewed in a piece, 0.1 %.
        let slower = (1.0 - ahead / INTERVAL_NS as f64).max(0.5);
        self.segment = Segment::new(ticks, n0, self.ns_per_tick * slower);
        self.floor_ns = self.segment.end_ns();
    }
}
