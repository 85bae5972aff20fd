//! Tompion's own clock.

use tompion_model::{InCheck, MethodRow, Way};
use tompion_time::Instant;

use super::{CLOCK, measured};
use crate::read_cost::{Pairing, ReadSource, Reading};

pub(super) static ENTRY: Reading = Reading {
    row: MethodRow {
        name: "tompion",
        about: "Tompion's clock: the counter converted to nanoseconds",
        way: Way::OwnClock,
        usual: Some(2),
        in_check: InCheck::Always,
        ..CLOCK
    },
    is_available: || true,
    sample_divisor: 1,
    measure: |rate, limits| measured(rate, limits, |_| Tompion),
};

struct Tompion;

impl ReadSource for Tompion {
    const PAIRING: Pairing = Pairing::Bracketed;

    #[inline(always)]
    fn read(&mut self) -> u64 {
        Instant::now().as_nanos()
    }

    fn unit_ns(&self) -> f64 {
        1.0
    }
}
