//! `CLOCK_MONOTONIC_COARSE` through the C library and the vDSO.

use tompion_model::MethodRow;
use tompion_time::os::ClockId;

use super::{CLOCK, Vdso, measured};
use crate::read_cost::Reading;

pub(super) static ENTRY: Reading = Reading {
    row: MethodRow {
        name: "clock-monotonic-coarse",
        about: "clock_gettime(CLOCK_MONOTONIC_COARSE)",
        is_coarse: true,
        ..CLOCK
    },
    is_available: || true,
    sample_divisor: 1,
    measure: |rate, limits| measured(rate, limits, |_| Vdso(ClockId::MonotonicCoarse)),
};
