//! A fresh thread for each trial, set up as its cell asks.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;
use tompion_model::InvalidValue;

use tompion_time::os;

use crate::{Error, sys};

/// Scheduling policy of the measuring thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    /// `SCHED_OTHER`, what programs have by default.
    #[default]
    Other,
    /// `SCHED_FIFO` with this priority, 1 to 99.
    Fifo(u32),
    /// `SCHED_RR` with this priority, 1 to 99.
    RoundRobin(u32),
}

impl Policy {
    /// Whether threads under it are real-time, hence without timer slack.
    pub fn is_real_time(self) -> bool {
        self != Self::Other
    }

    /// Whether a thread may take it on here.
    pub fn is_available(self) -> bool {
        let settings = ThreadSettings {
            policy: self,
            ..ThreadSettings::default()
        };
        MeasuringThread::start().is_ok_and(|thread| thread.run(settings, || Ok(())).is_ok())
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("other"),
            Self::Fifo(p) => write!(f, "fifo:{p}"),
            Self::RoundRobin(p) => write!(f, "rr:{p}"),
        }
    }
}

impl FromStr for Policy {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong =
            || format!("`{text}` is no scheduling policy; use other, fifo:1..99 or rr:1..99");
        if text == "other" {
            return Ok(Self::Other);
        }
        let (name, priority) = text.split_once(':').ok_or_else(wrong)?;
        let priority = priority
            .parse()
            .ok()
            .filter(|p| (1..=99).contains(p))
            .ok_or_else(wrong)?;
        match name {
            "fifo" => Ok(Self::Fifo(priority)),
            "rr" => Ok(Self::RoundRobin(priority)),
            _ => Err(wrong().into()),
        }
    }
}

/// How the measuring thread is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSettings {
    /// Scheduling policy.
    pub policy: Policy,
    /// Timer slack in nanoseconds under `SCHED_OTHER`; `None` keeps what the
    /// calling thread has.
    pub slack_ns: Option<u64>,
    /// CPU to stay on; `None` leaves the thread free.
    pub cpu: Option<u32>,
}

impl ThreadSettings {
    /// Sets everything, so that nothing of the last trial remains but an
    /// affinity: a run pins all of its trials or none.
    fn apply(&self) -> Result<(), Error> {
        if let Some(cpu) = self.cpu {
            sys::pin_to(cpu).map_err(Error::system(format!(
                "pinning to CPU {cpu} (see /sys/devices/system/cpu/online)"
            )))?;
        }
        let set = |policy, priority| {
            // What is granted to real-time threads does not help one that is to become an ordinary one.
            let takes = match self.policy {
                Policy::Other => {
                    "leaving SCHED_IDLE, under which `chrt --idle` begins programs, takes CAP_SYS_NICE or an \
                     RLIMIT_NICE of 20"
                }
                Policy::Fifo(_) | Policy::RoundRobin(_) => {
                    "needs CAP_SYS_NICE or a higher RLIMIT_RTPRIO, and real-time run time in the CPU cgroup"
                }
            };
            sys::set_policy(policy, priority).map_err(Error::system(format!(
                "scheduling policy {} ({takes})",
                self.policy
            )))
        };
        match self.policy {
            Policy::Other => set(libc::SCHED_OTHER, 0),
            Policy::Fifo(p) => set(libc::SCHED_FIFO, p),
            Policy::RoundRobin(p) => set(libc::SCHED_RR, p),
        }?;
        // After the policy: changing it resets the slack.
        if let Some(ns) = self.slack_ns.filter(|_| !self.policy.is_real_time()) {
            os::set_timer_slack_ns(ns)
                .map_err(Error::system(format!("setting the timer slack to {ns} ns")))?;
        }
        Ok(())
    }
}

/// While it lives, the thread that made it is real-time: it switches loads and
/// starts trials, and under a load of a hundred threads it would otherwise wait
/// hundreds of milliseconds for each step. Measuring threads begin as such and
/// take on their cell's policy before the first sample.
#[derive(Debug)]
pub struct Controller {
    raised: bool,
    slack_ns: Option<u64>,
}

