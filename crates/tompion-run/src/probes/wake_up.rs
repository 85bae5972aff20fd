//! Wake-up latency of one function at one target.

use std::time::Duration;

use tompion_model::{Way as End, factor, format_duration};
use tompion_probe::wake_up::{self, Method, Sleeper};

use super::{
    AtOnce, BASE, Context, Form, InPlan, Member, Parameter, Preset, Probe, Probing, Room, Slack,
    Values, WAKE_ROW, Way, waiting,
};
use crate::{Observe, PlannedCell};

pub(super) static ENTRY: Probe = Probe {
    name: wake_up::NAME,
    title: "wake-up latency",
    about: "How late a sleeping thread wakes up",
    overview: &["tompion measure wake-up --loads idle,cpu --targets 100us,1ms"],
    examples: &[
        "tompion measure wake-up",
        "tompion measure wake-up --methods usleep,tompion-hybrid --targets 1ms",
        "tompion measure wake-up --policy other,fifo:50 --slack default --duration 2m",
    ],
    parameters: &[
        Parameter::new(
            "methods",
            "METHOD",
            Form::names::<Method>("method"),
            Preset::Here(|| {
                let here = Method::all().filter(|m| m.available().is_ok());
                here.map(|m| m.to_string()).collect()
            }),
            "Methods, comma-separated; see `tompion list` [default: all available]",
        ),
        Parameter::new(
            "targets",
            "TIME",
            Form::Times("target"),
            Preset::Text("100us,1ms,10ms"),
            "Requested sleep times, comma-separated",
        ),
        Parameter {
            in_plan: InPlan::Preset("default"),
            ..Parameter::new(
                "slack",
                "SLACK",
                Form::Slacks,
                Preset::Text("default,1ns"),
                "Timer slack values to measure with, comma-separated: a time, or `default` for \
                 the slack that Tompion was started with. Slack affects the kernel's sleeps and \
                 ppoll under SCHED_OTHER, but not timerfd or tompion-hybrid",
            )
        },
        Parameter {
            // Reports name the option as `check` has it.
            alias: Some("wake-samples"),
            ..Parameter::new(
                "samples",
                "N",
                Form::Count,
                Preset::Text("100000"),
                "Maximum number of samples per cell (one combination of method, target, slack \
                 and load), over all blocks",
            )
        },
        Parameter {
            in_plan: InPlan::Preset("false"),
            ..Parameter::new(
                "at-once",
                "",
                Form::Flag,
                Preset::Absent,
                "Measure all cells of a load at once, each on a thread of its own, as a program with \
                 many timers sleeps; `company` in their names says how many threads",
            )
        },
        Parameter {
            in_plan: InPlan::Preset("1"),
            ..Parameter::new(
                "sleepers",
                "N",
                Form::Count,
                Preset::Text("1"),
                "Measure each cell with so many threads at once, which wake up in turn at equal \
                 distances within the period",
            )
        },
    ],
    available: |values| {
        let methods = values.parsed::<Method>("methods");
        methods.into_iter().try_for_each(Method::available)?;
        let slacks = values.parsed::<Slack>("slack");
        slacks.into_iter().try_for_each(Slack::available)
    },
    cells,
    ..BASE
};

fn cells(values: &Values, context: &Context<'_>) -> Vec<PlannedCell> {
    let methods: Vec<Method> = values.parsed("methods");
    let slacks: Vec<Slack> = values.parsed("slack");
    let samples = context.samples(values.count("samples"));
    let mut cells = Vec::new();
    for target_ns in values.times_ns("targets") {
        for &method in &methods {
            let key = context
                .key(wake_up::NAME, method.name())
                .with(factor::TARGET, format_duration(target_ns));
            let slacks = context.slacks(&slacks, method.row().has_slack);
            cells.extend(slacks.into_iter().map(|slack| PlannedCell {
                samples,
                weight: weight(method, target_ns),
                ..context.cell(&key, slack, WakeUp { method, target_ns })
            }));
        }
    }
    let threads = u32::try_from(values.count("sleepers")).unwrap_or(u32::MAX);
    let threads = threads.min(MOST_SLEEPERS);
    match values.is_set("at-once") {
        true if cells.len() > 1 || threads > 1 => vec![at_once(&cells, threads, context)],
        _ if threads > 1 => {
            let alone = |cell: &PlannedCell| at_once(std::slice::from_ref(cell), threads, context);
            cells.iter().map(alone).collect()
        }
        _ => cells,
    }
}

