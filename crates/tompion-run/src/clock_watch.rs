//! What is read at both ends of a run and after each block: clocks, and how often a quota stopped it.

use std::time::Duration;

use tompion_model::Throttling;
use tompion_store::RunWriter;

use crate::{Bench, Clocks};

/// The clocks side by side through a run.
pub(crate) struct ClockWatch {
    began: Duration,
    first: Clocks,
}

impl ClockWatch {
    pub(crate) fn begin(bench: &mut impl Bench, writer: &mut RunWriter) -> Self {
        let watch = Self {
            began: bench.now(),
            first: bench.clocks(),
        };
        writer.clock_reading(watch.first.since(&watch.first, 0));
        watch
    }

    pub(crate) fn read(&self, bench: &mut impl Bench, writer: &mut RunWriter) {
        let at_ns = (bench.now() - self.began).as_nanos() as u64;
        writer.clock_reading(bench.clocks().since(&self.first, at_ns));
    }
}

/// What was counted between two readings.
pub(crate) fn since(before: Option<Throttling>, after: Option<Throttling>) -> Option<Throttling> {
    let (before, after) = (before?, after?);
    Some(Throttling {
        periods: after.periods.saturating_sub(before.periods),
        throttled_periods: after
            .throttled_periods
            .saturating_sub(before.throttled_periods),
        throttled_ns: after.throttled_ns.saturating_sub(before.throttled_ns),
    })
}
