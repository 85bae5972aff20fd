//! Leaving a control group that limits CPU time.

use super::Remedy;
use crate::{Knob, Reach, Ready, State, Surroundings};

const LIST: &str = "cgroup.procs";

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(LeaveCgroup)],
    writes: &[],
};

struct LeaveCgroup;

impl Knob for LeaveCgroup {
    fn name(&self) -> String {
        "leave-cgroup".to_owned()
    }

    fn title(&self) -> String {
        "leaving a control group that limits CPU time".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::System
    }

    fn state(&self, here: &Surroundings) -> State {
        let Some(group) = tompion_host::quota_group(&here.root) else {
            return State::Absent("no CPU quota is felt here".to_owned());
        };
        let limiting = group.limiting.display();
        let Some(free) = &group.free else {
            return State::Absent(format!(
                "the quota of {} CPUs ({limiting}) is set above this container; whoever runs it \
                 can raise it",
                group.cpus
            ));
        };
        let setup = here.setup();
        let to = free.join(LIST);
        State::ready(Ready {
            from: format!("{} CPUs", group.cpus),
            to: "no quota".to_owned(),
            off: setup.clone(),
            on: setup,
            apply: vec![
                format!("echo PID > {}", to.display()),
                "for a service: CPUQuota= (empty) in its unit, or systemctl set-property UNIT \
                 CPUQuota="
                    .to_owned(),
            ],
            joined: Some((to, group.own.join(LIST))),
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "whoever set the quota meant it: the CPU time comes from the other tenants; under version \
         2 of control groups all other limits of the group are left, too"
    }

    fn source(&self) -> &'static str {
        "practice: Linux Documentation/scheduler/sched-bwc.rst"
    }
}