impl Controller {
    /// Raises the calling thread where the system allows it.
    pub fn raise() -> Self {
        const PRIORITY: u32 = 2;
        let slack_ns = os::timer_slack_ns().ok();
        // Threads at the default slack could not be given it again.
        let is_kept = slack_ns.is_some_and(|ns| os::set_timer_slack_ns(ns).is_ok());
        Self {
            slack_ns: slack_ns.filter(|_| is_kept),
            raised: is_kept && sys::set_policy(libc::SCHED_FIFO, PRIORITY).is_ok(),
        }
    }

    /// The thread's timer slack before it was raised, in nanoseconds. Real-time
    /// threads have none, and threads that they start begin with none: a cell at
    /// the default slack must be given this one.
    pub fn default_slack_ns(&self) -> Option<u64> {
        self.slack_ns
    }

    /// Whether the system allowed it.
    pub fn is_raised(&self) -> bool {
        self.raised
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if self.raised {
            // Back to the default, which is always allowed.
            let _ = sys::set_policy(libc::SCHED_OTHER, 0);
            if let Some(ns) = self.slack_ns {
                let _ = os::set_timer_slack_ns(ns);
            }
        }
    }
}

/// A thread that measures one trial after the other.
///
/// It lives as long as its load is on: a new thread waits a whole round of the
/// scheduler under a load of a hundred threads, one that sleeps between trials
/// does not. Every trial sets policy, slack and affinity afresh.
#[derive(Debug)]
pub struct MeasuringThread {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    tid: i32,
    /// Whether it was left in a sleep that nobody waits for.
    abandoned: Cell<bool>,
}

type Job = Box<dyn FnOnce() + Send>;

/// A sleep beyond this is worth interrupting when the user wants to stop.
pub const LONG_SLEEP: Duration = Duration::from_millis(100);

impl MeasuringThread {
    /// Starts the thread; it sleeps until its first trial.
    pub fn start() -> Result<Self, Error> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (started, number) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("tompion-probe".to_owned())
            .spawn(move || {
                // Whoever starts it waits for this.
                let _ = started.send(sys::thread_number());
                queue.into_iter().for_each(|job| job());
            })
            .map_err(Error::system("starting the measuring thread"))?;
        Ok(Self {
            tid: number.recv().map_err(|_| Error::Panicked)?,
            jobs: Some(jobs),
            thread: Some(thread),
            abandoned: Cell::new(false),
        })
    }

    /// Runs `body` on the thread under `settings` and waits for its result.
    pub fn run<T: Send + 'static>(
        &self,
        settings: ThreadSettings,
        body: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let result = self.begin(settings, body)?;
        // A job that panicked dropped its sender.
        result.recv().map_err(|_| Error::Panicked)?
    }

    /// Like [`run`](Self::run), but gives up with [`Error::Stopped`] soon after
    /// `stop` is set, whatever `body` sleeps for: the thread is left behind in its
    /// sleep and must not be used again. Looking for `stop` wakes the caller a few
    /// times a second, so this is for sleeps beyond [`LONG_SLEEP`] alone.
    pub fn run_stoppable<T: Send + 'static>(
        &self,
        settings: ThreadSettings,
        stop: &AtomicBool,
        body: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let result = self.begin(settings, body)?;
        loop {
            match result.recv_timeout(LONG_SLEEP) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Panicked),
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                    self.abandoned.set(true);
                    return Err(Error::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Like [`run`](Self::run), and calls `meanwhile` every `every` on the calling
    /// thread while `body` goes on.
    pub fn run_beside<T: Send + 'static>(
        &self,
        settings: ThreadSettings,
        every: Duration,
        mut meanwhile: impl FnMut(),
        body: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let result = self.begin(settings, body)?;
        loop {
            match result.recv_timeout(every) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Panicked),
                Err(RecvTimeoutError::Timeout) => meanwhile(),
            }
        }
    }

    /// The thread's number, by which the system knows it.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Hands `body` to the thread; its result comes over the channel.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        settings: ThreadSettings,
        body: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<mpsc::Receiver<Result<T, Error>>, Error> {
        let (done, result) = mpsc::sync_channel(1);
        let job = Box::new(move || {
            // The receiver may have given up.
            let _ = done.send(settings.apply().and_then(|()| body()));
        });
        let jobs = self.jobs.as_ref().ok_or(Error::Panicked)?;
        jobs.send(job).map_err(|_| Error::Panicked)?;
        Ok(result)
    }
}

