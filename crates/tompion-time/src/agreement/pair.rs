//! Two pinned threads that compare their counters.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::thread;

use super::exchange::{Bounds, Exchange, Warps};
use super::not_measured::NotMeasured;
use super::sys;
use crate::counter;
use crate::os::{self, ClockId};

/// How long the exchanges take; at 0.2 us each some two thousand.
const EXCHANGE_NS: u64 = 500_000;
/// How long both look for backward steps.
const WARP_NS: u64 = 500_000;
/// How long the threads may take to get onto their CPUs.
const SETUP_NS: u64 = 10_000_000;
/// Spins between looks at the clock, which would lengthen the round trips.
const SPINS: u32 = 256;
/// Turns between looks at the clock while looking for backward steps.
const TURNS: u32 = 32;
/// Looks at the common maximum before a CPU takes its next turn alone.
const PATIENCE: u32 = 400;
/// The number that ends the exchanges.
const END: u64 = u64::MAX;

/// One CPU's counter against that of the reference CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairOffset {
    /// The kernel's number of the CPU.
    pub cpu: usize,
    /// How far its counter is ahead (positive) or behind, in ticks.
    pub offset_ticks: i64,
    /// The true offset is at most this far from `offset_ticks`: half of the
    /// shortest round trip.
    pub uncertainty_ticks: u64,
    /// Whether one constant offset explains every exchange. If not, a counter
    /// jumped, or the two run at different rates.
    pub steady: bool,
    /// Exchanges made.
    pub exchanges: u64,
    /// Backward steps seen between the two CPUs.
    pub warps: Warps,
}

impl PairOffset {
    /// By how much the offset is beyond its uncertainty, in ticks: 0 when the
    /// counters may be equal.
    pub fn excess_ticks(&self) -> u64 {
        self.offset_ticks
            .unsigned_abs()
            .saturating_sub(self.uncertainty_ticks)
    }
}

/// A message: the value is complete once the number has changed. Alone in its
/// cache lines (two, for CPUs that fetch pairs).
#[derive(Default)]
#[repr(align(128))]
struct Line {
    number: AtomicU64,
    value: AtomicU64,
}

impl Line {
    fn send(&self, number: u64, value: u64) {
        self.value.store(value, Ordering::Relaxed);
        self.number.store(number, Ordering::Release);
    }
}

#[derive(Default)]
struct Shared {
    ping: Line,
    pong: Line,
    /// Its value is the highest counter value published.
    highest: Line,
    arrived: AtomicU32,
    given_up: AtomicBool,
    pinning_error: AtomicI32,
}

impl Shared {
    /// Spins until `ready` gives something; `None` when time is up or the other
    /// thread gave up.
    fn wait<T>(&self, until_ns: u64, ready: impl Fn() -> Option<T>) -> Option<T> {
        loop {
            for _ in 0..SPINS {
                if let Some(value) = ready() {
                    return Some(value);
                }
            }
            if self.given_up.load(Ordering::Relaxed) || now_ns() > until_ns {
                self.given_up.store(true, Ordering::Relaxed);
                return None;
            }
        }
    }

    /// Gets onto the CPU and waits for the other thread to do so.
    fn arrive(&self, cpu: usize, until_ns: u64) -> Option<()> {
        sys::block_signals();
        if let Err(errno) = sys::pin(cpu) {
            self.pinning_error.store(errno, Ordering::Relaxed);
            self.given_up.store(true, Ordering::Relaxed);
            return None;
        }
        self.arrived.fetch_add(1, Ordering::AcqRel);
        self.wait(until_ns, || {
            (self.arrived.load(Ordering::Acquire) == 2).then_some(())
        })
    }

    /// The reference CPU's part. Returns what it found even when the other
    /// thread was lost on the way.
    fn lead(&self, read: impl Fn() -> u64, until_ns: u64) -> (Bounds, Warps) {
        let mut bounds = Bounds::default();
        let exchange_until_ns = now_ns().saturating_add(EXCHANGE_NS);
        for number in 1.. {
            let sent = read();
            // The value is sent along so that the read cannot come after.
            self.ping.send(number, sent);
            let answer = self.wait(until_ns, || {
                (self.pong.number.load(Ordering::Acquire) == number)
                    .then(|| self.pong.value.load(Ordering::Relaxed))
            });
            let received = read();
            let Some(remote) = answer else {
                return (bounds, Warps::default());
            };
            // The first exchanges fetch code and data.
            if number > 4 {
                bounds.add(Exchange {
                    sent,
                    remote,
                    received,
                });
            }
            if now_ns() > exchange_until_ns {
                break;
            }
        }
        let warp_until_ns = now_ns().saturating_add(WARP_NS);
        self.ping.send(END, warp_until_ns);
        (bounds, self.look_for_warps(read, warp_until_ns))
    }

    /// The other CPU's part.
    fn follow(&self, read: impl Fn() -> u64, until_ns: u64) -> Warps {
        let mut last = 0;
        loop {
            let Some(number) = self.wait(until_ns, || {
                let number = self.ping.number.load(Ordering::Acquire);
                (number != last).then_some(number)
            }) else {
                return Warps::default();
            };
            if number == END {
                let warp_until_ns = self.ping.value.load(Ordering::Relaxed);
                return self.look_for_warps(read, warp_until_ns);
            }
            self.pong.send(number, read());
            last = number;
        }
    }

