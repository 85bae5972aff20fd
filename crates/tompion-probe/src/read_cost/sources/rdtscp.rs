//! RDTSCP.

use tompion_model::{MethodRow, Way};
use tompion_time::counter;

use super::{CLOCK, measured};
use crate::read_cost::{Pairing, ReadSource, Reading};

pub(super) static ENTRY: Reading = Reading {
    row: MethodRow {
        name: "rdtscp",
        about: "the CPU counter by RDTSCP",
        way: Way::Counter,
        usual: Some(0),
        ..CLOCK
    },
    is_available: counter::has_rdtscp,
    sample_divisor: 1,
    measure: |rate, limits| measured(rate, limits, Rdtscp),
};

struct Rdtscp(f64);

impl ReadSource for Rdtscp {
    const PAIRING: Pairing = Pairing::Successive;

    #[inline(always)]
    fn read(&mut self) -> u64 {
        counter::read_rdtscp()
    }

    fn unit_ns(&self) -> f64 {
        self.0
    }
}
