//! Sleeps, and sleepers with a policy and a budget.

use std::ffi::c_int;

use tompion_time::sleep::{self, Budget, Policy};

use crate::border::{Errno, Grows, INVALID, Out, answer, hand_out, object, take_back};

/// How sleepers and tickers wait.
#[repr(C)]
pub enum SleepPolicy {
    /// Sleeps in the kernel with 1 ns of timer slack; never spins. Late by the
    /// wake-up latency, some 5 to 25 us.
    Kernel = 0,
    /// Sleeps in the kernel until a learned margin before the deadline, then
    /// spins, within a budget.
    Hybrid = 1,
    /// Reads the clock until the deadline: a whole CPU.
    Spin = 2,
    /// The published rule of the HighPerTimer library (Kirova et al. 2019), for
    /// comparison: a kernel sleep that ends one scheduler tick early, then
    /// spinning.
    Highpertimer = 3,
    /// A kernel sleep with the thread's default timer slack, as nanosleep().
    System = 4,
}

/// The budget to take unless there is a reason for another one: 10 % of wall time.
pub const TOMPION_BUDGET_DEFAULT: f64 = 0.1;

/// What one sleep did. May grow at its end.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Slept {
    /// Wall time spent spinning before the deadline.
    pub spun_ns: u64,
    /// How long after the deadline the sleep ended, by CLOCK_MONOTONIC.
    pub late_ns: u64,
    /// How long before the deadline the kernel's sleep was to end; 0 where the
    /// policy has no margin.
    pub margin_ns: u64,
    /// 1 where the budget cut the spin, at the price of a later wake-up; else 0.
    pub limited: u64,
}

// SAFETY: four numbers of 64 bits.
unsafe impl Grows for Slept {
    const FIRST_SIZE: usize = 32;
}

impl From<sleep::Slept> for Slept {
    fn from(slept: sleep::Slept) -> Self {
        Self {
            spun_ns: slept.spun_ns,
            late_ns: slept.late_ns,
            margin_ns: slept.margin_ns,
            limited: slept.limited.into(),
        }
    }
}

/// Sleeps by a policy, for one thread, whose wake-up latency it learns. Another
/// thread may take it over; it then learns anew within some dozens of sleeps.
pub struct Sleeper(sleep::Sleeper);

/// The policy with its budget, from the numbers of a caller.
pub(crate) fn policy(number: c_int, budget: f64) -> Result<Policy, Errno> {
    let budget = Budget::share(budget).map_err(|_| INVALID)?;
    [
        (SleepPolicy::Kernel, Policy::Kernel),
        (SleepPolicy::Hybrid, Policy::Hybrid { budget }),
        (SleepPolicy::Spin, Policy::Spin),
        (SleepPolicy::Highpertimer, Policy::HighPerTimer),
        (SleepPolicy::System, Policy::System),
    ]
    .into_iter()
    .find_map(|(theirs, ours)| (theirs as c_int == number).then_some(ours))
    .ok_or(INVALID)
}

/// Sleeps in the kernel for so long, with 1 ns of timer slack; goes on after
/// signals; never spins, never returns early.
///
/// The first sleep of a thread sets its timer slack, which its later sleeps of
/// other kinds and the threads it starts then have too:
/// tompion_restore_timer_slack() takes it back.
///
/// @param duration_ns nanoseconds of CLOCK_MONOTONIC.
/// @return 0.
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_sleep_ns(duration_ns: u64) -> c_int {
    answer(|| {
        sleep::sleep(std::time::Duration::from_nanos(duration_ns));
        Ok(0)
    })
}

/// As tompion_sleep_ns(), until CLOCK_MONOTONIC reads `deadline_ns`; returns at
/// once where that has passed.
///
/// @param deadline_ns on the scale of tompion_now_ns().
/// @return 0.
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_sleep_until_ns(deadline_ns: u64) -> c_int {
    answer(|| {
        sleep::sleep_until_ns(deadline_ns);
        Ok(0)
    })
}

/// Gives the calling thread its default timer slack back, where a sleep of this
/// library took it. The next such sleep takes it again.
///
/// @return 0.
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_restore_timer_slack() -> c_int {
    answer(|| {
        sleep::restore_timer_slack();
        Ok(0)
    })
}

