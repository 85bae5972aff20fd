//! Tompion's ticker.

use std::io;
use std::time::Duration;

use tompion_model::{InCheck, MethodRow, Way};
use tompion_time::sleep::{self, Budget, Policy, Sleeper, Ticker};

use super::EVENTS;
use crate::timer_events::{Firing, Mechanism};

pub(super) static ENTRY: Firing = Firing {
    row: MethodRow {
        name: "ticker",
        about: "Tompion's ticker: kernel sleep, then spinning within a budget",
        way: Way::SleepsThenSpins,
        // It sets its own.
        has_slack: false,
        in_check: InCheck::Once,
        ..EVENTS
    },
    spin_budget: Some(BUDGET),
    // It needs nothing special, and a trial of it changes the thread's slack.
    available: || Ok(()),
    trial: |trial| Ok(trial.on(&mut TompionTicker::default())),
    advice: |_| "",
};

const BUDGET: Budget = Budget::DEFAULT;
const TICKER_POLICY: Policy = Policy::Hybrid { budget: BUDGET };

/// The ticker on a grid; its sleeper where each event arms the next.
struct TompionTicker {
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