/// Threads that one cell may have.
const MOST_SLEEPERS: u32 = 256;

/// All of them as one cell, whose trials are measured at once, each by so many threads.
fn at_once(cells: &[PlannedCell], threads: u32, context: &Context<'_>) -> PlannedCell {
    let member = |cell: &PlannedCell| {
        let probe: &dyn std::any::Any = &*cell.probe;
        let WakeUp { method, target_ns } = *probe.downcast_ref().expect("a cell of this probe");
        Member {
            factors: cell.factors.clone(),
            sleeper: Sleeper {
                method,
                target_ns,
                thread: cell.thread,
                threads,
            },
        }
    };
    let company = (cells.len() * threads as usize).to_string();
    let key = match cells {
        [one] => one.factors.clone(),
        _ => context.key(wake_up::NAME, "").without(factor::METHOD),
    };
    PlannedCell {
        samples: cells.iter().map(|c| c.samples).max().unwrap_or(1),
        weight: cells.iter().map(|c| c.weight).fold(1.0, f64::max),
        ..context.cell(
            &key.with(factor::COMPANY, company),
            None,
            AtOnce {
                members: cells.iter().map(member).collect(),
            },
        )
    }
}

/// Long targets weigh more, since their samples take longer: by the square root,
/// so that they get neither all of the time nor a vanishing number of samples.
///
/// Fitness profiles judge the best method at a target near their period, up to
/// p99.9, which takes many samples: the precise sleep gets more of the time.
fn weight(method: Method, target_ns: u64) -> f64 {
    const JUDGED: f64 = 8.0;
    let by_length = (target_ns as f64 / 1e6).sqrt().max(1.0);
    if method.row().way == End::SleepsThenSpins && target_ns >= 500_000 {
        by_length.max(JUDGED)
    } else {
        by_length
    }
}

fn longest_ns(at_once: &AtOnce) -> u64 {
    let targets = at_once.members.iter().map(|m| m.sleeper.target_ns);
    targets.max().unwrap_or(0)
}

impl Probing for AtOnce {
    fn way(&self) -> Way<'_> {
        Way::Sleepers(self)
    }

    fn least_time(&self, samples: u64) -> Duration {
        waiting(longest_ns(self), samples)
    }

    /// Counters tell of all threads together, which wait for one another.
    fn watched(&self) -> Observe {
        Observe::Off
    }

    fn trials(&self) -> usize {
        self.members.len()
    }

    fn wait_ns(&self) -> u64 {
        longest_ns(self)
    }

    fn bytes(&self, room: &Room) -> u64 {
        let one = |m: &Member| {
            let alone = WakeUp {
                method: m.sleeper.method,
                target_ns: m.sleeper.target_ns,
            };
            alone.bytes(room).saturating_mul(m.sleeper.threads.into())
        };
        self.members.iter().map(one).fold(0, u64::saturating_add)
    }
}

/// Wake-up latency of one function at one target.
#[derive(Clone, Debug)]
pub struct WakeUp {
    /// The function.
    pub method: Method,
    /// How far ahead it is told to wake, in nanoseconds.
    pub target_ns: u64,
}

impl Probing for WakeUp {
    fn way(&self) -> Way<'_> {
        let (method, target_ns) = (self.method, self.target_ns);
        Way::OnThread(Box::new(move |_, limits| {
            wake_up::measure(method, target_ns, limits)
        }))
    }

    fn least_time(&self, samples: u64) -> Duration {
        waiting(self.target_ns, samples)
    }

    fn wait_ns(&self) -> u64 {
        self.target_ns
    }

    fn bytes(&self, room: &Room) -> u64 {
        let ns = u64::try_from(room.duration.as_nanos()).unwrap_or(u64::MAX);
        let in_time = (ns / self.target_ns.max(1)).saturating_mul(WAKE_ROW);
        room.of_samples(WAKE_ROW).min(in_time)
    }
}