/// A sleeper.
///
/// @param policy a #tompion_sleep_policy.
/// @param budget the largest share of wall time, over any second, that
///   #TOMPION_SLEEP_POLICY_HYBRID may spin: 0 to 1, #TOMPION_BUDGET_DEFAULT for
///   want of a reason. Other policies ignore it, but it must be valid.
/// @return for tompion_sleeper_free(); NULL with `errno` set to EINVAL where an
///   argument is out of range, or to ENOMEM.
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_sleeper_new(policy: c_int, budget: f64) -> *mut Sleeper {
    hand_out(|| Ok(Sleeper(sleep::Sleeper::new(self::policy(policy, budget)?))))
}

/// Sleeps for so long, counted from the call; goes on after signals, never returns
/// early. The timer slack is as of tompion_sleep_ns(), but for
/// #TOMPION_SLEEP_POLICY_SYSTEM and #TOMPION_SLEEP_POLICY_HIGHPERTIMER, which give
/// the thread its default back, and #TOMPION_SLEEP_POLICY_SPIN, which leaves it.
///
/// @param duration_ns nanoseconds of CLOCK_MONOTONIC.
/// @param slept is filled; may be NULL.
/// @param size `sizeof *slept`.
/// @return 0; -EINVAL where `sleeper` is NULL or `size` too small, -E2BIG where
///   `size` is above 4096, both without sleeping.
///
/// [one thread]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tompion_sleeper_sleep_ns(
    sleeper: *mut Sleeper,
    duration_ns: u64,
    slept: *mut Slept,
    size: usize,
) -> c_int {
    let duration = std::time::Duration::from_nanos(duration_ns);
    // SAFETY: the caller's object and memory, as the header asks for.
    unsafe { sleep_by(sleeper, slept, size, |sleeper| sleeper.sleep(duration)) }
}

/// As tompion_sleeper_sleep_ns(), until CLOCK_MONOTONIC reads `deadline_ns`;
/// returns at once where that has passed.
///
/// [one thread]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tompion_sleeper_sleep_until_ns(
    sleeper: *mut Sleeper,
    deadline_ns: u64,
    slept: *mut Slept,
    size: usize,
) -> c_int {
    // SAFETY: the caller's object and memory, as the header asks for.
    unsafe {
        sleep_by(sleeper, slept, size, |sleeper| {
            sleeper.sleep_until_ns(deadline_ns)
        })
    }
}

/// # Safety
/// A sleeper handed out, used by nobody else; `slept` null or valid for writes of
/// `size` bytes.
unsafe fn sleep_by(
    sleeper: *mut Sleeper,
    slept: *mut Slept,
    size: usize,
    wait: impl FnOnce(&mut sleep::Sleeper) -> sleep::Slept,
) -> c_int {
    answer(|| {
        // SAFETY: as promised.
        let (sleeper, out) = unsafe { (object(sleeper)?, Out::wanted(slept, size)?) };
        let slept = wait(&mut sleeper.0);
        if let Some(out) = out {
            out.fill(slept.into());
        }
        Ok(0)
    })
}

/// Frees a sleeper; NULL is allowed.
///
/// [one thread]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tompion_sleeper_free(sleeper: *mut Sleeper) {
    // SAFETY: the caller's object, as the header asks for.
    unsafe { take_back(sleeper) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_its_number() {
        for (number, name) in Policy::NAMES.iter().enumerate() {
            let policy = policy(number as c_int, 0.25).unwrap();
            assert_eq!(policy.name(), *name);
            if let Policy::Hybrid { budget } = policy {
                assert_eq!(budget.as_share(), 0.25);
            }
        }
        for bad in [-1, Policy::NAMES.len() as c_int, c_int::MIN] {
            assert_eq!(policy(bad, 0.1), Err(INVALID));
        }
        for bad in [-0.1, 1.1, f64::NAN] {
            assert_eq!(policy(0, bad), Err(INVALID));
        }
    }

    #[test]
    fn the_default_budget_is_the_crates() {
        assert_eq!(Budget::share(TOMPION_BUDGET_DEFAULT), Ok(Budget::DEFAULT));
    }
}
