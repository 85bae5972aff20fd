//! The kernel's clock between two reads of the counter.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::counter;

/// Brackets tried for one anchor, until one is about as narrow as they get.
const TRIES: usize = 6;

/// One reading of the kernel's clock, and the counter before and after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bracket {
    pub before: u64,
    pub ns: u64,
    pub after: u64,
}

impl Bracket {
    fn take(kernel_ns: &impl Fn() -> u64) -> Self {
        let before = counter::read_ordered();
        let ns = kernel_ns();
        Self {
            before,
            ns,
            after: counter::read_closing(),
        }
    }

    pub fn width_ticks(&self) -> u64 {
        self.after.wrapping_sub(self.before)
    }
}

/// Takes brackets, and remembers how narrow they get on this machine.
pub(crate) struct Brackets {
    /// The narrowest seen lately, in ticks.
    narrow: AtomicU64,
}

impl Brackets {
    pub const fn new() -> Self {
        Self {
            narrow: AtomicU64::new(u64::MAX),
        }
    }

    /// The narrowest of a few brackets; the first that is about as narrow as they
    /// get.
    pub fn narrowest(&self, kernel_ns: impl Fn() -> u64) -> Bracket {
        let usual = self.narrow.load(Ordering::Relaxed);
        let mut best = Bracket::take(&kernel_ns);
        for _ in 1..TRIES {
            if usual != u64::MAX && best.width_ticks() / 2 <= usual {
                break;
            }
            let again = Bracket::take(&kernel_ns);
            if again.width_ticks() < best.width_ticks() {
                best = again;
            }
        }
        let seen = best.width_ticks();
        // Towards wider ones slowly: the machine may have become slower.
        let usual = if seen < usual {
            seen
        } else {
            usual.saturating_add(usual / 16 + 1).min(seen)
        };
        self.narrow.store(usual, Ordering::Relaxed);
        best
    }
}
