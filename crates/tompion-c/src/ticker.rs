//! Periodic waking.

use std::ffi::c_int;
use std::time::Duration;

use tompion_time::sleep;

use crate::border::{Errno, Grows, INVALID, Out, answer, hand_out, object, take_back};
use crate::sleep::policy;

/// One waking of a ticker. May grow at its end.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Tick {
    /// Which point of the grid it is, from 0 on; missed ones are counted.
    pub number: u64,
    /// When it was due, on the scale of tompion_now_ns().
    pub scheduled_ns: u64,
    /// How long after that it came.
    pub late_ns: u64,
    /// Missed periods: points of the grid after this one that had passed when it
    /// came. They are not made up for: the next tick's number is
    /// `number + missed + 1`.
    pub missed: u64,
    /// Wall time spent spinning for it.
    pub spun_ns: u64,
    /// 1 where the budget cut the spin; else 0.
    pub limited: u64,
}

// SAFETY: six numbers of 64 bits.
unsafe impl Grows for Tick {
    const FIRST_SIZE: usize = 48;
}

impl From<sleep::Tick> for Tick {
    fn from(tick: sleep::Tick) -> Self {
        Self {
            number: tick.number,
            scheduled_ns: tick.scheduled_ns,
            late_ns: tick.late_ns,
            missed: tick.missed,
            spun_ns: tick.spun_ns,
            limited: tick.limited.into(),
        }
    }
}

/// Wakes at every point of the grid `start + number * period`, which never moves,
/// however late a tick comes or however long the caller works between two.
pub struct Ticker(sleep::Ticker);

/// A ticker whose first tick is due one period from now.
///
/// @param period_ns above 0.
/// @param policy a #tompion_sleep_policy.
/// @param budget as of tompion_sleeper_new().
/// @return for tompion_ticker_free(); NULL with `errno` set to EINVAL where an
///   argument is out of range, or to ENOMEM.
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_ticker_new(period_ns: u64, policy: c_int, budget: f64) -> *mut Ticker {
    let period = Duration::from_nanos(period_ns);
    made(policy, budget, |policy| sleep::Ticker::new(period, policy))
}

/// As tompion_ticker_new(), on the grid that `start_ns` is a point of: the first
/// tick, number 0, is due then or, where that has passed, at the first point ahead.
/// So several threads or programs keep in phase.
///
/// @param start_ns on the scale of tompion_now_ns().
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_ticker_new_at(
    start_ns: u64,
    period_ns: u64,
    policy: c_int,
    budget: f64,
) -> *mut Ticker {
    let period = Duration::from_nanos(period_ns);
    made(policy, budget, |policy| {
        sleep::Ticker::starting_at_ns(start_ns, period, policy)
    })
}

fn made(
    number: c_int,
    budget: f64,
    make: impl FnOnce(sleep::Policy) -> Result<sleep::Ticker, sleep::PeriodError>,
) -> *mut Ticker {
    hand_out(|| -> Result<Ticker, Errno> {
        make(policy(number, budget)?)
            .map(Ticker)
            .map_err(|_| INVALID)
    })
}

/// Waits for the next point of the grid; goes on after signals, never returns
/// early. Where that has passed already, the tick is late and comes at once. Timer
/// slack as of tompion_sleeper_sleep_ns().
///
/// @param tick is filled; may be NULL.
/// @param size `sizeof *tick`.
/// @return 0; -EINVAL where `ticker` is NULL or `size` too small, -E2BIG where
///   `size` is above 4096, both without waiting.
///
/// [one thread]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tompion_ticker_tick(
    ticker: *mut Ticker,
    tick: *mut Tick,
    size: usize,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's object and memory, as the header asks for.
        let (ticker, out) = unsafe { (object(ticker)?, Out::wanted(tick, size)?) };
        let tick = ticker.0.tick();
        if let Some(out) = out {
            out.fill(tick.into());
        }
        Ok(0)
    })
}

/// Frees a ticker; NULL is allowed.
///
/// [one thread]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tompion_ticker_free(ticker: *mut Ticker) {
    // SAFETY: the caller's object, as the header asks for.
    unsafe { take_back(ticker) }
}
