//! Periodic events of one mechanism.

use std::time::Duration;

use tompion_model::{factor, format_duration};
use tompion_probe::timer_events::{self, Form, Method};

use super::context::with_slack;
use super::{
    BASE, Context, InPlan, Parameter, Preset, Probe, Probing, Room, Slack, Time, Usual, Values,
    WAKE_ROW, Way, parameter, waiting,
};
use crate::{PlannedCell, PlannedSearch};

pub(super) static ENTRY: Probe = Probe {
    name: timer_events::NAME,
    title: "timer events",
    about: "Jitter, drift and missed periods of periodic timers (Adamczyk 2015)",
    overview: &["tompion measure timer-events --periods 50us,100us --loads idle,cpu+network"],
    examples: &[
        "tompion measure timer-events",
        "tompion measure timer-events --methods timerfd --periods 100us --forms grid",
        "tompion measure timer-events --policy fifo:80 --loads idle,cpu,disk-read",
    ],
    remarks: "\
Reports for each mechanism and period: the mean interval with its 99 %
confidence interval, standard deviation, missed periods, TIE, MTIE and TDEV
against the ideal grid; and, by a search, the smallest period that each
mechanism keeps.",
    parameters: &[
        Parameter::new(
            "methods",
            "METHOD",
            parameter::Form::names::<Method>("method"),
            Preset::Here(|| {
                let here = Method::all().filter(|m| m.available().is_ok());
                here.map(|m| m.to_string()).collect()
            }),
            "Mechanisms, comma-separated; see `tompion list` [default: all available]",
        ),
        Parameter::new(
            "forms",
            "FORM",
            parameter::Form::names::<Form>("form"),
            Preset::Text("grid,rearmed"),
            "`grid`: events at fixed times; `rearmed`: each one period after the previous event",
        ),
        Parameter {
            short: Some('i'),
            alias: Some("interval"),
            in_plan: InPlan::Preset("100us"),
            ..Parameter::new(
                "periods",
                "TIME",
                parameter::Form::Times("period"),
                Preset::Text("10us,50us,100us,150us"),
                "Periods, comma-separated",
            )
        },
        Parameter::new(
            "events",
            "N",
            parameter::Form::Count,
            Preset::Text("4500"),
            "Number of events per trial",
        ),
        Parameter::new(
            "slack",
            "SLACK",
            parameter::Form::Slacks,
            Preset::Text("1ns"),
            "Timer slack values to measure with, comma-separated: a time, or `default` for the \
             slack that Tompion was started with. Slack affects clock_nanosleep and epoll under \
             SCHED_OTHER, but not timerfd or POSIX timers",
        ),
        Parameter {
            in_plan: InPlan::Always(Preset::Text("true")),
            ..Parameter::new(
                "no-search",
                "",
                parameter::Form::Flag,
                Preset::Absent,
                "Skip the search for the smallest period that each mechanism keeps (at most 0.1 % \
                 missed)",
            )
        },
    ],
    usual: Usual {
        blocks: 3,
        time: Time::AllSamples,
        ..BASE.usual
    },
    available: |values| {
        let methods = values.parsed::<Method>("methods");
        if let Some(why) = methods.into_iter().find_map(|m| m.available().err()) {
            return Err(format!("no such timer events here: {why}").into());
        }
        let slacks = values.parsed::<Slack>("slack");
        slacks.into_iter().try_for_each(Slack::available)
    },
    cells,
    searches,
    ..BASE
};

fn cells(values: &Values, context: &Context<'_>) -> Vec<PlannedCell> {
    let samples = values.count("events");
    let mut cells = Vec::new();
    for period_ns in values.times_ns("periods") {
        for (method, form, slack) in mechanisms(values, context) {
            let key = context
                .key(timer_events::NAME, method.name())
                .with(factor::TARGET, format_duration(period_ns))
                .with(factor::FORM, form.name());
            let probe = TimerEvents {
                method,
                form,
                period_ns,
            };
            cells.push(PlannedCell {
                samples,
                weight: (period_ns as f64 / 1e5).max(1.0),
                ..context.cell(&key, slack, probe)
            });
        }
    }
    cells
}

/// One for each mechanism and form, for all periods together.
fn searches(values: &Values, context: &Context<'_>) -> Vec<PlannedSearch> {
    if values.is_set("no-search") {
        return Vec::new();
    }
    let search = |(method, form, slack): (Method, Form, _)| {
        let key = context
            .key(timer_events::NAME, method.name())
            .with(factor::FORM, form.name());
        PlannedSearch {
            factors: with_slack(&key, slack),
            method,
            form,
            thread: context.thread(slack),
            load: context.load,
        }
    };
    mechanisms(values, context)
        .into_iter()
        .map(search)
        .collect()
}

fn mechanisms(values: &Values, context: &Context<'_>) -> Vec<(Method, Form, Option<Slack>)> {
    let forms: Vec<Form> = values.parsed("forms");
    let slacks: Vec<Slack> = values.parsed("slack");
    let mut all = Vec::new();
    for method in values.parsed::<Method>("methods") {
        for &form in &forms {
            let slacks = context.slacks(&slacks, method.row().has_slack);
            all.extend(slacks.into_iter().map(|slack| (method, form, slack)));
        }
    }
    all
}

/// Periodic events of one mechanism.
#[derive(Clone, Debug)]
pub struct TimerEvents {
    /// The mechanism.
    pub method: Method,
    /// A fixed grid, or re-armed after each event.
    pub form: Form,
    /// The period in nanoseconds.
    pub period_ns: u64,
}

impl Probing for TimerEvents {
    fn way(&self) -> Way<'_> {
        let Self {
            method,
            form,
            period_ns,
        } = *self;
        Way::OnThread(Box::new(move |_, limits| {
            timer_events::measure(method, form, period_ns, limits)
        }))
    }

    fn least_time(&self, samples: u64) -> Duration {
        waiting(self.period_ns, samples)
    }

    fn wait_ns(&self) -> u64 {
        self.period_ns
    }

    fn bytes(&self, room: &Room) -> u64 {
        room.of_samples(WAKE_ROW)
    }
}
