//! Stalls of busy loops.

use std::time::Duration;

use tompion_model::stall_parts;
use tompion_probe::stalls;

use super::{
    BASE, Context, Form, InPlan, Observing, OwnTable, Parameter, Preset, Probe, Probing, Room,
    Stalls, Time, Usual, Values, Way,
};
use crate::{Observe, PlannedCell};

pub(super) static ENTRY: Probe = Probe {
    name: stalls::NAME,
    title: "stalls",
    about: "How long a busy loop stalls, and why (Perneel 2015)",
    overview: &[
        "tompion measure stalls --cpus all --duration 1m --policy fifo:50",
        "tompion measure stalls --pid 1234 --duration 10s",
    ],
    examples: &[
        "tompion measure stalls",
        "tompion measure stalls --cpus all --loads idle,cpu+network --duration 2m",
        "tompion measure stalls --policy fifo:50 --threshold 5us --hlog stalls.hlog",
        "tompion measure stalls --pid 1234 --duration 10s",
    ],
    remarks: "\
Each stall is attributed to its causes, with the evidence for each. As root,
with perf events, the preempting thread or the interrupt is named. The report
lists the evidence that was available.",
    parameters: &[
        Parameter {
            in_plan: InPlan::Always(Preset::Absent),
            excludes: &["cpu"],
            ..Parameter::new(
                "cpus",
                "CPUS",
                Form::Cpus,
                Preset::Absent,
                "Run a loop on each of these CPUs at once: a list such as 0,2-3, or `all` \
                 [default: one loop, on any CPU]",
            )
        },
        Parameter::new(
            "threshold",
            "TIME",
            Form::Time,
            Preset::Text("1us"),
            "Count iterations longer than this as stalls",
        ),
    ],
    usual: Usual {
        blocks: 1,
        time: Time::EachTrial(Duration::from_secs(10)),
        ..BASE.usual
    },
    observing: Observing::Always,
    tables: &[OwnTable {
        name: stall_parts::NAME,
        empty: || stall_parts::table(&[]),
        is_read: |table| stall_parts::of_table(table).is_ok(),
    }],
    has_interval_log: true,
    watches_programs: true,
    // The events of whole CPUs are opened,
    opening: Duration::from_millis(50),
    // and closed in the end, when each tracepoint waits in the kernel.
    closing: Duration::from_millis(800),
    cells,
    ..BASE
};

fn cells(values: &Values, context: &Context<'_>) -> Vec<PlannedCell> {
    let probe = Stalls {
        threshold_ns: values.time_ns("threshold"),
        cpus: values.cpus("cpus"),
    };
    let key = context.key(stalls::NAME, stalls::METHOD);
    vec![PlannedCell {
        samples: u64::MAX,
        ..context.cell(&key, None, probe)
    }]
}

impl Probing for Stalls {
    fn way(&self) -> Way<'_> {
        Way::Loops(self)
    }

    fn watched(&self) -> Observe {
        Observe::Threads
    }

    fn least_time(&self, _: u64) -> Duration {
        // A few dozen ticks of the kernel.
        Duration::from_millis(100)
    }

    fn overhead(&self) -> Duration {
        // Opening the events of whole CPUs, setting up the loop.
        Duration::from_millis(50)
    }

    fn trials(&self) -> usize {
        self.cpus.len().max(1)
    }

    fn bytes(&self, room: &Room) -> u64 {
        // A stall has a row, and one for each of its parts; a trial keeps 2^20 rows.
        const ROW: u64 = 60;
        const A_SECOND: u64 = 5_000;
        const LARGEST: u64 = ROW << 20;
        let in_time = room.duration.as_secs() * A_SECOND * ROW;
        in_time.min(LARGEST * room.blocks)
    }
}
