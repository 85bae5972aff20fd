//! A fresh thread for each trial, set up as its cell asks.

use std::fmt;
use std::str::FromStr;

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
    /// Timer slack in nanoseconds; `None` keeps the process's default.
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
        if let Some(ns) = self.slack_ns {
            os::set_timer_slack_ns(ns)
                .map_err(Error::system(format!("setting the timer slack to {ns} ns")))?;
        }
        let real_time = |policy, priority| {
            sys::set_real_time(policy, priority).map_err(Error::system(format!(
                "scheduling policy {} (needs CAP_SYS_NICE or a higher RLIMIT_RTPRIO, and real-time \
                 run time in the CPU cgroup)",
                self.policy
            )))
        };
        match self.policy {
            Policy::Other => Ok(()),
            Policy::Fifo(p) => real_time(libc::SCHED_FIFO, p),
            Policy::RoundRobin(p) => real_time(libc::SCHED_RR, p),
        }
    }
}

/// Runs `body` on a new thread with `settings`. A thread of its own keeps slack,
/// policy and affinity from leaking into the next trial.
pub fn on_measuring_thread<T: Send>(
    settings: ThreadSettings,
    body: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("tompion-probe".to_owned())
            .spawn_scoped(scope, || {
                settings.apply()?;
                body()
            })
            .map_err(Error::system("starting the measuring thread"))?
            .join()
            .map_err(|_| Error::Panicked)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let inside = on_measuring_thread(settings, || Ok(os::timer_slack_ns().unwrap())).unwrap();
        assert_eq!((inside, os::timer_slack_ns().unwrap()), (7_777, before));
    }

    #[test]
    fn an_absent_cpu_is_one_clear_line() {
        let settings = ThreadSettings {
            cpu: Some(9_999),
            ..Default::default()
        };
        let error = on_measuring_thread(settings, || Ok(()))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("pinning to CPU 9999"), "{error}");
    }
}
