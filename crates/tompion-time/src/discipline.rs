//! What the clock decides at each anchor: pure, without a clock of its own.
//!
//! The clock follows the kernel's `CLOCK_MONOTONIC` by straight pieces
//! ([`Segment`]s) of the counter. When a piece is used up, a reader takes an
//! [`Observation`] (an *anchor*: the kernel's clock read between two reads of the
//! counter, and a look at the evidence), and [`advance`] turns the old [`State`]
//! into the new one: another piece, or the kernel's clock and the reason why.
//!
//! Two rules keep time from running backwards. A piece ends before the next
//! begins: no reader uses it beyond its length. And a new piece starts at the
//! value where the old one would have ended (the *floor*), or later.

mod observation;
mod realtime;
mod reason;
mod state;

pub(crate) use observation::{Cause, Observation, Terms};
pub use reason::Reason;
pub use state::INTERVAL_NS;
pub(crate) use state::{Anchor, Mode, State};

use crate::evidence::Current;
use state::FIRST_PROOF;

/// The largest change of the kernel's rate that counts as ordinary slewing.
pub const SLEW_PPM: u64 = 1000;

/// What an error needs at least to count as a jump: reading two clocks at the
/// same time is not exact, whatever the bracket says.
const JUMP_NS: u64 = 2_000;

/// Brackets wider than twice this say too little.
const USABLE_UNCERTAINTY_NS: f64 = 20_000.0;

/// A bracket whose half is wider may hide a jump that nobody should be shown.
const HIDDEN_NS: f64 = INTERVAL_NS as f64 / 2.0;

/// A bracket whose half is wider was disturbed.
const LOOSE_NS: u64 = 500;

/// How many anchors in a row may be unusable before trust ends.
const UNUSABLE_IN_A_ROW: u32 = 8;

/// How often a clocksource that we cannot use is looked at again.
pub const LOOK_AGAIN_NS: u64 = 1_000_000_000;

/// Steady anchors needed after trust was lost; doubled with each loss.
const RENEWED_PROOF: u32 = 20;

/// The proof doubles at most this often: 5120 anchors, 26 s.
const MOST_DOUBLINGS: u32 = 8;

/// A loss this long ago no longer counts.
const FORGIVEN_NS: u64 = 600_000_000_000;

/// Two rates in a row that differ by more than this are no proof.
const STEADY: f64 = 300e-6;

/// A stated rate that differs by more than this contradicts what is measured.
const HINT_TOLERANCE: f64 = 0.01;

/// A change of `CLOCK_BOOTTIME - CLOCK_MONOTONIC` that means a suspend.
const SUSPEND_NS: i64 = 1_000_000;

/// Makes `next` the state after an anchor; `false` when the present one stays right.
///
/// In place, because this runs on whatever stack a program reads its clock on, a
/// signal handler's of 2 KiB included.
pub(crate) fn advance(
    state: &State,
    seen: &Observation,
    cause: Cause,
    terms: &Terms,
    next: &mut State,
) -> bool {
    *next = *state;
    next.events.anchors += 1;
    next.suspended_ns = seen.suspended_ns;
    next.marker = seen.watched.disruption_marker;
    next.realtime = state.realtime.after(seen.realtime_ns);
    let another_clock = state.mode != Mode::Counter && state.holds_beyond(terms, seen.ns);
    if another_clock {
        next.floor_ns = seen.ns;
    }
    match state.mode {
        Mode::Counter => return in_counter(state, next, seen, cause, terms),
        Mode::Kernel(reason) if reason.is_final() => return false,
        Mode::Kernel(_) if seen.ns < state.next_look_ns && !another_clock => return false,
        Mode::Kernel(reason) => in_kernel(state, reason, next, seen, terms),
        Mode::Closing => match objection(state, seen, terms) {
            Some(reason) => next.fall_back(reason, &Anchor::new(seen)),
            None => out_of_closing(next, seen),
        },
    }
    true
}

/// Evidence that ends trust whatever the counter shows.
fn objection(state: &State, seen: &Observation, terms: &Terms) -> Option<Reason> {
    if terms.kernel_must_use_it {
        match seen.watched.clocksource {
            Current::Counter => {}
            Current::Other => return Some(Reason::ClocksourceSwitched),
            Current::Unknown => return Some(Reason::ClocksourceUnknown),
        }
    }
    if state.is_new() {
        return None;
    }
    if state.marker != seen.watched.disruption_marker {
        return Some(Reason::Disrupted);
    }
    let ((low, high), (old_low, old_high)) = (seen.suspended_ns, state.suspended_ns);
    let suspended = low > old_high + SUSPEND_NS || high < old_low - SUSPEND_NS;
    suspended.then_some(Reason::Suspended)
}