    fn look_for_warps(&self, read: impl Fn() -> u64, until_ns: u64) -> Warps {
        let highest = &self.highest.value;
        let mut warps = Warps::default();
        // Nothing published yet is nothing to compare with.
        let mut mine = read();
        let _ = highest.compare_exchange(0, mine, Ordering::AcqRel, Ordering::Relaxed);
        loop {
            for _ in 0..TURNS {
                let maximum = highest.load(Ordering::Acquire);
                let now = read();
                warps.observe(maximum, now);
                warps.crossings += u64::from(maximum != mine);
                mine = now;
                highest.fetch_max(now, Ordering::AcqRel);
                // The CPU that owns the cache line would else keep it, and
                // compare with nobody but itself.
                for _ in 0..PATIENCE {
                    if highest.load(Ordering::Relaxed) != now {
                        break;
                    }
                }
            }
            if now_ns() > until_ns {
                return warps;
            }
        }
    }
}

fn now_ns() -> u64 {
    os::now_ns(ClockId::Monotonic)
}

/// Compares the counter of `cpu` with that of `reference`.
pub(super) fn measure(
    reference: usize,
    cpu: usize,
    deadline_ns: u64,
) -> Result<PairOffset, NotMeasured> {
    measure_with(
        reference,
        cpu,
        deadline_ns,
        counter::read_ordered,
        counter::read_ordered,
    )
}

/// As [`measure`], with each CPU's counter given as an ordered read.
fn measure_with(
    reference: usize,
    cpu: usize,
    deadline_ns: u64,
    read_reference: impl Fn() -> u64 + Send,
    read_other: impl Fn() -> u64 + Send,
) -> Result<PairOffset, NotMeasured> {
    let now = now_ns();
    if now >= deadline_ns {
        return Err(NotMeasured::NoTime);
    }
    let setup_until = now.saturating_add(SETUP_NS).min(deadline_ns);
    let until = setup_until.saturating_add(EXCHANGE_NS + WARP_NS);
    let shared = Shared::default();
    let thread = || {
        thread::Builder::new()
            .name("tompion-compare".into())
            .stack_size(128 << 10)
    };
    let ((bounds, ours), theirs) = thread::scope(|scope| {
        let other = thread()
            .spawn_scoped(scope, || {
                shared.arrive(cpu, setup_until)?;
                Some(shared.follow(read_other, until))
            })
            .map_err(|_| NotMeasured::NoThread)?;
        let lead = thread().spawn_scoped(scope, || {
            shared.arrive(reference, setup_until)?;
            Some(shared.lead(read_reference, until))
        });
        let Ok(lead) = lead else {
            shared.given_up.store(true, Ordering::Relaxed);
            return Err(NotMeasured::NoThread);
        };
        let lead = lead.join().ok().flatten();
        let other = other.join().ok().flatten();
        match shared.pinning_error.load(Ordering::Relaxed) {
            0 => Ok((lead.unwrap_or_default(), other.unwrap_or_default())),
            errno => Err(NotMeasured::PinningRefused(errno)),
        }
    })?;
    let (offset_ticks, uncertainty_ticks) = bounds.estimate().ok_or(NotMeasured::NoTime)?;
    Ok(PairOffset {
        cpu,
        offset_ticks,
        uncertainty_ticks,
        steady: bounds.steady(),
        exchanges: bounds.count(),
        warps: ours.and(theirs),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures the first two CPUs with a counter of the second that is changed
    /// by `plant`; `None` where there are not two.
    fn planted(plant: impl Fn(u64) -> u64 + Send + Sync) -> Option<PairOffset> {
        let cpus = sys::allowed_cpus().unwrap();
        if cpus.len() < 2 || !counter::AVAILABLE {
            return None;
        }
        // Where other work holds the CPUs a try may fail, or meet too rarely.
        let found = (0..50).find_map(|_| {
            measure_with(
                cpus[0],
                cpus[1],
                now_ns() + 100_000_000,
                counter::read_ordered,
                || plant(counter::read_ordered()),
            )
            .ok()
            .filter(|p| p.warps.crossings > 100)
        });
        Some(found.expect("two CPUs that run at the same time"))
    }

    const OFFSET: u64 = 1 << 33;

    #[test]
    fn a_planted_offset_is_found_to_within_the_uncertainty() {
        let (Some(real), Some(ahead)) = (planted(|t| t), planted(|t| t.wrapping_add(OFFSET)))
        else {
            return;
        };
        let found = ahead.offset_ticks - real.offset_ticks;
        let allowed = real.uncertainty_ticks + ahead.uncertainty_ticks;
        assert!(found.abs_diff(OFFSET as i64) <= allowed, "{ahead:?}");
        assert!(
            ahead.excess_ticks() > OFFSET / 2 && ahead.steady,
            "{ahead:?}"
        );
        assert!(ahead.warps.backward_steps > 0, "{ahead:?}");
        let largest = ahead.warps.largest_ticks;
        assert!(largest.abs_diff(OFFSET) < OFFSET / 2, "{ahead:?}");
    }

    #[test]
    fn a_counter_behind_is_found_too() {
        if let Some(behind) = planted(|t| t.wrapping_sub(OFFSET)) {
            assert!(behind.offset_ticks < -(OFFSET as i64) / 2, "{behind:?}");
            assert!(behind.warps.backward_steps > 0, "{behind:?}");
        }
    }

    #[test]
    fn a_counter_at_another_rate_is_not_steady() {
        // Twice as fast: 2^20 ticks or more apart after half a millisecond.
        if let Some(fast) = planted(|t| t.wrapping_mul(2)) {
            assert!(!fast.steady, "{fast:?}");
        }
    }

    #[test]
    fn a_cpu_that_does_not_exist_cannot_be_pinned_to() {
        let first = sys::allowed_cpus().unwrap()[0];
        let none = measure(first, 8191, now_ns() + 1_000_000_000);
        assert_eq!(none, Err(NotMeasured::PinningRefused(libc::EINVAL)));
    }
}
