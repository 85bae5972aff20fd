//! Timer file descriptors, sleeps, epoll and Tompion's ticker.

use std::io;
use std::time::Duration;

use tompion_time::os::{self, ClockId};
use tompion_time::sleep::{self, Budget, Policy, Sleeper, Ticker};

use super::{Mechanism, sys};

#[inline(always)]
pub(super) fn monotonic() -> u64 {
    os::now_ns(ClockId::Monotonic)
}

/// Points of a grid that a timer of the kernel has told of: with each event it
/// says how many passed since the one before.
#[derive(Debug, Default)]
pub(super) struct Told(u64);

impl Told {
    /// Enters an event that stands for `passed` points; says whether it is the one
    /// of `point`, counted from 0, or a later one.
    ///
    /// A point that passed between the event before and the clock read after it has
    /// been counted as missed, and the kernel tells of it now: it is passed over.
    /// An event ahead of the clock is an early one. Past its time the clock alone
    /// decides, so that a kernel that miscounts delays nobody.
    #[inline]
    pub(super) fn reaches(&mut self, passed: u64, point: u64, is_due: impl Fn() -> bool) -> bool {
        self.0 += passed;
        self.0 > point || is_due()
    }
}

/// Periodic on a grid, one-shot when armed again.
pub(super) struct Timerfd {
    timer: sys::TimerFd,
    told: Told,
}

impl Timerfd {
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self {
            timer: sys::TimerFd::open()?,
            told: Told::default(),
        })
    }
}

impl Mechanism for Timerfd {
    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        monotonic()
    }

    fn start(&mut self, first_ns: u64, period_ns: u64) -> io::Result<()> {
        self.told = Told::default();
        self.timer.arm(first_ns, period_ns)
    }

    #[inline(always)]
    fn wait_point(&mut self, point: u64, target_ns: u64) -> io::Result<()> {
        loop {
            let passed = self.timer.wait()?;
            if self
                .told
                .reaches(passed, point, || monotonic() >= target_ns)
            {
                return Ok(());
            }
        }
    }

    #[inline(always)]
    fn rearm(&mut self, target_ns: u64, _period_ns: u64) -> io::Result<()> {
        self.timer.arm(target_ns, 0)?;
        self.timer.wait().map(drop)
    }
}

pub(super) struct ClockNanosleepAbs;

impl Mechanism for ClockNanosleepAbs {
    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        monotonic()
    }

    #[inline(always)]
    fn wait_point(&mut self, _point: u64, target_ns: u64) -> io::Result<()> {
        sys::sleep_until(target_ns)
    }

    #[inline(always)]
    fn rearm(&mut self, target_ns: u64, _period_ns: u64) -> io::Result<()> {
        sys::sleep_until(target_ns)
    }
}

pub(super) struct ClockNanosleepRel;

impl Mechanism for ClockNanosleepRel {
    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        monotonic()
    }

    #[inline(always)]
    fn wait_point(&mut self, _point: u64, target_ns: u64) -> io::Result<()> {
        sys::sleep_for(target_ns.saturating_sub(monotonic()))
    }

    #[inline(always)]
    fn rearm(&mut self, _target_ns: u64, period_ns: u64) -> io::Result<()> {
        sys::sleep_for(period_ns)
    }
}

pub(super) struct Epoll(sys::EpollFd);

impl Epoll {
    pub(super) fn open() -> io::Result<Self> {
        sys::EpollFd::open().map(Self)
    }

    /// Waits for `ahead_ns`, and after a signal for what is left until the target.
    #[inline(always)]
    fn wait(&self, target_ns: u64, ahead_ns: u64) -> io::Result<()> {
        let mut left = ahead_ns;
        while !self.0.wait(left)? {
            left = target_ns.saturating_sub(monotonic());
        }
        Ok(())
    }
}

impl Mechanism for Epoll {
    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        monotonic()
    }

    #[inline(always)]
    fn wait_point(&mut self, _point: u64, target_ns: u64) -> io::Result<()> {
        self.wait(target_ns, target_ns.saturating_sub(monotonic()))
    }

    #[inline(always)]
    fn rearm(&mut self, target_ns: u64, period_ns: u64) -> io::Result<()> {
        self.wait(target_ns, period_ns)
    }
}

/// What the ticker may spin.
pub(super) const TICKER_BUDGET: Budget = Budget::DEFAULT;
const TICKER_POLICY: Policy = Policy::Hybrid {
    budget: TICKER_BUDGET,
};

/// The ticker on a grid; its sleeper where each event arms the next.
pub(super) struct TompionTicker {
    sleeper: Sleeper,
    ticker: Option<Ticker>,
}

impl Default for TompionTicker {
    fn default() -> Self {
        Self {
            sleeper: Sleeper::new(TICKER_POLICY),
            ticker: None,
        }
    }
}

impl Drop for TompionTicker {
    fn drop(&mut self) {
        // Trials set the slack themselves: the library must not remember that
        // this thread's is 1 ns.
        sleep::restore_timer_slack();
    }
}

impl Mechanism for TompionTicker {
    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        monotonic()
    }

    fn start(&mut self, first_ns: u64, period_ns: u64) -> io::Result<()> {
        let period = Duration::from_nanos(period_ns);
        let ticker = Ticker::starting_at_ns(first_ns, period, TICKER_POLICY)
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        self.ticker = Some(ticker);
        Ok(())
    }

    #[inline(always)]
    fn wait_point(&mut self, _point: u64, target_ns: u64) -> io::Result<()> {
        let Some(ticker) = &mut self.ticker else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let period_ns = ticker.period_ns();
        loop {
            // It may tell of a point that passed just before our own clock read
            // and was counted as missed.
            let tick = ticker.tick();
            if tick.scheduled_ns + tick.missed * period_ns >= target_ns {
                return Ok(());
            }
        }
    }

    #[inline(always)]
    fn rearm(&mut self, target_ns: u64, _period_ns: u64) -> io::Result<()> {
        self.sleeper.sleep_until_ns(target_ns);
        Ok(())
    }
}