/// By how many nanoseconds the kernel's clock is off what `state`'s rate predicts
/// (positive: the counter fell behind), and how much of it the brackets explain.
fn misfit(state: &State, at: &Anchor) -> (f64, f64) {
    let predicted = at.ticks_since(&state.last) as f64 * state.ns_per_tick;
    let off = at.ns_since(&state.last) as f64 - predicted;
    let by_rate = at.ns_since(&state.last) as f64 * state.rate_uncertainty;
    let uncertain = at.uncertain_ns(&state.last, state.ns_per_tick) + by_rate;
    (off, uncertain)
}

fn usable(state: &State, at: &Anchor) -> bool {
    at.half_ticks as f64 * state.ns_per_tick <= USABLE_UNCERTAINTY_NS
}

fn in_counter(
    state: &State,
    next: &mut State,
    seen: &Observation,
    cause: Cause,
    terms: &Terms,
) -> bool {
    let mut at = Anchor::new(seen);
    if let Some(reason) = objection(state, seen, terms) {
        distrust(next, &at, reason, terms);
        return true;
    }
    next.wide_half_ticks = at.half_ticks.max(state.wide_half_ticks / 8 * 7);
    let (off, uncertain) = misfit(state, &at);
    let slew = at.ns_since(&state.last) as f64 * SLEW_PPM as f64 * 1e-6;
    if let Some(reason) = jump(state, &at, cause, off, uncertain + slew + JUMP_NS as f64) {
        distrust(next, &at, reason, terms);
        return true;
    }
    if cause != Cause::Due {
        // A false alarm: the piece in use is right.
        return false;
    }
    if !usable(state, &at) {
        next.unusable += 1;
        // A jump within it would be published.
        let hides_a_jump = at.half_ticks as f64 * state.ns_per_tick > HIDDEN_NS;
        if hides_a_jump || next.unusable > UNUSABLE_IN_A_ROW {
            distrust(next, &at, Reason::ReadsUncertain, terms);
            return true;
        }
        // The old rate is better than this anchor.
        next.wide_half_ticks = state.wide_half_ticks;
        next.begin(at.ticks, state.predicted_ns(&at));
        return true;
    }
    next.unusable = 0;
    // After a pause it is no reading's error.
    if at.ns_since(&state.last) <= 2 * INTERVAL_NS {
        next.events.worst_off_ns = next.events.worst_off_ns.max(off.abs() as u64);
    }
    let half_ns = (at.half_ticks as f64 * state.ns_per_tick) as u64;
    if half_ns > LOOSE_NS {
        // The prediction is better where the bracket does not contradict it.
        let (low, high) = (at.ns.saturating_sub(half_ns), at.ns + half_ns);
        at.ns = state.predicted_ns(&at).clamp(low, high);
    }
    next.follow(&at, off, uncertain);
    if at.ns.saturating_sub(next.lost_ns) > FORGIVEN_NS {
        next.doublings = 0;
    }
    next.begin(at.ticks, at.ns);
    true
}

/// What happened to the counter, if anything did. `bearable` nanoseconds are
/// within slewing and uncertainty.
fn jump(state: &State, at: &Anchor, cause: Cause, off: f64, bearable: f64) -> Option<Reason> {
    let by_ns = off.abs() as u64;
    if let Cause::WentBack(ticks) = cause {
        let back = ticks as f64 * state.ns_per_tick;
        // Where this CPU's counter is where it should be, it is another CPU's
        // that was ahead.
        return Some(if off > back / 2.0 {
            Reason::JumpedBack { by_ns }
        } else {
            Reason::CpusDisagree { by_ns: back as u64 }
        });
    }
    if off.abs() <= bearable {
        return None;
    }
    let ticks = at.ticks_since(&state.last);
    Some(if ticks == 0 || (cause == Cause::StoodStill && off > 0.0) {
        Reason::StoodStill { for_ns: by_ns }
    } else if ticks < 0 {
        Reason::JumpedBack { by_ns }
    } else if off < 0.0 {
        Reason::JumpedAhead { by_ns }
    } else {
        Reason::FellBehind { by_ns }
    })
}

