//! The reading of the clock: the short way, and the way that renews it.

use crate::discipline::{self, Cause, LOOK_AGAIN_NS, Mode, Observation, State, Terms};
use crate::float;
use crate::slots::{Otherwise, Published, Slots, Version};

/// Two reads of one thread may be out of order by this much without meaning
/// anything: CPUs run reads ahead of their neighbours, and a thread may move to a
/// CPU whose counter is a few ticks behind.
const OUT_OF_ORDER_NS: u64 = 1_000;

/// What the engine needs of a machine; tests plant their own.
pub(crate) trait Platform {
    /// Where the state is kept. A static of its own on the real machine, because
    /// its pages are wiped in children.
    fn slots(&self) -> &Slots;
    /// The counter, unordered.
    fn ticks(&self) -> u64;
    /// The counter, after all earlier instructions.
    fn ticks_ordered(&self) -> u64;
    /// `CLOCK_MONOTONIC` from the kernel.
    fn kernel_ns(&self) -> u64;
    /// `CLOCK_REALTIME` from the kernel.
    fn kernel_realtime_ns(&self) -> u64;
    /// Stores the calling thread's newest count and returns the one before; 0 at
    /// first.
    fn exchange_last(&self, ticks: u64) -> u64;
    /// Counts a read that returned the same count as the thread's last; whether
    /// there were so many of this count in a row that the counter may stand still.
    fn same_again(&self, ticks: u64) -> bool;
    /// Takes an anchor.
    fn observe(&self) -> Observation;
    /// Gathers the evidence for a first state. Must not read the counter.
    fn start(&self) -> State;
    /// On what terms the counter is trusted.
    fn terms(&self) -> Terms;
    /// The number of the policy in force.
    fn policy(&self) -> u8;
    /// Lets others run.
    fn yield_now(&self);
    /// Lets about a millisecond pass.
    fn rest(&self);
}

/// What came of an anchor.
enum Renewal {
    /// The state is another one now.
    Done,
    /// The present state stays right.
    Unneeded,
    /// There is no room for another state; what the kernel's clock tells.
    NoRoom { now_ns: u64 },
}

/// So often a thread tries to find room for a new state.
const TRIES_FOR_ROOM: u32 = 4;

/// A clock over a platform.
pub(crate) struct Engine<P> {
    pub platform: P,
}

impl<P: Platform> Engine<P> {
    pub const fn new(platform: P) -> Self {
        Self { platform }
    }

    /// The shared state.
    #[inline(always)]
    pub fn slots(&self) -> &Slots {
        self.platform.slots()
    }

    /// The present time in nanoseconds of `CLOCK_MONOTONIC`.
    #[inline(always)]
    pub fn now(&self, ordered: bool) -> u64 {
        let piece = self.slots().load();
        // Before the counter is touched: where it is forbidden, no piece has a
        // length.
        if piece.length == 0 {
            return self.without_piece(piece);
        }
        let ticks = if ordered {
            self.platform.ticks_ordered()
        } else {
            self.platform.ticks()
        };
        let last = self.platform.exchange_last(ticks);
        let since = ticks.wrapping_sub(piece.t0);
        if since < piece.length
            && (ticks.wrapping_sub(last) as i64) > 0
            && self.slots().is_present(piece.version)
        {
            return value(&piece, since);
        }
        self.slowly(ticks, last)
    }

    /// The present time in nanoseconds of `CLOCK_REALTIME`, read after all earlier
    /// instructions.
    #[inline(always)]
    pub fn realtime(&self) -> u64 {
        let piece = self.slots().load();
        if piece.length == 0 {
            return self.realtime_without_piece(piece);
        }
        let ticks = self.platform.ticks_ordered();
        let last = self.platform.exchange_last(ticks);
        let since = ticks.wrapping_sub(piece.t0);
        if since < piece.length
            && (ticks.wrapping_sub(last) as i64) > 0
            && piece.realtime_ns != 0
            && self.slots().is_present(piece.version)
        {
            return value(&piece, since).wrapping_add_signed(piece.realtime_ns);
        }
        let ns = self.slowly(ticks, last);
        self.as_realtime(ns)
    }

