//! Whether the counters of several CPUs agree, measured.
//!
//! Two temporary threads, pinned to the CPUs of a pair, first exchange counter
//! values through shared memory, which bounds the difference of the counters as
//! NTP bounds that of two clocks; then both look for backward steps against a
//! common maximum, as the kernel's own check does (Linux
//! `arch/x86/kernel/tsc_sync.c`). Every CPU that the calling thread may run on
//! is paired with the first of them.
//!
//! The threads spin: about a millisecond of two CPUs a pair.
//!
//! ```
//! use tompion_time::agreement::{self, NotMeasured};
//!
//! match agreement::measure(agreement::TIME_LIMIT) {
//!     Ok(found) => println!(
//!         "{} of {} CPUs compared: {}; no two differ by more than {} ticks",
//!         found.covered(),
//!         found.allowed_cpus,
//!         if found.agrees() { "they agree" } else { "they differ" },
//!         found.spread_bound_ticks(),
//!     ),
//!     Err(NotMeasured::OneCpu) => println!("nothing to compare"),
//!     Err(why) => println!("not measured: {why}"),
//! }
//! ```

#[deny(unsafe_code)]
mod exchange;
#[deny(unsafe_code)]
mod not_measured;
#[deny(unsafe_code)]
mod pair;
mod sys;

use std::time::Duration;

use crate::counter;
use crate::evidence::{self, CounterAccess};
use crate::os::{self, ClockId};

pub use exchange::Warps;
pub use not_measured::NotMeasured;
pub use pair::PairOffset;

/// The usual bound of [`measure`]'s running time, enough for about 80 CPUs.
pub const TIME_LIMIT: Duration = Duration::from_millis(100);

/// The counters of several CPUs, compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The CPU against which the others were measured.
    pub reference_cpu: usize,
    /// The CPUs that the calling thread may run on.
    pub allowed_cpus: usize,
    /// The measured ones, but for the reference.
    pub pairs: Vec<PairOffset>,
    /// Those of which nothing is known: time was up, or they did not get to
    /// run, or no longer may be used.
    pub not_covered: Vec<usize>,
}

impl Agreement {
    /// CPUs compared, the reference among them.
    pub fn covered(&self) -> usize {
        self.pairs.len() + 1
    }

    /// Whether every allowed CPU was compared.
    pub fn is_complete(&self) -> bool {
        self.not_covered.is_empty()
    }

    /// The largest offset beyond its uncertainty, in ticks.
    pub fn worst_excess_ticks(&self) -> u64 {
        self.pairs
            .iter()
            .map(PairOffset::excess_ticks)
            .max()
            .unwrap_or(0)
    }

    /// The largest difference between any two covered counters that the
    /// measurement cannot exclude, in ticks.
    pub fn spread_bound_ticks(&self) -> u64 {
        // The reference itself stands at 0, exactly.
        let ends = |p: &PairOffset| {
            let (at, by) = (i128::from(p.offset_ticks), i128::from(p.uncertainty_ticks));
            (at - by, at + by)
        };
        let (low, high) = self
            .pairs
            .iter()
            .map(ends)
            .fold((0, 0), |(l, h), (low, high)| (l.min(low), h.max(high)));
        u64::try_from(high - low).unwrap_or(u64::MAX)
    }

    /// Backward steps of all pairs together.
    pub fn warps(&self) -> Warps {
        self.pairs
            .iter()
            .fold(Warps::default(), |sum, p| sum.and(p.warps))
    }

    /// Whether nothing speaks against one common counter: no offset beyond its
    /// uncertainty, none that changed, no backward step. Says nothing of the
    /// CPUs that were not covered.
    pub fn agrees(&self) -> bool {
        self.worst_excess_ticks() == 0
            && self.pairs.iter().all(|p| p.steady)
            && self.warps().backward_steps == 0
    }
}

