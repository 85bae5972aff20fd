//! The clock's state, shared without locks.
//!
//! Readers find the present piece by one load, and check by a second load that it
//! still was the present one when they had read the counter. Whoever renews it
//! writes a new state into a free slot and makes that the present one by one
//! compare-and-swap; who loses the race uses the winner's. So a thread that is
//! stopped at any place, or a signal handler that interrupts it there, never
//! keeps others from reading. (Should all slots be held by such threads, readers get
//! the kernel's clock.)
#![allow(unsafe_code)]

#[cfg(all(test, loom))]
mod models;

use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use crate::discipline::{Mode, State};
use crate::sync::{AtomicI64, AtomicU32, AtomicU64, UnsafeCell, fence};

/// More than threads that are ever stopped within a renewal at the same time. In models the
/// third renewal writes into the slot of the first.
const SLOTS: usize = if cfg!(all(test, loom)) { 2 } else { 32 };

/// A slot that is being written.
const WRITER: u32 = 1 << 31;

/// Which state is the present one: its slot, and the number of renewals above it.
/// 0 is the state of memory that nobody wrote.
pub(crate) type Version = u64;

/// What readers need of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub version: Version,
    pub t0: u64,
    pub n0: u64,
    pub mult: u64,
    /// 0 unless the counter is in use.
    pub length: u64,
    /// To `CLOCK_REALTIME`; 0 where that is not known.
    pub realtime_ns: i64,
}

/// What readers do where no piece is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// Nothing was published yet.
    Start,
    /// Read the kernel's clock; renew from the given time on.
    Kernel { floor_ns: u64, look_ns: u64 },
    /// Renew at once.
    Renew,
}

const KERNEL: u64 = 1;
const CLOSING: u64 = 2;

impl Published {
    /// Only where `length` is 0.
    pub fn otherwise(&self) -> Otherwise {
        match self.t0 {
            KERNEL => Otherwise::Kernel {
                floor_ns: self.n0,
                look_ns: self.mult,
            },
            CLOSING => Otherwise::Renew,
            _ => Otherwise::Start,
        }
    }
}

/// What readers load lies in one cache line.
#[repr(C, align(64))]
struct Slot {
    t0: AtomicU64,
    n0: AtomicU64,
    mult: AtomicU64,
    length: AtomicU64,
    realtime_ns: AtomicI64,
    /// Those who copy `state`, or [`WRITER`].
    pins: AtomicU32,
    state: UnsafeCell<MaybeUninit<State>>,
}

/// Aligned to the largest page of any kernel (64 KiB), in size too, so that its
/// pages hold nothing else and can be made to be wiped in children
/// ([`Slots::wipe_on_fork`]): all zeros is the empty state.
/// (Models of it lie on small stacks.)
#[cfg_attr(not(all(test, loom)), repr(C, align(65536)))]
pub(crate) struct Slots {
    present: AtomicU64,
    slots: [Slot; SLOTS],
}

// SAFETY: `state` is written only by the thread that took `pins` from 0 to
// WRITER, and read only by threads that raised `pins` while WRITER was not set.
unsafe impl Sync for Slots {}

impl Slots {
    pub const fn new() -> Self {
        Self {
            present: AtomicU64::new(0),
            slots: [const {
                Slot {
                    t0: AtomicU64::new(0),
                    n0: AtomicU64::new(0),
                    mult: AtomicU64::new(0),
                    length: AtomicU64::new(0),
                    realtime_ns: AtomicI64::new(0),
                    pins: AtomicU32::new(0),
                    state: UnsafeCell::new(MaybeUninit::zeroed()),
                }
            }; SLOTS],
        }
    }

    fn slot(&self, version: Version) -> &Slot {
        &self.slots[version as usize % SLOTS]
    }

    /// The present piece. What was done with it counts only if
    /// [`Slots::is_present`] says so afterwards.
    #[inline(always)]
    pub fn load(&self) -> Published {
        let version = self.present.load(Ordering::Acquire);
        let slot = self.slot(version);
        Published {
            version,
            t0: slot.t0.load(Ordering::Relaxed),
            n0: slot.n0.load(Ordering::Relaxed),
            mult: slot.mult.load(Ordering::Relaxed),
            length: slot.length.load(Ordering::Relaxed),
            realtime_ns: slot.realtime_ns.load(Ordering::Relaxed),
        }
    }

    /// Whether all that was loaded belongs to `version`, and `version` was the
    /// present one until now.
    #[inline(always)]
    pub fn is_present(&self, version: Version) -> bool {
        fence(Ordering::Acquire);
        self.present.load(Ordering::Relaxed) == version
    }

