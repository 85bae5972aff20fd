//! `CLOCK_MONOTONIC_RAW` through the C library and the vDSO.

use tompion_model::MethodRow;
use tompion_time::os::ClockId;

use super::{CLOCK, Vdso, measured};
use crate::read_cost::Reading;

pub(super) static ENTRY: Reading = Reading {
    row: MethodRow {
        name: "clock-monotonic-raw",
        about: "clock_gettime(CLOCK_MONOTONIC_RAW)",
        usual: Some(6),
        ..CLOCK
    },
    is_available: || true,
    sample_divisor: 1,
    measure: |rate, limits| measured(rate, limits, |_| Vdso(ClockId::MonotonicRaw)),
};
