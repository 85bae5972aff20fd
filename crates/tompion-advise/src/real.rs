//! This machine.

mod script;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use tompion_model::View;
use tompion_probe::{Controller, Error, Limits, MeasuringThread, read_cost, wake_up};
use tompion_stats::Distribution;
use tompion_time::os;
use tompion_time::{Clock, Policy, Rate};

use crate::bench::{Bench, BenchError, Figures, Setup};
use crate::knob::Quantity;
pub use script::{ProgramRun, Script};

/// Reads of one trial, at most.
const READS: u64 = 20_000;
/// Rows that a trial keeps, at most.
const ROWS: usize = 1 << 17;
/// Fewer samples say nothing about a trial.
const FEWEST: u64 = 5;
/// How often a trial is made again that brought fewer, and how much longer each time.
const TRIES: u32 = 4;
const LONGER: u32 = 4;
/// How much longer a trial may last that has hardly a sample when its time is up.
const PATIENCE: Duration = Duration::from_secs(1);

/// Trials on this machine, each on a thread of its own.
pub struct RealBench {
    began: Instant,
    rate: Option<Rate>,
    target_ns: u64,
    quantile: f64,
    program: Option<ProgramRun>,
    stop: Arc<AtomicBool>,
    /// Beside a load its thread would wait long for each step.
    _controller: Controller,
}

impl RealBench {
    /// Calibrates the clock, and makes the calling thread real-time where that is
    /// allowed: start loads before. Wake-ups are `target_ns` apart, and a trial brings this
    /// `quantile` of them; `program` is what the preload library is tried with.
    pub fn new(
        target_ns: u64,
        quantile: f64,
        program: Option<ProgramRun>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        /// Brings the rate's error below one part per million.
        const CALIBRATION: Duration = Duration::from_millis(200);
        Clock::init(Policy::Auto);
        Self {
            began: Instant::now(),
            rate: Rate::measure(CALIBRATION).map(|m| m.1),
            target_ns,
            quantile,
            program,
            stop,
            _controller: Controller::raise(),
        }
    }

    fn limits(&self, samples: u64, time: Duration) -> Limits {
        Limits {
            samples,
            time_ns: time.as_nanos() as u64,
            least_samples: FEWEST,
            patience_ns: PATIENCE.as_nanos() as u64,
            rows: ROWS,
            granularity: false,
            stop: Arc::clone(&self.stop),
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn on_thread<T: Send + 'static>(
        &self,
        setup: &Setup,
        measure: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, BenchError> {
        // A new thread each time: none can be unpinned.
        let thread = MeasuringThread::start().map_err(|e| BenchError::Failed(e.to_string()))?;
        thread.run(setup.thread, measure).map_err(|e| match e {
            Error::System { .. } => BenchError::Refused(e.to_string()),
            Error::Stopped => BenchError::Stopped,
            Error::Measuring(_) | Error::Panicked => BenchError::Failed(e.to_string()),
        })
    }

    fn measured(&self, quantity: Quantity, setup: &Setup, time: Duration) -> Measured {
        match quantity {
            Quantity::WakeUp => self.wake_ups(setup, time),
            Quantity::ReadCost => self.reads(setup, time),
            Quantity::ProgramWakeUp => match self.program.clone() {
                // Policy and slack of a program are those of the thread that starts it.
                Some(program) => {
                    let (preload, quantile) = (setup.preload, self.quantile);
                    let target_ns = self.target_ns;
                    self.on_thread(setup, move || {
                        Ok(program.measure(preload, target_ns, quantile, time))
                    })
                    .and_then(|measured| measured)
                }
                None => Err(BenchError::Refused("there is no program to try".to_owned())),
            },
            Quantity::WallClock => Err(BenchError::Refused(
                "how far the wall clock is off cannot be measured here".to_owned(),
            )),
        }
    }

    fn wake_ups(&self, setup: &Setup, time: Duration) -> Measured {
        let method = match setup.hybrid {
            true => wake_up::Method::named("tompion-hybrid"),
            false => wake_up::Method::named("clock-nanosleep-abs"),
        };
        let target_ns = self.target_ns;
        // A grid has no more; memory for rows that never come would take time, too.
        let most = time.as_nanos() as u64 / target_ns.max(1) + FEWEST;
        let limits = self.limits(most, time);
        let outcome =
            self.on_thread(setup, move || wake_up::measure(method, target_ns, &limits))?;
        let taken = outcome.data.distribution(View::Measured);
        // A late wake-up hides the events that should have followed.
        let filled = outcome.data.distribution(View::Filled {
            period_ps: target_ns as i64 * 1000,
        });
        let cpu_ns = outcome.measurement.cpu_per_operation_ns;
        Ok(figures(
            &taken,
            (&filled, self.quantile),
            cpu_ns,
            taken.len(),
        ))
    }

    fn reads(&self, setup: &Setup, time: Duration) -> Measured {
        let (rate, limits) = (self.rate, self.limits(READS, time));
        let method = read_cost::Method::named("clock-monotonic");
        let outcome = self.on_thread(setup, move || read_cost::measure(method, rate, &limits))?;
        let singles = outcome.data.distribution(View::Measured);
        let batches = outcome.data.distribution(View::Batched);
        // Batches have no part of the probe's own reads in them.
        let median = if batches.is_empty() {
            &singles
        } else {
            &batches
        };
        Ok(figures(
            median,
            (&singles, self.quantile),
            None,
            singles.len(),
        ))
    }
}

/// What a trial brought; nothing where it had too few samples.
type Measured = Result<Option<Figures>, BenchError>;

fn figures(
    median: &Distribution,
    (tail, quantile): (&Distribution, f64),
    cpu_ns: Option<f64>,
    samples: u64,
) -> Option<Figures> {
    Some(Figures {
        median_ns: median.quantile(0.5)? / 1e3,
        tail_ns: tail.quantile(quantile)? / 1e3,
        cpu_ns,
        samples,
    })
    .filter(|_| samples >= FEWEST)
}

/// While it lives, all memory of this process is locked.
struct Locked;

impl Locked {
    fn lock() -> Result<Self, BenchError> {
        mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)
            .map(|()| Self)
            .map_err(|e| {
                BenchError::Refused(format!(
                    "needs CAP_IPC_LOCK or a higher limit on locked memory (ulimit -l): {e}"
                ))
            })
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = munlockall();
    }
}

impl Bench for RealBench {
    fn now(&mut self) -> Duration {
        self.began.elapsed()
    }

