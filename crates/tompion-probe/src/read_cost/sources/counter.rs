//! The bare counter: RDTSC, or the generic timer's count on aarch64.

use tompion_model::{MethodRow, Way};
use tompion_time::counter;

use super::{CLOCK, measured};
use crate::read_cost::{Pairing, ReadSource, Reading};

const ARM: bool = cfg!(target_arch = "aarch64");

pub(super) static ENTRY: Reading = Reading {
    row: MethodRow {
        name: if ARM { "cntvct" } else { "rdtsc" },
        elsewhere: Some(if ARM { "rdtsc" } else { "cntvct" }),
        about: "the bare CPU counter, unordered",
        way: Way::Counter,
        usual: Some(1),
        ..CLOCK
    },
    is_available: || counter::AVAILABLE,
    sample_divisor: 1,
    measure: |rate, limits| measured(rate, limits, BareCounter),
};

struct BareCounter(f64);

impl ReadSource for BareCounter {
    const PAIRING: Pairing = Pairing::Successive;

    #[inline(always)]
    fn read(&mut self) -> u64 {
        counter::read()
    }

    fn unit_ns(&self) -> f64 {
        self.0
    }
}
