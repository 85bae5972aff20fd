//! A fresh thread for each trial, set up as its cell asks.

use std::fmt;
use std::str::FromStr;
use std::sync::mpsc;

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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
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
            _ => Err(wrong()),
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
    fn apply(&self) -> Result<(), Error> {
        if let Some(cpu) = self.cpu {
            sys::pin_to(cpu).map_err(Error::system(format!(
                "pinning to CPU {cpu} (see /sys/devices/system/cpu/online)"
            )))?;
        }
        let set = |policy, priority| {
            sys::set_policy(policy, priority).map_err(Error::system(format!(
                "scheduling policy {} (needs CAP_SYS_NICE or a higher RLIMIT_RTPRIO, and real-time \
                 run time in the CPU cgroup)",
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
        Self {
            slack_ns,
            raised: sys::set_policy(libc::SCHED_FIFO, PRIORITY).is_ok(),
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

/// Runs `body` on a new thread with `settings`. A thread of its own keeps slack,
/// policy and affinity from leaking into the next trial.
///
/// `before` runs on the calling thread once the new one is set up and asleep,
/// and is where a load is switched on: a thread that started under a heavy load
/// would wait a whole round of the scheduler before its first sample. When
/// `before` fails, `body` does not run.
pub fn on_measuring_thread<T: Send, E: From<Error>>(
    settings: ThreadSettings,
    before: impl FnOnce() -> Result<(), E>,
    body: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, E> {
    let (ready, is_ready) = mpsc::sync_channel::<Result<(), Error>>(1);
    let (go, may_go) = mpsc::sync_channel::<()>(1);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("tompion-probe".to_owned())
            .spawn_scoped(scope, move || {
                let applied = settings.apply();
                let failed = applied.is_err();
                // The other side lives as long as this scope.
                let _ = ready.send(applied);
                if failed || may_go.recv().is_err() {
                    return None;
                }
                Some(body())
            })
            .map_err(Error::system("starting the measuring thread"))?;
        is_ready.recv().map_err(|_| Error::Panicked)??;
        // Dropping `go` unsent ends the thread.
        before()?;
        let _ = go.send(());
        drop(go);
        let result = thread.join().map_err(|_| Error::Panicked)?;
        Ok(result.ok_or(Error::Panicked)??)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T: Send>(
        settings: ThreadSettings,
        body: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        on_measuring_thread(settings, || Ok(()), body)
    }

    #[test]
    fn nothing_is_measured_when_the_load_does_not_start() {
        let failing = || Err(Error::Panicked);
        let result: Result<(), Error> =
            on_measuring_thread(ThreadSettings::default(), failing, || {
                panic!("must not run")
            });
        assert!(result.is_err());
    }

    #[test]
    fn policies_round_trip_and_bad_ones_are_named() {
        for text in ["other", "fifo:50", "rr:1"] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
        for bad in ["fifo", "fifo:0", "fifo:100", "idle:3", ""] {
            assert!(bad.parse::<Policy>().unwrap_err().contains("fifo:1..99"));
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
