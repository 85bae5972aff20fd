//! What the kernel costs: timer slack, tick, preemption, clocksource.

use tompion_cause::Cause;

use super::fault::{Fault, KernelFault};
use super::part::{Part, State};
use super::seen::Seen;
use super::taken::Taken;

/// More slack than this shows beside what a sleep costs anyhow.
const SLACK_NS: u64 = 1_000;
/// Twenty times the usual: sleeps of a millisecond are no longer such.
const TOO_MUCH_SLACK_NS: u64 = 1_000_000;

/// Clocksources that are read through a device, and slowly.
const SLOW: [&str; 3] = ["hpet", "acpi_pm", "hyperv_clocksource_msr"];
/// Those that step with the tick.
const COARSE: [&str; 3] = ["jiffies", "refined-jiffies", "pit"];
/// Policies whose threads have no slack.
const REAL_TIME: [&str; 3] = ["fifo", "rr", "deadline"];

pub(super) fn part(seen: &Seen<'_>) -> Part {
    let environment = seen.environment;
    let mut clauses: Vec<(State, String)> = Vec::new();
    let mut faults = Vec::new();
    let mut wrong = |state: State, fault: KernelFault| {
        let clause = (state, fault.in_words());
        if state > State::Ok {
            faults.push((state, Fault::Kernel(fault)));
        }
        clause
    };
    let clocksource = environment.clock.clocksource.as_deref();
    let is_in = |names: &[&str]| clocksource.is_some_and(|name| names.contains(&name));
    let policy = environment.scheduling.policy.as_deref();
    let slack_ns = environment.clock.timer_slack_ns;
    let slack = slack_ns.map(|ns| {
        let state = match ns {
            _ if policy.is_some_and(|p| REAL_TIME.contains(&p)) => State::Ok,
            ns if ns >= TOO_MUCH_SLACK_NS => State::Fail,
            ns if ns > SLACK_NS => State::Warn,
            _ => State::Ok,
        };
        wrong(state, KernelFault::Slack(ns))
    });
    clauses.extend(slack);
    let options = &environment.kernel.timing_options;
    if options.iter().any(|o| o == "highres=off") || is_in(&COARSE) {
        clauses.push(wrong(State::Fail, KernelFault::NoHighResolution));
    }
    let tick = environment.kernel.tick_rate_hz;
    let tick = tick.map(|hz| format!("{hz} Hz tick"));
    let preemption = environment.kernel.preemption.as_deref();
    let preemption = preemption.map(|model| match model {
        "none" => "no preemption".to_owned(),
        "dynamic, model not known" => "preemption model not known".to_owned(),
        model => format!("{model} preemption"),
    });
    let both: Vec<String> = tick.into_iter().chain(preemption).collect();
    if !both.is_empty() {
        clauses.push((State::Ok, both.join(", ")));
    }
    if let Some(name) = clocksource {
        clauses.push(match () {
            () if is_in(&SLOW) => wrong(State::Warn, KernelFault::SlowClocksource(name.to_owned())),
            () if is_in(&COARSE) => {
                wrong(State::Fail, KernelFault::CoarseClocksource(name.to_owned()))
            }
            () => (State::Ok, format!("clocksource {name}")),
        });
    }
    // What is wrong comes first.
    clauses.sort_by_key(|c| std::cmp::Reverse(c.0));
    faults.sort_by_key(|f| std::cmp::Reverse(f.0));
    let mut details = Vec::new();
    if slack_ns.is_some_and(|ns| ns > SLACK_NS) {
        details.push(
            "Each sleep of an ordinary thread may end that much later, unless it asks for less (prctl PR_SET_TIMERSLACK)."
                .to_owned(),
        );
    }
    if environment.clock.tsc_rejected == Some(true) {
        details.push("The kernel does not take the CPU's counter as a clocksource.".to_owned());
    }
    let (_, stalls) = seen.stalls();
    let costs: [(&[Cause], &str); 3] = [
        (&[Cause::Tick], "The kernel's tick"),
        (
            &[Cause::HardInterrupt, Cause::Softirq],
            "Interrupts and what follows them",
        ),
        (
            &[Cause::PageFault, Cause::Migration],
            "Page faults and moves between CPUs",
        ),
    ];
    let sentence = |(causes, what): (&[Cause], &str)| Taken::by(&stalls, causes).sentence(what);
    details.extend(costs.into_iter().filter_map(sentence));
    if clauses.is_empty() {
        let why = "this run does not say how the kernel is set up";
        clauses.push((State::NotMeasured, why.to_owned()));
    }
    Part::of("Kernel", clauses, details).by(faults)
}
