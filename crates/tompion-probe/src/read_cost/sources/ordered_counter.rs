//! The counter after a fence: LFENCE and RDTSC, or ISB and the count.

use tompion_model::{MethodRow, Way};
use tompion_time::counter;

use super::{CLOCK, measured};
use crate::read_cost::{Pairing, ReadSource, Reading};

const ARM: bool = cfg!(target_arch = "aarch64");

pub(super) static ENTRY: Reading = Reading {
    row: MethodRow {
        name: if ARM { "isb-cntvct" } else { "lfence-rdtsc" },
        elsewhere: Some(if ARM { "lfence-rdtsc" } else { "isb-cntvct" }),
        about: "the CPU counter behind a fence",
        way: Way::Counter,
        ..CLOCK
    },
    is_available: || counter::AVAILABLE,
    sample_divisor: 1,
    measure: |rate, limits| measured(rate, limits, OrderedCounter),
};

struct OrderedCounter(f64);

impl ReadSource for OrderedCounter {
    const PAIRING: Pairing = Pairing::Successive;

    #[inline(always)]
    fn read(&mut self) -> u64 {
        counter::read_ordered()
    }

    fn unit_ns(&self) -> f64 {
        self.0
    }
}