    /// A time just read; by the kernel where the offset is not known.
    fn as_realtime(&self, ns: u64) -> u64 {
        let piece = self.slots().load();
        if piece.length == 0 || piece.realtime_ns == 0 {
            return self.platform.kernel_realtime_ns();
        }
        ns.wrapping_add_signed(piece.realtime_ns)
    }

    /// The kernel's own `CLOCK_REALTIME` serves; the state is seen to all the same.
    #[cold]
    fn realtime_without_piece(&self, piece: Published) -> u64 {
        let Otherwise::Kernel { look_ns, .. } = piece.otherwise() else {
            let ns = self.now(true);
            return self.as_realtime(ns);
        };
        let realtime = self.platform.kernel_realtime_ns();
        if look_ns != u64::MAX {
            let now = match piece.realtime_ns {
                0 => self.platform.kernel_ns(),
                offset => realtime.wrapping_sub(offset as u64),
            };
            // Far ahead where the system's time was set back since.
            if now >= look_ns || look_ns - now > 2 * LOOK_AGAIN_NS {
                let ns = self.now(true);
                return self.as_realtime(ns);
            }
        }
        realtime
    }

    #[cold]
    fn without_piece(&self, piece: Published) -> u64 {
        let mut piece = piece;
        let mut tries = 0;
        loop {
            tries += 1;
            if piece.length != 0 {
                let ticks = self.platform.ticks_ordered();
                let last = self.platform.exchange_last(ticks);
                return self.slowly(ticks, last);
            }
            match piece.otherwise() {
                Otherwise::Start => {
                    let state = self.platform.start();
                    self.slots().replace(piece.version, &state);
                }
                Otherwise::Kernel { floor_ns, look_ns } => {
                    let now = self.platform.kernel_ns();
                    let held_ns = floor_ns.saturating_sub(now);
                    let due = now >= look_ns
                        || (held_ns > 0 && held_ns > self.platform.terms().longest_hold_ns);
                    // What the kernel told before the counter was taken back may
                    // be less than others were given since.
                    if !due && self.slots().is_present(piece.version) {
                        return now.max(floor_ns);
                    }
                    if due
                        && let Renewal::NoRoom { now_ns } = self.renew(piece.version, Cause::Due)
                        && tries >= TRIES_FOR_ROOM
                    {
                        return now_ns;
                    }
                }
                Otherwise::Renew => {
                    if let Renewal::NoRoom { now_ns } = self.renew(piece.version, Cause::Due)
                        && tries >= TRIES_FOR_ROOM
                    {
                        return now_ns;
                    }
                }
            }
            piece = self.slots().load();
        }
    }

    /// The counter was read, but something about it was not as usual.
    #[cold]
    #[inline(never)]
    fn slowly(&self, mut ticks: u64, mut last: u64) -> u64 {
        let mut tries = 0;
        loop {
            let piece = self.slots().load();
            if piece.length == 0 {
                return self.without_piece(piece);
            }
            if ticks.wrapping_sub(piece.t0) >= piece.length || (last.wrapping_sub(ticks) as i64) > 0
            {
                // Since this one read the counter another thread may have begun a
                // piece, or a signal handler in this thread may have read it too.
                ticks = self.platform.ticks_ordered();
                self.platform.exchange_last(ticks);
            }
            let since = ticks.wrapping_sub(piece.t0);
            let last_since = last.wrapping_sub(piece.t0);
            let back = last.wrapping_sub(ticks) as i64;
            let cause = if back > 0 && last_since < piece.length {
                if nanoseconds(&piece, back as u64) < OUT_OF_ORDER_NS {
                    self.platform.exchange_last(last);
                    if self.slots().is_present(piece.version) {
                        return value(&piece, last_since);
                    }
                    continue;
                }
                Cause::WentBack(back as u64)
            } else if since >= piece.length {
                let before = piece.t0.wrapping_sub(ticks);
                if nanoseconds(&piece, before) < OUT_OF_ORDER_NS {
                    // Read before the piece began, by a hair.
                    if self.slots().is_present(piece.version) {
                        return piece.n0;
                    }
                    continue;
                }
                if (before as i64) > 0 {
                    Cause::WentBack(before)
                } else {
                    Cause::Due
                }
            } else if back == 0 && self.platform.same_again(ticks) {
                Cause::StoodStill
            } else if self.slots().is_present(piece.version) {
                return value(&piece, since);
            } else {
                continue;
            };
            match self.renew(piece.version, cause) {
                Renewal::Unneeded if self.slots().is_present(piece.version) => {
                    // A false alarm.
                    return value(&piece, since.min(piece.length));
                }
                Renewal::NoRoom { now_ns } if tries >= TRIES_FOR_ROOM => return now_ns,
                _ => tries += 1,
            }
            ticks = self.platform.ticks_ordered();
            // Whatever this thread saw before was accounted for.
            last = ticks.wrapping_sub(1);
            self.platform.exchange_last(ticks);
        }
    }

