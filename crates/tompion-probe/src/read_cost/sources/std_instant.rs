//! Rust's `std::time::Instant::now`.

use std::time::Instant;

use tompion_model::MethodRow;

use super::{CLOCK, measured};
use crate::read_cost::{Pairing, ReadSource, Reading};

pub(super) static ENTRY: Reading = Reading {
    row: MethodRow {
        name: "std-instant",
        about: "Rust's std::time::Instant::now",
        usual: Some(1),
        ..CLOCK
    },
    is_available: || true,
    sample_divisor: 1,
    measure: |rate, limits| measured(rate, limits, |_| StdInstant(Instant::now())),
};

struct StdInstant(Instant);

impl ReadSource for StdInstant {
    const PAIRING: Pairing = Pairing::Bracketed;

    #[inline(always)]
    fn read(&mut self) -> u64 {
        // The conversion to a number belongs to reading it.
        Instant::now().duration_since(self.0).as_nanos() as u64
    }

    fn unit_ns(&self) -> f64 {
        1.0
    }
}
