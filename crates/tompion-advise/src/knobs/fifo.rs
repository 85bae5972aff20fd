//! Real-time scheduling.

use tompion_probe::{Policy, ThreadSettings};

use super::Remedy;
use crate::{Knob, Reach, Ready, Setup, State, Surroundings};

/// Above the threads of the kernel that handle interrupts it would hold them up.
const PRIORITY: u32 = 49;

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(Fifo)],
    writes: &[],
};

struct Fifo;

impl Knob for Fifo {
    fn name(&self) -> String {
        "sched-fifo".to_owned()
    }

    fn title(&self) -> String {
        format!("SCHED_FIFO at priority {PRIORITY}, which leaves out timer slack too")
    }

    fn reach(&self) -> Reach {
        Reach::OwnProcess
    }

    fn state(&self, here: &Surroundings) -> State {
        if here.policy.is_real_time() {
            return State::Already("this process is real-time".to_owned());
        }
        State::ready(Ready {
            from: "SCHED_OTHER".to_owned(),
            to: format!("SCHED_FIFO {PRIORITY}"),
            off: here.setup(),
            on: Setup {
                thread: ThreadSettings {
                    policy: Policy::Fifo(PRIORITY),
                    ..ThreadSettings::default()
                },
                ..Setup::default()
            },
            apply: vec![
                format!("chrt --fifo {PRIORITY} COMMAND"),
                format!(
                    "for a service: CPUSchedulingPolicy=fifo and CPUSchedulingPriority={PRIORITY} \
                     in its unit"
                ),
            ],
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "the thread runs before all others of its CPU: one that spins starves them, up to the \
         95 % that sched_rt_runtime_us allows; needs CAP_SYS_NICE or RLIMIT_RTPRIO"
    }

    fn source(&self) -> &'static str {
        "Perneel 2015 measures with real-time threads of the highest priority; sched(7)"
    }
}