    /// The whole state; `None` when it is no longer the present one.
    pub fn copy(&self, version: Version) -> Option<State> {
        let slot = self.slot(version);
        slot.pins
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |pins| {
                (pins & WRITER == 0).then_some(pins + 1)
            })
            .ok()?;
        // Pinned, the slot keeps its content; it is the right one if the version
        // is the present one even now.
        let state = (version != 0 && self.is_present(version)).then(|| {
            slot.state.with(|state| {
                // SAFETY: pinned, hence nobody writes it; a version other than 0 was
                // published after its slot had been written.
                unsafe { (*state).assume_init_read() }
            })
        });
        slot.pins.fetch_sub(1, Ordering::Release);
        state
    }

    /// Makes `next` the present state if `version` still is; tells whether it did.
    pub fn replace(&self, version: Version, next: &State) -> bool {
        let renewals = version / SLOTS as u64 + 1;
        for step in 1..SLOTS as u64 {
            let candidate = renewals * SLOTS as u64 + (version + step) % SLOTS as u64;
            let slot = self.slot(candidate);
            let free = slot
                .pins
                .compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
            if !free {
                continue;
            }
            Self::write(slot, next);
            // A pin that stays for as long as it is the present one: nobody takes
            // the present slot, not even for a moment.
            slot.pins.store(1, Ordering::Release);
            let done = self
                .present
                .compare_exchange(version, candidate, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
            if !done {
                slot.pins.fetch_sub(1, Ordering::Release);
            } else if version != 0 {
                self.slot(version).pins.fetch_sub(1, Ordering::Release);
            }
            return done;
        }
        false
    }

    /// As if threads had been stopped with a slot each.
    #[cfg(test)]
    pub fn pin_all(&self) {
        for slot in &self.slots {
            slot.pins.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[cfg(test)]
    fn slot_of_present(&self) -> usize {
        self.present.load(Ordering::Acquire) as usize % SLOTS
    }

    /// The caller holds WRITER.
    fn write(slot: &Slot, next: &State) {
        // A reader that sees one of the stores below also sees, after its own
        // fence, that this slot is no longer the present one.
        fence(Ordering::Release);
        let (t0, n0, mult, length) = match next.mode {
            Mode::Counter => {
                let s = &next.segment;
                (s.t0, s.n0, s.mult, s.length)
            }
            Mode::Kernel(_) => (KERNEL, next.floor_ns, next.next_look_ns, 0),
            Mode::Closing => (CLOSING, next.floor_ns, 0, 0),
        };
        slot.t0.store(t0, Ordering::Relaxed);
        slot.n0.store(n0, Ordering::Relaxed);
        slot.mult.store(mult, Ordering::Relaxed);
        slot.length.store(length, Ordering::Relaxed);
        slot.realtime_ns
            .store(next.realtime.ns(), Ordering::Relaxed);
        slot.state.with_mut(|state| {
            // SAFETY: WRITER keeps everybody else away.
            unsafe { (*state).write(*next) };
        });
    }

    /// Asks the kernel to hand zeroed pages to children of `fork`, whose kernel
    /// clock may be another one (time namespaces). Tells whether it will.
    pub fn wipe_on_fork(&'static self) -> bool {
        // SAFETY: the pages belong to this static alone; the advice changes
        // nothing in this process.
        unsafe {
            libc::madvise(
                std::ptr::from_ref(self).cast_mut().cast(),
                size_of::<Self>(),
                libc::MADV_WIPEONFORK,
            ) == 0
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::discipline::Reason;

    fn numbered(n: u64) -> State {
        let mut state = State::new(Reason::Calibrating, n);
        state.next_look_ns = n;
        state
    }

    #[test]
    fn empty_memory_asks_for_a_start() {
        let slots = Slots::new();
        assert_eq!(slots.load().otherwise(), Otherwise::Start);
        assert_eq!(slots.copy(0), None);
    }

    #[test]
    fn the_first_to_replace_wins() {
        let slots = Slots::new();
        assert!(slots.replace(0, &numbered(1)));
        assert!(!slots.replace(0, &numbered(2)));
        let now = slots.load();
        assert_eq!(slots.copy(now.version), Some(numbered(1)));
        assert_eq!(
            now.otherwise(),
            Otherwise::Kernel {
                floor_ns: 1,
                look_ns: 1
            }
        );
    }

    #[test]
    fn a_pinned_slot_is_not_taken() {
        let slots = Slots::new();
        assert!(slots.replace(0, &numbered(1)));
        let held = slots.load().version;
        slots.slot(held).pins.fetch_add(1, Ordering::Relaxed);
        for n in 2..200 {
            assert!(slots.replace(slots.load().version, &numbered(n)));
            assert_ne!(slots.slot_of_present(), held as usize % SLOTS);
        }
    }

    /// Miri takes a thousand times as long, and tries more orders.
    const READS: u32 = if cfg!(miri) { 50 } else { 50_000 };

    #[test]
    fn many_threads_see_whole_states() {
        let slots = Slots::new();
        assert!(slots.replace(0, &numbered(1)));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut highest = 0;
                    for _ in 0..READS {
                        let now = slots.load();
                        if slots.is_present(now.version) {
                            assert_eq!(now.n0, now.mult, "torn");
                            assert!(now.n0 >= highest, "an old state");
                            highest = now.n0;
                        }
                        if let Some(state) = slots.copy(now.version) {
                            assert_eq!(state.floor_ns, state.next_look_ns, "torn");
                            slots.replace(now.version, &numbered(state.floor_ns + 1));
                        }
                    }
                });
            }
        });
        let last = slots.load();
        assert!(last.n0 > 1 && last.version / SLOTS as u64 == last.n0);
    }
}