    fn settle(&mut self, time: Duration) {
        os::sleep(time);
    }

    fn trial(
        &mut self,
        quantity: Quantity,
        setup: &Setup,
        time: Duration,
    ) -> Result<Figures, BenchError> {
        let _locked = setup.locked.then(Locked::lock).transpose()?;
        let mut time = time;
        // To leave such a trial out would leave out the worst.
        for _ in 0..TRIES {
            let measured = self.measured(quantity, setup, time);
            // Half a trial would weigh as much as a whole one.
            if self.stopped() {
                return Err(BenchError::Stopped);
            }
            if let Some(figures) = measured? {
                return Ok(figures);
            }
            time *= LONGER;
        }
        Err(BenchError::Failed(format!(
            "{TRIES} trials brought fewer than {FEWEST} samples: the machine is too busy"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_probe::ThreadSettings;

    const TARGET_NS: u64 = 500_000;

    fn bench() -> RealBench {
        RealBench::new(TARGET_NS, 0.99, None, Arc::default())
    }

    fn with_slack(ns: u64) -> Setup {
        Setup {
            thread: ThreadSettings {
                slack_ns: Some(ns),
                ..ThreadSettings::default()
            },
            ..Setup::default()
        }
    }

    #[test]
    fn a_slack_of_5_ms_is_seen_in_the_median() {
        let mut bench = bench();
        let mut median = |ns| {
            let time = Duration::from_millis(80);
            let trial = bench.trial(Quantity::WakeUp, &with_slack(ns), time);
            trial.unwrap().median_ns
        };
        let (without, with) = (median(1), median(5_000_000));
        assert!(with > without + 1e6, "{without} {with}");
    }

    #[test]
    fn reads_cost_nanoseconds() {
        let time = Duration::from_millis(20);
        let reads = bench().trial(Quantity::ReadCost, &Setup::default(), time);
        let reads = reads.unwrap();
        assert!(
            reads.median_ns > 1.0 && reads.median_ns < 100e3,
            "{reads:?}"
        );
    }

    #[test]
    fn a_stop_drops_the_trial() {
        let stop = Arc::new(AtomicBool::new(true));
        let mut bench = RealBench::new(TARGET_NS, 0.99, None, stop);
        let time = Duration::from_secs(60);
        let stopped = bench.trial(Quantity::WakeUp, &Setup::default(), time);
        assert!(matches!(stopped, Err(BenchError::Stopped)));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_a_refusal() {
        let mut setup = Setup::default();
        setup.thread.cpu = Some(8_000);
        let refused = bench().trial(Quantity::WakeUp, &setup, Duration::from_millis(20));
        assert!(matches!(refused, Err(BenchError::Refused(why)) if why.contains("CPU 8000")));
    }
}
