//! How much of the CPUs' time quota and other programs took, and for how long at once.

use tompion_cause::Cause;

use super::programs::{WORTH_SAYING, names};
use super::seen::Seen;
use super::taken::Taken;
use super::taker::Taker;

/// What a CPU quota took; nothing where it was never used up.
pub(super) fn quota(seen: &Seen<'_>) -> Option<Taker> {
    let felt = seen.throttling.filter(|t| t.throttled_periods > 0)?;
    let period_us = seen.environment.cgroup.period_us;
    Some(Taker {
        share: felt.throttled_periods as f64 / felt.periods.max(1) as f64,
        longest_ns: period_us.map(|us| us.saturating_mul(1_000)),
    })
}

/// What other programs took, with the names of those that took most; nothing where it is not worth saying.
pub(super) fn programs(seen: &Seen<'_>) -> Option<(Taker, Vec<String>)> {
    let cpu_use = seen.cpu_use()?;
    let share = cpu_use.share(cpu_use.programs_ns);
    let (_, stalls) = seen.stalls();
    let preempted = Taken::by(&stalls, &[Cause::Preempted]);
    // A loop that had its CPU to itself does not tell how long others wait.
    let shared_its_cpu = preempted.share() >= share / 2.0;
    let taker = Taker {
        share: share.max(preempted.share()),
        longest_ns: shared_its_cpu.then_some(preempted.longest_ns),
    };
    (share > WORTH_SAYING).then(|| (taker, names(&cpu_use)))
}
