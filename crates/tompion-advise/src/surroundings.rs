//! The machine as the remedies see it.

use tompion_host::Root;
use tompion_model::Environment;
use tompion_probe::{Policy, ThreadSettings};

use crate::Setup;

/// What remedies look at. Tests plant their own.
pub struct Surroundings {
    /// Where the kernel's files are found.
    pub root: Root,
    /// CPUs that this process may use, by number.
    pub cpus: Vec<u32>,
    /// Timer slack of this process, in nanoseconds.
    pub slack_ns: Option<u64>,
    /// Its scheduling policy.
    pub policy: Policy,
    /// What else is known of the machine.
    pub environment: Environment,
    /// The program that the preload library can be tried with, or why there is none.
    pub program: Result<String, String>,
}

impl Surroundings {
    /// This machine. `program` names the program that a [`RealBench`](crate::RealBench)
    /// starts to try the preload library.
    pub fn real(program: Result<String, String>) -> Self {
        let environment = tompion_host::detect();
        let scheduling = &environment.scheduling;
        let priority = scheduling.realtime_priority.filter(|p| *p > 0);
        let policy = match (scheduling.policy.as_deref(), priority) {
            (Some("fifo"), Some(p)) => Policy::Fifo(p),
            (Some("rr"), Some(p)) => Policy::RoundRobin(p),
            _ => Policy::Other,
        };
        Self {
            root: Root::real(),
            cpus: tompion_host::usable_cpus(),
            slack_ns: tompion_time::os::timer_slack_ns().ok(),
            policy,
            environment,
            program,
        }
    }

    /// A trial without any remedy: policy and slack as this process has them.
    pub fn setup(&self) -> Setup {
        Setup {
            thread: ThreadSettings {
                policy: self.policy,
                slack_ns: self.slack_ns.filter(|_| !self.policy.is_real_time()),
                cpu: None,
            },
            ..Setup::default()
        }
    }

    /// The same on one CPU; `None` leaves the thread free.
    pub fn setup_on(&self, cpu: Option<u32>) -> Setup {
        let mut setup = self.setup();
        setup.thread.cpu = cpu;
        setup
    }
}
