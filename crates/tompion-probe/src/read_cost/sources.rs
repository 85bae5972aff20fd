//! The clocks that are read, and the two brackets.

use tompion_time::os::{self, ClockId};
use tompion_time::{Instant, Rate, counter};

use super::{Bracket, Pairing, ReadSource};
use crate::sys;

macro_rules! source {
    ($name:ident $(($field:ty))?, $pairing:ident, $unit:expr, |$this:ident| $read:expr) => {
        pub(super) struct $name $((pub(super) $field))?;

        impl ReadSource for $name {
            const PAIRING: Pairing = Pairing::$pairing;

            #[inline(always)]
            fn read(&mut self) -> u64 {
                let $this = self;
                $read
            }

            fn unit_ns(&self) -> f64 {
                let f: fn(&Self) -> f64 = $unit;
                f(self)
            }
        }
    };
}

source!(BareCounter(f64), Successive, |s| s.0, |_s| counter::read());
#[cfg(target_arch = "x86_64")]
source!(Rdtscp(f64), Successive, |s| s.0, |_s| counter::read_rdtscp(
));
source!(OrderedCounter(f64), Successive, |s| s.0, |_s| {
    counter::read_ordered()
});
source!(Tompion, Bracketed, |_| 1.0, |_s| Instant::now().as_nanos());
source!(Vdso(ClockId), Bracketed, |_| 1.0, |s| os::now_ns(s.0));
source!(Syscall(ClockId), Bracketed, |_| 1.0, |s| {
    os::now_ns_by_syscall(s.0)
});
source!(Gettimeofday, Bracketed, |_| 1.0, |_s| sys::gettimeofday_ns(
));

pub(super) struct StdInstant(std::time::Instant);

impl StdInstant {
    pub(super) fn new() -> Self {
        Self(std::time::Instant::now())
    }
}

impl ReadSource for StdInstant {
    const PAIRING: Pairing = Pairing::Bracketed;

    #[inline(always)]
    fn read(&mut self) -> u64 {
        // The conversion to a number belongs to reading it.
        std::time::Instant::now().duration_since(self.0).as_nanos() as u64
    }

    fn unit_ns(&self) -> f64 {
        1.0
    }
}

/// Brackets by the CPU counter, ordered on both sides.
pub(super) struct CounterBracket(pub(super) Rate);

impl Bracket for CounterBracket {
    #[inline(always)]
    fn open(&self) -> u64 {
        counter::read_closing()
    }

    #[inline(always)]
    fn close(&self) -> u64 {
        counter::read_closing()
    }

    #[inline(always)]
    fn ps(&self, ticks: u64) -> u64 {
        self.0.ps(ticks)
    }

    fn hz(&self) -> f64 {
        self.0.hz()
    }

    fn name(&self) -> &'static str {
        "CPU counter (ordered)"
    }
}

/// Brackets by `CLOCK_MONOTONIC_RAW` where no counter can be read.
pub(super) struct KernelBracket;

impl Bracket for KernelBracket {
    #[inline(always)]
    fn open(&self) -> u64 {
        os::now_ns(ClockId::MonotonicRaw)
    }

    #[inline(always)]
    fn close(&self) -> u64 {
        os::now_ns(ClockId::MonotonicRaw)
    }

    #[inline(always)]
    fn ps(&self, ticks: u64) -> u64 {
        ticks * 1000
    }

    fn hz(&self) -> f64 {
        1e9
    }

    fn name(&self) -> &'static str {
        "CLOCK_MONOTONIC_RAW"
    }
}