impl Drop for MeasuringThread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take().filter(|_| !self.abandoned.get()) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T: Send + 'static>(
        settings: ThreadSettings,
        body: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        MeasuringThread::start()?.run(settings, body)
    }

    #[test]
    fn one_trial_leaves_nothing_to_the_next() {
        let thread = MeasuringThread::start().unwrap();
        let slack = || Ok(os::timer_slack_ns().unwrap());
        let with = |ns| ThreadSettings {
            slack_ns: Some(ns),
            ..Default::default()
        };
        assert_eq!(thread.run(with(3_333), slack).unwrap(), 3_333);
        assert_eq!(thread.run(with(50_000), slack).unwrap(), 50_000);
    }

    #[test]
    fn a_panic_while_measuring_is_an_error_not_a_hang() {
        let result: Result<(), Error> = run(ThreadSettings::default(), || panic!("planted"));
        assert!(matches!(result, Err(Error::Panicked)));
    }

    #[test]
    fn its_number_is_that_of_the_thread_and_not_of_the_caller() {
        let thread = MeasuringThread::start().unwrap();
        let inside = thread.run(ThreadSettings::default(), || Ok(sys::thread_number()));
        assert_eq!(inside.unwrap(), thread.tid());
        assert_ne!(thread.tid(), sys::thread_number());
    }

    #[test]
    fn something_is_done_beside_a_long_trial() {
        let thread = MeasuringThread::start().unwrap();
        let mut times = 0;
        let body = || {
            std::thread::sleep(Duration::from_millis(300));
            Ok(7)
        };
        let every = Duration::from_millis(10);
        let result = thread.run_beside(ThreadSettings::default(), every, || times += 1, body);
        assert_eq!(result.unwrap(), 7);
        assert!(times >= 2, "{times}");
    }

    #[test]
    fn a_stop_does_not_wait_for_a_long_sleep() {
        let thread = MeasuringThread::start().unwrap();
        let began = std::time::Instant::now();
        let stopped = thread.run_stoppable(ThreadSettings::default(), &true.into(), || {
            std::thread::sleep(Duration::from_secs(3600));
            Ok(())
        });
        assert!(matches!(stopped, Err(Error::Stopped)));
        drop(thread);
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_trial_that_nobody_stops_ends_by_itself() {
        let thread = MeasuringThread::start().unwrap();
        let settings = ThreadSettings::default();
        let slept = thread.run_stoppable(settings, &false.into(), || {
            std::thread::sleep(3 * LONG_SLEEP);
            Ok(7)
        });
        assert_eq!(slept.unwrap(), 7);
    }

    #[test]
    fn policies_round_trip_and_bad_ones_are_named() {
        for text in ["other", "fifo:50", "rr:1"] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
        for bad in ["fifo", "fifo:0", "fifo:100", "idle:3", ""] {
            assert!(
                bad.parse::<Policy>()
                    .unwrap_err()
                    .to_string()
                    .contains("fifo:1..99")
            );
        }
    }

    #[test]
    fn slack_is_set_in_the_measuring_thread_alone() {
        let before = os::timer_slack_ns().unwrap();
        let settings = ThreadSettings {
            slack_ns: Some(7_777),
            ..Default::default()
        };
        let inside = run(settings, || Ok(os::timer_slack_ns().unwrap())).unwrap();
        assert_eq!((inside, os::timer_slack_ns().unwrap()), (7_777, before));
    }

    #[test]
    fn a_raised_controller_does_not_change_what_is_measured() {
        let before = os::timer_slack_ns().unwrap();
        let controller = Controller::raise();
        let settings = ThreadSettings {
            slack_ns: controller.default_slack_ns(),
            ..Default::default()
        };
        let inside = run(settings, || Ok(os::timer_slack_ns().unwrap())).unwrap();
        drop(controller);
        assert_eq!((inside, os::timer_slack_ns().unwrap()), (before, before));
    }

    #[test]
    fn an_absent_cpu_is_one_clear_line() {
        let settings = ThreadSettings {
            cpu: Some(9_999),
            ..Default::default()
        };
        let error = run(settings, || Ok(())).unwrap_err().to_string();
        assert!(error.starts_with("pinning to CPU 9999"), "{error}");
    }
}
