//! `gettimeofday`.

use tompion_model::MethodRow;

use super::{CLOCK, measured};
use crate::read_cost::{Pairing, ReadSource, Reading};
use crate::sys;

pub(super) static ENTRY: Reading = Reading {
    row: MethodRow {
        name: "gettimeofday",
        about: "gettimeofday",
        // It tells microseconds.
        is_coarse: true,
        usual: Some(3),
        ..CLOCK
    },
    is_available: || true,
    sample_divisor: 1,
    measure: |rate, limits| measured(rate, limits, |_| Gettimeofday),
};

struct Gettimeofday;

impl ReadSource for Gettimeofday {
    const PAIRING: Pairing = Pairing::Bracketed;

    #[inline(always)]
    fn read(&mut self) -> u64 {
        sys::gettimeofday_ns()
    }

    fn unit_ns(&self) -> f64 {
        1.0
    }
}