/// The kernel's clock from now on, never below the floor.
fn distrust(next: &mut State, at: &Anchor, reason: Reason, terms: &Terms) {
    if next.holds_beyond(terms, at.ns) {
        next.floor_ns = at.ns;
    }
    let held = next.floor_ns.saturating_sub(at.ns);
    next.events.losses += 1;
    next.events.held_ns += held;
    next.events.longest_hold_ns = next.events.longest_hold_ns.max(held);
    next.events.last_loss = Some(reason);
    next.lost_ns = at.ns;
    // A suspend says nothing against the counter.
    next.proof_needed = if reason == Reason::Suspended {
        FIRST_PROOF
    } else {
        let needed = RENEWED_PROOF << next.doublings;
        next.doublings = (next.doublings + 1).min(MOST_DOUBLINGS);
        needed
    };
    next.fall_back(reason, at);
}

/// One step of the proof that the counter can be used.
fn in_kernel(state: &State, reason: Reason, next: &mut State, seen: &Observation, terms: &Terms) {
    let at = Anchor::new(seen);
    if let Some(objection) = objection(state, seen, terms) {
        return object(next, &at, reason, objection);
    }
    let reason = match reason {
        // The objection is gone; the counter was never used.
        Reason::NotTheClocksource | Reason::ClocksourceUnknown => Reason::Calibrating,
        other => other,
    };
    // By the rate from before the loss: what jumped may jump back.
    let reason = reason.and_then_off_by(misfit(state, &at).0);
    let (ticks, elapsed) = (at.ticks_since(&state.last), at.ns_since(&state.last));
    if state.is_new() || ticks <= 0 || elapsed == 0 {
        return next.fall_back(reason, &at);
    }
    let rate = elapsed as f64 / ticks as f64;
    let uncertain = at.uncertain_ns(&state.last, rate) / elapsed as f64;
    let differs = (rate / state.ns_per_tick - 1.0).abs();
    if state.steady > 0 && differs > STEADY + uncertain + state.rate_uncertainty {
        return next.fall_back(reason, &at);
    }
    if uncertain > STEADY {
        // Two loose brackets; neither a proof nor the contrary.
        if at.half_ticks < state.last.half_ticks {
            return next.fall_back(reason, &at);
        }
        next.next_look_ns = at.ns.saturating_add(INTERVAL_NS);
        return;
    }
    if let Some(stated_hz) = terms.hint_hz
        && (stated_hz as f64 * rate * 1e-9 - 1.0).abs() > HINT_TOLERANCE + uncertain
    {
        let measured_hz = (1e9 / rate) as u64;
        let reason = Reason::RateContradicted {
            stated_hz,
            measured_hz,
        };
        return next.fall_back(reason, &at);
    }
    if state.steady == 0 {
        next.base = state.last;
        next.next_base = state.last;
    }
    next.mode = Mode::Kernel(reason);
    next.steady += 1;
    next.measure_rate(&at);
    next.last = at;
    next.next_look_ns = at.ns.saturating_add(INTERVAL_NS);
    // Time that was held must have been caught up with.
    if next.steady >= next.proof_needed && at.ns >= next.floor_ns {
        next.mode = Mode::Closing;
    }
}

/// The proof begins anew because of the evidence.
fn object(next: &mut State, at: &Anchor, reason: Reason, objection: Reason) {
    let by_clocksource = matches!(
        objection,
        Reason::ClocksourceSwitched | Reason::ClocksourceUnknown
    );
    let never_was = matches!(reason, Reason::NotTheClocksource | Reason::Calibrating);
    let reason = match objection {
        Reason::ClocksourceSwitched if never_was => Reason::NotTheClocksource,
        other => other,
    };
    next.fall_back(reason, at);
    if by_clocksource {
        next.next_look_ns = at.ns.saturating_add(LOOK_AGAIN_NS);
    }
}

/// The first piece. The kernel's time of this anchor was told after every time
/// that readers were given before.
fn out_of_closing(next: &mut State, seen: &Observation) {
    let at = Anchor::new(seen);
    if !usable(next, &at) {
        return next.fall_back(Reason::ReadsUncertain, &at);
    }
    next.mode = Mode::Counter;
    next.unusable = 0;
    next.wide_half_ticks = at.half_ticks;
    next.last = at;
    next.begin(at.ticks, at.ns);
}
