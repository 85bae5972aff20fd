//! `CLOCK_MONOTONIC` through the C library and the vDSO.

use tompion_model::{InCheck, MethodRow};
use tompion_time::os::ClockId;

use super::{CLOCK, Vdso, measured};
use crate::read_cost::Reading;

pub(super) static ENTRY: Reading = Reading {
    row: MethodRow {
        name: "clock-monotonic",
        about: "clock_gettime(CLOCK_MONOTONIC)",
        usual: Some(0),
        in_check: InCheck::Always,
        ..CLOCK
    },
    is_available: || true,
    sample_divisor: 1,
    measure: |rate, limits| measured(rate, limits, |_| Vdso(ClockId::Monotonic)),
};
