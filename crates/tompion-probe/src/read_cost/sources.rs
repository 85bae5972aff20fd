//! The clocks that are read, one file each.

use tompion_model::MethodRow;
use tompion_time::Rate;
use tompion_time::os::{self, ClockId};

use super::brackets::{CounterBracket, KernelBracket};
use super::{Bracket, NAME, Pairing, ReadSource, Reading, run};
use crate::{Error, Limits, Outcome};

tompion_model::entries! {
    /// All that this architecture has, in the order in which they are shown.
    pub(super) static ALL: [Reading] =
        counter,
        #[cfg(target_arch = "x86_64")]
        rdtscp,
        ordered_counter,
        tompion,
        std_instant,
        clock_monotonic,
        clock_monotonic_raw,
        clock_realtime,
        clock_monotonic_coarse,
        clock_boottime,
        clock_tai,
        gettimeofday,
        syscall,
}

/// What an entry says of itself, but for what it says otherwise.
const CLOCK: MethodRow = MethodRow {
    probe: NAME,
    ..MethodRow::CLOCK
};

/// Measures a source between the brackets that there are; `source` is told what a tick of
/// them takes, in nanoseconds.
fn measured<S: ReadSource>(
    rate: Option<Rate>,
    limits: &Limits,
    source: impl Fn(f64) -> S,
) -> Result<Outcome, Error> {
    match rate.map(CounterBracket) {
        Some(bracket) => run(&mut source(1e9 / bracket.hz()), &bracket, limits),
        None => run(
            &mut source(1e9 / KernelBracket.hz()),
            &KernelBracket,
            limits,
        ),
    }
}

/// `clock_gettime` through the C library and the vDSO.
struct Vdso(ClockId);

impl ReadSource for Vdso {
    const PAIRING: Pairing = Pairing::Bracketed;

    #[inline(always)]
    fn read(&mut self) -> u64 {
        os::now_ns(self.0)
    }

    fn unit_ns(&self) -> f64 {
        1.0
    }
}