/// Compares the counters of the CPUs that the calling thread may run on, for at
/// most about `limit`; CPUs that are then left are reported as not covered.
///
/// A pair in progress is finished, which takes 1 ms. On busy CPUs the kernel may
/// let the threads wait for their turn to end, beyond any limit of ours.
///
/// # Errors
/// When not a single pair was measured: the reason.
pub fn measure(limit: Duration) -> Result<Agreement, NotMeasured> {
    if !counter::AVAILABLE {
        return Err(NotMeasured::NoCounter);
    }
    // Before any clock is read: that would raise the same signal.
    if evidence::counter_access() == CounterAccess::Refused {
        return Err(NotMeasured::CounterRefused);
    }
    let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    let deadline_ns = os::now_ns(ClockId::Monotonic).saturating_add(limit_ns);
    let cpus = sys::allowed_cpus().map_err(NotMeasured::CpusUnknown)?;
    let [reference_cpu, others @ ..] = cpus.as_slice() else {
        return Err(NotMeasured::OneCpu);
    };
    if others.is_empty() {
        return Err(NotMeasured::OneCpu);
    }
    let mut found = Agreement {
        reference_cpu: *reference_cpu,
        allowed_cpus: cpus.len(),
        pairs: Vec::with_capacity(others.len()),
        not_covered: Vec::new(),
    };
    let mut why = NotMeasured::NoTime;
    for cpu in others {
        match pair::measure(*reference_cpu, *cpu, deadline_ns) {
            Ok(offset) => found.pairs.push(offset),
            Err(reason) => {
                why = reason;
                found.not_covered.push(*cpu);
            }
        }
    }
    if found.pairs.is_empty() {
        Err(why)
    } else {
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(offset_ticks: i64, uncertainty_ticks: u64) -> PairOffset {
        PairOffset {
            cpu: 1,
            offset_ticks,
            uncertainty_ticks,
            steady: true,
            exchanges: 1,
            warps: Warps::default(),
        }
    }

    fn of(pairs: &[PairOffset]) -> Agreement {
        Agreement {
            reference_cpu: 0,
            allowed_cpus: pairs.len() + 1,
            pairs: pairs.to_vec(),
            not_covered: Vec::new(),
        }
    }

    #[test]
    fn offsets_within_their_uncertainty_agree() {
        let found = of(&[pair(-80, 100), pair(100, 100), pair(0, 50)]);
        assert!(found.agrees());
        assert_eq!(found.worst_excess_ticks(), 0);
        // -180 on one side, 200 on the other.
        assert_eq!(found.spread_bound_ticks(), 380);
        assert_eq!(found.covered(), 4);
    }

    #[test]
    fn one_unequal_cpu_is_enough_to_disagree() {
        let found = of(&[pair(3, 100), pair(-5_000, 100), pair(150, 100)]);
        assert_eq!(found.worst_excess_ticks(), 4_900);
        assert!(!found.agrees());
        assert_eq!(found.spread_bound_ticks(), 5_350);
    }

    #[test]
    fn a_backward_step_or_a_changing_offset_disagrees_alone() {
        let unsteady = PairOffset {
            steady: false,
            ..pair(0, 100)
        };
        assert!(!of(&[pair(0, 100), unsteady]).agrees());
        let mut warped = pair(0, 100);
        warped.warps.observe(50, 40);
        assert!(!of(&[warped]).agrees());
    }

    #[test]
    fn extreme_offsets_do_not_overflow() {
        let found = of(&[pair(i64::MIN, u64::MAX), pair(i64::MAX, u64::MAX)]);
        assert_eq!(found.spread_bound_ticks(), u64::MAX);
        assert_eq!(found.worst_excess_ticks(), 0);
        assert_eq!(of(&[pair(i64::MIN, 0)]).worst_excess_ticks(), 1 << 63);
    }

    #[test]
    fn a_thread_on_one_cpu_is_told_so() {
        std::thread::spawn(|| {
            let cpus = sys::allowed_cpus().unwrap();
            sys::pin(cpus[0]).unwrap();
            assert_eq!(measure(TIME_LIMIT), Err(NotMeasured::OneCpu));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn without_time_nothing_is_claimed() {
        if sys::allowed_cpus().unwrap().len() > 1 && counter::AVAILABLE {
            assert_eq!(measure(Duration::ZERO), Err(NotMeasured::NoTime));
        }
    }

    #[test]
    fn the_cpus_of_this_machine_are_compared() {
        let cpus = sys::allowed_cpus().unwrap();
        let enough = cpus.len() > 1 && counter::AVAILABLE;
        // Where other work holds the CPUs a try may fail.
        let found = (0..50).find_map(|_| measure(TIME_LIMIT).ok());
        assert_eq!(found.is_some(), enough);
        if let Some(found) = found {
            assert_eq!(found.allowed_cpus, cpus.len());
            assert_eq!(found.covered() + found.not_covered.len(), cpus.len());
            let in_use = evidence::Evidence::gather().clocksources.standing();
            if in_use == evidence::Standing::InUse {
                assert!(found.agrees(), "{found:?}");
            }
        }
        // The threads were pinned, not we.
        assert_eq!(sys::allowed_cpus().unwrap(), cpus);
    }
}