    /// Takes an anchor and publishes what follows from it.
    // Apart from its callers: they need little stack, and this much.
    #[inline(never)]
    fn renew(&self, version: Version, cause: Cause) -> Renewal {
        float::by_default(|| self.renewed(version, cause))
    }

    #[inline(always)]
    fn renewed(&self, version: Version, cause: Cause) -> Renewal {
        let Some(state) = self.slots().copy(version) else {
            // Somebody else was faster.
            return Renewal::Done;
        };
        if matches!(state.mode, Mode::Kernel(reason) if reason.is_final()) {
            // Nothing to learn; the counter may even be forbidden.
            return Renewal::Unneeded;
        }
        if self.platform.policy() != state.policy {
            // The piece is over, so that time neither jumps nor stands.
            self.slots().replace(version, &self.started_after(&state));
            return Renewal::Done;
        }
        let seen = self.platform.observe();
        let mut next = state;
        if !discipline::advance(&state, &seen, cause, &self.platform.terms(), &mut next) {
            return Renewal::Unneeded;
        }
        if !self.slots().replace(version, &next) && self.slots().is_present(version) {
            // Every slot is pinned by a thread that was stopped, or left for good by
            // a longjmp out of a signal handler.
            self.platform.yield_now();
            return Renewal::NoRoom {
                now_ns: seen.ns.max(state.floor_ns),
            };
        }
        Renewal::Done
    }

    /// The present state, without reading a clock; `None` before the start, or where
    /// it was being replaced all the time.
    #[cfg(feature = "embed")]
    pub fn peek(&self) -> Option<State> {
        (0..100).find_map(|_| self.slots().copy(self.slots().load().version))
    }

    /// The present state, started if need be.
    pub fn state(&self) -> State {
        loop {
            self.now(true);
            if let Some(state) = self.slots().copy(self.slots().load().version) {
                return state;
            }
        }
    }

    fn started_after(&self, old: &State) -> State {
        let mut next = self.platform.start();
        next.floor_ns = old.floor_ns;
        next.events = old.events;
        next
    }

    /// Sees to it that the state is one for the platform's present policy. Where
    /// the counter is in use it is left at the end of the piece.
    pub fn restart(&self) {
        loop {
            let version = self.slots().load().version;
            if version == 0 {
                self.slots().replace(0, &self.platform.start());
                continue;
            }
            let Some(state) = self.slots().copy(version) else {
                continue;
            };
            if state.policy == self.platform.policy() {
                return;
            }
            if state.mode == Mode::Counter {
                self.platform.rest();
                self.now(true);
            } else {
                self.slots().replace(version, &self.started_after(&state));
            }
        }
    }

    /// The kernel's clock, by a way that is allowed: the vDSO's is not where the
    /// counter is forbidden.
    pub fn kernel_ns(&self) -> u64 {
        if self.slots().load().version == 0 {
            self.now(false);
        }
        self.platform.kernel_ns()
    }

    /// Takes an anchor now; whether the counter is in use after it.
    pub fn check(&self) -> bool {
        let version = self.slots().load().version;
        if version != 0 {
            self.renew(version, Cause::StoodStill);
        }
        self.state().mode == Mode::Counter
    }
}

#[inline(always)]
fn value(piece: &Published, ticks: u64) -> u64 {
    // At most 5 ms times 2^32 while `ticks` is within the piece.
    piece.n0 + ((ticks * piece.mult) >> 32)
}

/// Ticks as nanoseconds, for any number of them.
fn nanoseconds(piece: &Published, ticks: u64) -> u64 {
    ((u128::from(ticks) * u128::from(piece.mult)) >> 32).min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod realtime_tests;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;
