//! Machines of which it is known what is wrong with them.

use proptest::prelude::*;
use tompion_cause::Cause;
use tompion_model::{
    Environment, Factors, Granularity, PlatformRecord, Synchronisation, Throttling, TimeKeeping,
    factor,
};

use super::planted::{MS, Machine, SECOND, cpu_use, trial};
use super::*;

impl Machine {
    fn parts(&self) -> [Part; 4] {
        parts(&self.seen())
    }

    /// As on the screen.
    fn lines(&self) -> String {
        let line = |p: &Part| format!("{:<8}{:<14}{}", p.name, p.state.word(), p.sentence);
        self.parts().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn states(&self) -> [State; 4] {
        self.parts().map(|part| part.state)
    }
}

use State::{Fail, NotMeasured, Warn};
const OK: State = State::Ok;

#[test]
fn nothing_wrong_is_four_times_ok() {
    insta::assert_snapshot!(Machine::fine().lines(), @r"
    Clock   ok            chrony keeps the wall clock in step; error at most 1.20 ms
    Host    ok            took 0 % of CPU time in 20.0 s; steal accounted
    Kernel  ok            timer slack 1 ns; 250 Hz tick, no preemption; clocksource tsc
    Here    ok            other programs took 0.4 % of the CPUs; no CPU limit
    ");
}

#[test]
fn a_clock_that_nothing_keeps_is_the_clock() {
    let mut machine = Machine::fine();
    machine.environment.time_keeping = Some(TimeKeeping::default());
    machine.environment.synchronisation = Some(Synchronisation::default());
    assert_eq!(machine.states(), [Fail, OK, OK, OK]);
    let [clock, ..] = machine.parts();
    insta::assert_snapshot!(clock.sentence, @"not synchronised; nothing keeps the wall clock in step");
    assert!(
        clock.details[0].starts_with("What would help: "),
        "{clock:?}"
    );
}

#[test]
fn a_clock_that_is_set_or_runs_backwards_is_the_clock() {
    let mut machine = Machine::fine();
    machine.clock_readings[1].realtime_ns += 16_000_000_000;
    assert_eq!(machine.states(), [Fail, OK, OK, OK]);
    let sentence = &machine.parts()[0].sentence;
    assert!(
        sentence.starts_with("set by +16.0 s during the run; chrony"),
        "{sentence}"
    );
    let mut machine = Machine::fine();
    machine.trials[0].factors = Factors::new().with(factor::METHOD, "rdtsc");
    machine.trials[0].measurement.granularity = Some(Granularity {
        smallest_step_ns: 1.0,
        common_step_ns: 1.0,
        zero_steps: 0.0,
        backward_steps: 3,
    });
    let [clock, ..] = machine.parts();
    assert_eq!(clock.state, Fail);
    assert!(
        clock.sentence.starts_with("rdtsc ran backwards 3 times"),
        "{clock:?}"
    );
}

#[test]
fn a_clock_in_step_within_a_second_is_a_warning() {
    let mut machine = Machine::fine();
    let keeping = machine.environment.time_keeping.as_mut().unwrap();
    keeping.keepers[0].error_at_most_ns = Some(SECOND);
    assert_eq!(machine.states(), [Warn, OK, OK, OK]);
}

#[test]
fn a_guest_paused_by_its_host_is_the_host() {
    // 400 ms every 1 to 2 s, of which the hypervisor's account says nothing.
    for cause in [Cause::Unseen, Cause::Stolen] {
        let mut machine = Machine::fine();
        machine.trials[0] = trial("idle", &[(cause, 5_200 * MS, 401 * MS)]);
        assert_eq!(machine.states(), [OK, Fail, OK, OK]);
        let [_, host, ..] = machine.parts();
        insta::allow_duplicates! {
            insta::assert_snapshot!(host.sentence, @"took 26 % of CPU time in 20.0 s, longest 401 ms; steal accounted");
        }
    }
    // Without events nothing says what it was; nobody here was there to do it.
    let mut machine = Machine::fine();
    machine.trials[0] = trial("idle", &[(Cause::Unknown, 5_200 * MS, 401 * MS)]);
    assert_eq!(machine.states(), [OK, Warn, OK, OK]);
    let [_, host, ..] = machine.parts();
    insta::assert_snapshot!(host.sentence, @"took 26 % of CPU time in 20.0 s (26 % unexplained), longest 401 ms");
}

#[test]
fn an_interrupt_of_many_milliseconds_is_most_likely_the_hosts() {
    let mut machine = Machine::fine();
    machine.trials[0] = trial("idle", &[(Cause::Tick, 60 * MS, 37 * MS)]);
    assert_eq!(machine.states(), [OK, Warn, OK, OK]);
    let [_, host, ..] = machine.parts();
    insta::assert_snapshot!(host.sentence, @"took 0.2 % of CPU time in 20.0 s (37.0 ms within an interrupt), longest 37.0 ms");
    machine.environment.virtualization.hypervisor = None;
    assert_eq!(
        machine.states(),
        [OK; 4],
        "without a host it is the machine's own"
    );
}

#[test]
fn softirqs_of_what_other_programs_send_are_no_pauses_of_the_host() {
    let of = |cause, others| {
        let mut machine = Machine::fine();
        machine.trials[0] = trial("idle", &[(cause, 60 * MS, 32 * MS)]);
        machine.trials[0].cpu_use = Some(cpu_use(20 * SECOND, &[("python3", others)]));
        machine.states()[1]
    };
    assert_eq!(of(Cause::Softirq, 8 * SECOND), OK);
    assert_eq!(of(Cause::Softirq, 0), Warn);
    assert_eq!(of(Cause::Tick, 8 * SECOND), Warn);
}

#[test]
fn short_steal_is_fine_and_a_pause_of_a_millisecond_a_warning() {
    let of = |ns, longest_ns| {
        let mut machine = Machine::fine();
        machine.trials[0] = trial("idle", &[(Cause::Stolen, ns, longest_ns)]);
        machine.states()
    };
    assert_eq!(of(40 * MS, 183_000), [OK; 4]);
    assert_eq!(of(40 * MS, 2 * MS), [OK, Warn, OK, OK]);
    assert_eq!(of(300 * MS, 183_000), [OK, Warn, OK, OK]);
    assert_eq!(of(300 * MS, 6 * MS), [OK, Fail, OK, OK]);
}

#[test]
fn steal_counts_without_a_busy_loop_and_beside_loads() {
    let mut machine = Machine::fine();
    machine.trials[0].cpu_use.as_mut().unwrap().stolen_ns = Some(800 * MS);
    assert_eq!(machine.states(), [OK, Warn, OK, OK]);
    let [_, host, ..] = machine.parts();
    insta::assert_snapshot!(host.sentence, @"took 2.0 % of CPU time over all trials (steal), 0 % in 20.0 s; steal accounted");
    machine.trials[0].findings = Default::default();
    let [_, host, ..] = machine.parts();
    insta::assert_snapshot!(host.sentence, @"steal 2.0 % over all trials; pauses were not looked for; steal accounted");
    assert_eq!(host.state, Warn);
}

#[test]
fn slack_and_slow_clocksources_are_the_kernel() {
    let of = |change: fn(&mut Environment)| {
        let mut machine = Machine::fine();
        change(&mut machine.environment);
        let [clock, host, kernel, here] = machine.parts();
        assert_eq!([clock.state, host.state, here.state], [OK; 3]);
        (kernel.state, kernel.sentence)
    };
    let (state, sentence) = of(|e| e.clock.timer_slack_ns = Some(50_000));
    insta::assert_snapshot!(sentence, @"timer slack 50 µs; 250 Hz tick, no preemption; clocksource tsc");
    assert_eq!(state, Warn);
    assert_eq!(of(|e| e.clock.timer_slack_ns = Some(50_000_000)).0, Fail);
    let (state, sentence) = of(|e| e.clock.clocksource = Some("hpet".to_owned()));
    assert!(
        sentence.starts_with("clocksource hpet, read slowly; "),
        "{sentence}"
    );
    assert_eq!(state, Warn);
    assert_eq!(
        of(|e| e.clock.clocksource = Some("jiffies".to_owned())).0,
        Fail
    );
    let real_time = of(|e| {
        e.clock.timer_slack_ns = Some(50_000);
        e.scheduling.policy = Some("fifo".to_owned());
    });
    assert_eq!(real_time.0, OK);
}

#[test]
fn two_compilers_are_here_and_the_host_has_no_more_than_its_steal() {
    let mut machine = Machine::fine();
    // They have both CPUs, the loop a third of one; one per cent is stolen.
    machine.trials[0] = trial(
        "idle",
        &[
            (Cause::Preempted, 13 * SECOND, 24 * MS),
            (Cause::Stolen, 80 * MS, MS / 10),
            (Cause::Unknown, 100 * MS, 4 * MS),
        ],
    );
    let busy = [("cc1", 25 * SECOND), ("cc1plus", 13 * SECOND)];
    machine.trials[0].cpu_use = Some(cpu_use(20 * SECOND, &busy));
    insta::assert_snapshot!(machine.lines(), @r"
    Clock   ok            chrony keeps the wall clock in step; error at most 1.20 ms
    Host    ok            took 0.4 % of CPU time in 20.0 s, longest 100 µs; steal accounted
    Kernel  ok            timer slack 1 ns; 250 Hz tick, no preemption; clocksource tsc
    Here    warn          other programs took 95 % of the CPUs (cc1 62 %, cc1plus 32 %); no CPU limit
    ");
    let here = &machine.parts()[3];
    let preempted =
        "Others who had the CPU took 65 % of a busy loop's time, at most 24.0 ms at once.";
    assert!(here.details.iter().any(|d| d == preempted), "{here:?}");
}

#[test]
fn a_quota_that_is_used_up_is_throttling_here() {
    let mut machine = Machine::fine();
    machine.environment.cgroup.quota_us = Some(50_000);
    machine.environment.cgroup.period_us = Some(100_000);
    machine.environment.cgroup.quota_cpus = Some(0.5);
    machine.throttling = Some(Throttling {
        periods: 700,
        throttled_periods: 350,
        throttled_ns: 17 * SECOND,
    });
    assert_eq!(machine.states(), [OK, OK, OK, Fail]);
    let here = &machine.parts()[3];
    insta::assert_snapshot!(here.sentence, @"throttled in 50 % of its periods of 100 ms: CPU quota of 0.50 CPUs");
    // What the sentence has no room for.
    assert_eq!(here.details[0], "Other programs took 0.4 % of the CPUs.");
    machine.throttling.as_mut().unwrap().throttled_periods = 0;
    let here = &machine.parts()[3];
    assert_eq!(here.state, OK);
    insta::assert_snapshot!(here.sentence, @"CPU quota of 0.50 CPUs, never used up; other programs took 0.4 % of the CPUs");
    machine.throttling = None;
    assert_eq!(machine.states(), [OK, OK, OK, Warn]);
}

#[test]
fn in_a_container_only_what_is_seen_counts_and_the_words_say_so() {
    let mut machine = Machine::fine();
    machine.trials[0]
        .cpu_use
        .as_mut()
        .unwrap()
        .kernel_threads_ns = None;
    machine.environment.scheduling.allowed_cpus = Some("1".to_owned());
    let here = &machine.parts()[3];
    insta::assert_snapshot!(here.sentence, @"other programs seen from here took 0.4 % of the CPUs; no CPU limit");
    assert_eq!(here.details[0], "May use 1 of 2 CPUs.");
    assert!(here.details[1].contains("not seen from here"), "{here:?}");
}

#[test]
fn trials_that_were_measured_at_once_are_counted_once() {
    let mut machine = Machine::fine();
    machine.trials = vec![trial("idle", &[]), trial("idle", &[]), trial("cpu", &[])];
    machine.trials[2].cpu_use = Some(cpu_use(20 * SECOND, &[("cc1", 40 * SECOND)]));
    let here = &machine.parts()[3];
    assert!(
        here.sentence
            .starts_with("other programs took 50 % of the CPUs (cc1 50 %);"),
        "{here:?}"
    );
    assert!(here.details[1].contains("in 40.0 s"), "{here:?}");
}

#[test]
fn what_an_old_run_does_not_hold_is_not_measured() {
    let machine = Machine {
        environment: Environment::default(),
        trials: Vec::new(),
        throttling: None,
        clock_readings: Vec::new(),
        cpu_use_before: None,
    };
    insta::assert_snapshot!(machine.lines(), @r"
    Clock   not measured  nothing in this run tells whether the wall clock is right
    Host    not measured  pauses were not looked for
    Kernel  not measured  this run does not say how the kernel is set up
    Here    not measured  other programs were not watched; CPU limits not known
    ");
    assert_eq!(machine.states(), [NotMeasured; 4]);
}

#[test]
fn a_lab_has_these_parts_for_each_platform() {
    let mut record: tompion_model::RunRecord = serde_json::from_value(serde_json::json!({
        "schema_version": 2, "status": "complete", "finished_at": null, "notes": [], "throttling": null,
        "command_line": [], "tool": "", "started_at": "", "guards": [], "trials": [], "environment": {},
        "design": {"order": "", "seed": 0, "blocks": 1, "cells": 1},
    }))
    .unwrap();
    assert!(Seen::of_run(&record).is_some() && Seen::of_platforms(&record).is_empty());
    let platform = |level: &str| PlatformRecord {
        level: level.to_owned(),
        environment: Some(Machine::fine().environment),
        ..PlatformRecord::default()
    };
    record.platforms = vec![platform("host"), platform("runc"), platform("qemu")];
    for (level, took_ns) in [("host", 0), ("runc", 5_200 * MS)] {
        let mut trial = trial("idle", &[(Cause::Unseen, took_ns, took_ns.min(401 * MS))]);
        trial.factors = trial.factors.with(factor::PLATFORM, level);
        record.trials.push(trial);
    }
    assert!(Seen::of_run(&record).is_none(), "no one machine");
    let found: Vec<(&str, State)> = Seen::of_platforms(&record)
        .iter()
        .map(|(level, seen)| (*level, parts(seen)[1].state))
        .collect();
    assert_eq!(found, [("host", OK), ("runc", Fail)]);
}

proptest! {
    #[test]
    fn no_sentence_is_longer_than_a_line_and_no_clause_is_lost(
        name in ".{0,40}", keeper in ".{0,60}", clocksource in ".{0,90}",
        list in "[0-9,-]{0,20}", took in 0..40_000 * MS, quota in any::<u64>(),
        periods in any::<u64>(), slack in 1..u64::MAX,
    ) {
        let mut machine = Machine::fine();
        machine.trials[0] = trial("idle", &[(Cause::Unknown, took, took), (Cause::Stolen, took, took)]);
        machine.trials[0].cpu_use = Some(cpu_use(SECOND, &[(&name, took), (&keeper, 3 * MS)]));
        machine.environment.time_keeping.as_mut().unwrap().keepers[0].name = keeper;
        machine.environment.clock.clocksource = Some(clocksource);
        machine.environment.clock.timer_slack_ns = Some(slack);
        machine.environment.scheduling.allowed_cpus = Some(list);
        machine.environment.cgroup.quota_cpus = Some(quota as f64);
        machine.environment.cgroup.period_us = Some(quota);
        machine.throttling = Some(Throttling { periods, throttled_periods: periods / 2, throttled_ns: 0 });
        for part in machine.parts() {
            prop_assert!(part.sentence.chars().count() <= SENTENCE, "{}", part.sentence);
            prop_assert!(!part.sentence.is_empty());
        }
    }
}
