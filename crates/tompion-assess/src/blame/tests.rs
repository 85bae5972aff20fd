//! Who is blamed on machines of which it is known what is wrong with them.

use tompion_cause::Cause;
use tompion_model::{Factors, Synchronisation, Throttling, TimeKeeping};

use super::*;
use crate::parts::planted::{MS, Machine, SECOND, cpu_use, trial};
use crate::verdict::Remedied;

/// One use at p99 beside one load: its limit, the share of sleeps later than that, and how it came out.
fn judged(load: &str, limit_ns: f64, late_share: f64, outcome: Outcome) -> LoadVerdict {
    LoadVerdict {
        load: load.to_owned(),
        outcome,
        as_it_is: outcome,
        remedy: None,
        limit_ns,
        quantile: 0.99,
        estimate_ns: 2.0 * limit_ns,
        low_ns: None,
        high_ns: None,
        blocks_low_ns: None,
        blocks_high_ns: None,
        late_share,
        samples: 1_000,
        watched_ns: SECOND,
        samples_missing: 0,
        reason: None,
        fails_beside_others: false,
    }
}

fn fails(limit_ns: f64, late_share: f64) -> LoadVerdict {
    judged("idle", limit_ns, late_share, Outcome::Fail)
}

/// The same with a remedy whose quantile is this.
fn with(remedy: &str, outcome: Outcome, estimate_ns: f64, before: LoadVerdict) -> LoadVerdict {
    let of_all = match outcome {
        Outcome::Pass => Outcome::WithRemedy,
        _ => before.outcome,
    };
    LoadVerdict {
        outcome: of_all,
        remedy: Some(Remedied {
            name: remedy.to_owned(),
            method: Factors::new(),
            outcome,
            estimate_ns,
            samples: 1_000,
            watched_ns: SECOND,
            samples_missing: 0,
            reason: None,
        }),
        ..before
    }
}

/// A use that fails by these.
fn of_loads(by_load: Vec<LoadVerdict>) -> ProfileVerdict {
    ProfileVerdict {
        outcome: Outcome::Fail,
        as_it_is: Outcome::Fail,
        by_load,
        ..ProfileVerdict::default()
    }
}

/// What is blamed on a machine for uses, each with its verdicts.
fn blamed<const N: usize>(machine: &Machine, uses: [Vec<LoadVerdict>; N]) -> Vec<Culprit> {
    let uses = uses.map(of_loads);
    let all: Vec<&ProfileVerdict> = uses.iter().collect();
    culprits(&machine.seen(), &all)
}

/// The host of a guest.
fn host(share: f64, longest_ns: Option<u64>, is_likely: bool) -> Culprit {
    Culprit::Host {
        share,
        longest_ns,
        is_guest: true,
        is_likely,
    }
}

fn programs(name: &str) -> Culprit {
    Culprit::Programs(vec![name.to_owned()])
}

fn mended(name: &str, passes: usize, all: usize) -> Culprit {
    let remedy = Remedy::named(name).expect(name);
    Culprit::Mended {
        remedy,
        passes,
        all,
    }
}

const US: f64 = 1e3;

#[test]
fn where_no_use_fails_and_no_part_nobody_is_blamed() {
    let pass = judged("idle", 12.0 * US, 0.0, Outcome::Pass);
    let open = judged("busy", 12.0 * US, 0.02, Outcome::Inconclusive);
    assert!(blamed(&Machine::fine(), [vec![pass, open]]).is_empty());
}

#[test]
fn on_a_machine_without_a_fault_it_is_the_limits() {
    let tight = || {
        vec![
            fails(12.0 * US, 0.02),
            judged("busy", 12.0 * US, 1.0, Outcome::Fail),
        ]
    };
    let told = blamed(&Machine::fine(), [tight(), tight()]);
    assert_eq!(told, [Culprit::Limits(2)]);
}

#[test]
fn what_fails_beside_a_load_alone_is_the_loads() {
    let pass = judged("idle", 100.0 * US, 0.0, Outcome::Pass);
    let beside = |load| judged(load, 100.0 * US, 0.3, Outcome::Fail);
    let told = blamed(&Machine::fine(), [vec![pass, beside("busy"), beside("io")]]);
    let loads = ["busy", "io"].map(str::to_owned).to_vec();
    assert_eq!(told, [Culprit::Loads(loads)]);
}

#[test]
fn a_clock_that_is_off_is_a_fault_before_limits_that_are_none() {
    let mut machine = Machine::fine();
    machine.environment.time_keeping = Some(TimeKeeping::default());
    machine.environment.synchronisation = Some(Synchronisation::default());
    let told = blamed(&machine, [vec![fails(12.0 * US, 0.02)]]);
    assert_eq!(
        told,
        [
            Culprit::Clock(ClockFault::NotSynchronised),
            Culprit::Limits(1)
        ]
    );
    // A clock that was set is another fault than one in step with nothing.
    let mut machine = Machine::fine();
    machine.clock_readings[1].realtime_ns += 16_000_000_000;
    let [Culprit::Clock(ClockFault::Set { ns, times: 1 })] = blamed(&machine, [])[..] else {
        panic!("a clock that was set")
    };
    assert!((ns - 16_000_000_000).abs() < 1_000, "{ns}");
}

fn paused(ns: u64, longest_ns: u64) -> Machine {
    let mut machine = Machine::fine();
    machine.trials[0] = trial("idle", &[(Cause::Unseen, ns, longest_ns)]);
    machine
}

#[test]
fn a_host_that_pauses_the_guest_is_blamed_for_what_its_pauses_explain() {
    // A quarter of the time, 400 ms at once.
    let machine = paused(5_000 * MS, 400 * MS);
    let told = blamed(&machine, [vec![fails(5e6, 0.4), fails(120.0, 1.0)]]);
    assert_eq!(told, [host(0.25, Some(400 * MS), false)]);
}

#[test]
fn a_host_is_not_blamed_for_more_than_its_pauses() {
    let limits = [Culprit::Limits(1)];
    // Its pauses are shorter than the limit, which is exceeded all the same.
    let short = paused(300 * MS, 2 * MS);
    assert_eq!(blamed(&short, [vec![fails(3e6, 0.1)]]), limits);
    // They are long, and far too few.
    let few = paused(20 * MS, 20 * MS);
    assert_eq!(blamed(&few, [vec![fails(12.0 * US, 0.3)]]), limits);
    // They are what it takes to fail, and not what makes most sleeps late: both are at fault, and behind the pauses
    // nobody sees what the other is.
    let both = paused(400 * MS, 20 * MS);
    let slack = with("slack 1 ns", Outcome::Pass, 5.0 * US, fails(12.0 * US, 0.9));
    let told = blamed(&both, [vec![fails(12.0 * US, 0.9)], vec![slack]]);
    let both = [host(0.02, Some(20 * MS), false), mended("slack 1 ns", 1, 1)];
    assert_eq!(told, both);
    // What is fine is not blamed, be it ever so convenient.
    let fine = paused(100 * MS, MS / 2);
    let mut tight = fails(12.0 * US, 0.002);
    tight.quantile = 0.999;
    assert_eq!(blamed(&fine, [vec![tight]]), limits);
}

#[test]
fn what_nobody_here_can_have_taken_is_most_likely_the_hosts() {
    let mut machine = Machine::fine();
    machine.trials[0] = trial("idle", &[(Cause::Unknown, 5_000 * MS, 400 * MS)]);
    let told = blamed(&machine, [vec![fails(5e6, 0.3)]]);
    assert_eq!(told, [host(0.25, Some(400 * MS), true)]);
    // Steal of which nobody saw how it came is the host's all the same.
    let mut machine = Machine::fine();
    machine.trials[0].findings = Default::default();
    machine.trials[0].cpu_use.as_mut().unwrap().stolen_ns = Some(8 * SECOND);
    let told = blamed(&machine, [vec![fails(5e6, 0.3)]]);
    assert_eq!(told, [host(0.2, None, false)]);
}

#[test]
fn other_programs_are_named_and_the_host_beside_them_is_not() {
    let mut machine = Machine::fine();
    let taken = [
        (Cause::Preempted, 10 * SECOND, 4 * MS),
        (Cause::Stolen, 80 * MS, MS / 10),
    ];
    machine.trials[0] = trial("idle", &taken);
    machine.trials[0].cpu_use = Some(cpu_use(20 * SECOND, &[("transcode", 20 * SECOND)]));
    let told = blamed(&machine, [vec![fails(781.0 * US, 0.05)]]);
    assert_eq!(told, [programs("transcode")]);
    // A failure that was taken back since it is theirs.
    let mut taken_back = judged("idle", 781.0 * US, 0.05, Outcome::Inconclusive);
    taken_back.fails_beside_others = true;
    let told = blamed(&machine, [vec![taken_back]]);
    assert_eq!(told, [programs("transcode")]);
    // Their slices are shorter than this limit.
    let told = blamed(&machine, [vec![fails(5e6, 0.05)]]);
    assert_eq!(told, [Culprit::Limits(1)]);
}

#[test]
fn of_two_that_cost_as_much_who_took_more_comes_first() {
    let blamed_with = |stolen_ns| {
        let mut machine = Machine::fine();
        let taken = [
            (Cause::Preempted, 8 * SECOND, 40 * MS),
            (Cause::Stolen, stolen_ns, 400 * MS),
        ];
        machine.trials[0] = trial("idle", &taken);
        machine.trials[0].cpu_use = Some(cpu_use(20 * SECOND, &[("transcode", 16 * SECOND)]));
        blamed(&machine, [vec![fails(5e6, 0.4)]])
    };
    let (little, much) = (4 * SECOND, 11 * SECOND);
    let host = |share| host(share, Some(400 * MS), false);
    assert_eq!(blamed_with(little), [programs("transcode"), host(0.2)]);
    assert_eq!(blamed_with(much), [host(0.55), programs("transcode")]);
}

#[test]
fn a_quota_that_is_used_up_is_blamed() {
    let mut machine = Machine::fine();
    machine.environment.cgroup.quota_cpus = Some(0.5);
    machine.environment.cgroup.period_us = Some(100_000);
    machine.throttling = Some(Throttling {
        periods: 700,
        throttled_periods: 350,
        throttled_ns: 17 * SECOND,
    });
    assert_eq!(blamed(&machine, [vec![fails(5e6, 0.3)]]), [Culprit::Quota]);
}

#[test]
fn what_a_remedy_mends_is_named_by_it_with_what_is_not_shown_yet() {
    let slack = |outcome, estimate_ns, before| with("slack 1 ns", outcome, estimate_ns, before);
    let uses = || {
        [
            vec![slack(Outcome::Pass, 5.0 * US, fails(40.0 * US, 0.9))],
            // Too few samples, and within the limit.
            vec![slack(
                Outcome::Inconclusive,
                5.0 * US,
                fails(40.0 * US, 0.9),
            )],
            // Not within the limit.
            vec![slack(Outcome::Inconclusive, 5.0 * US, fails(2.0 * US, 0.9))],
        ]
    };
    assert!(blamed(&Machine::fine(), []).is_empty());
    let told = blamed(&Machine::fine(), uses());
    assert_eq!(told, [mended("slack 1 ns", 1, 2), Culprit::Limits(1)]);
    // What spinning mends is no fault.
    let spun = with("spinning", Outcome::Pass, 60.0, fails(120.0, 1.0));
    let told = blamed(&Machine::fine(), [vec![spun]]);
    assert_eq!(told, [mended("spinning", 1, 1)]);
    assert!(!told[0].is_fault());
}

#[test]
fn a_kernel_without_timers_and_an_imitated_processor_are_blamed() {
    let mut machine = Machine::fine();
    machine.environment.clock.clocksource = Some("jiffies".to_owned());
    let told = blamed(&machine, [vec![fails(12.0 * US, 1.0)]]);
    assert_eq!(told, [Culprit::Kernel(KernelFault::NoHighResolution)]);
    let mut machine = Machine::fine();
    machine.environment.virtualization.emulated = Some("QEMU".to_owned());
    let told = blamed(&machine, [vec![fails(12.0 * US, 1.0)]]);
    assert_eq!(told, [Culprit::Emulated("QEMU".to_owned())]);
}

#[test]
fn a_slack_larger_than_the_limit_is_the_fault_whatever_was_measured_in_its_place() {
    let uses = || {
        [vec![with(
            "hybrid sleep",
            Outcome::Pass,
            12.0 * US,
            fails(40.0 * US, 0.9),
        )]]
    };
    let mut machine = Machine::fine();
    machine.environment.clock.timer_slack_ns = Some(250_000);
    // That the sleep passes without it is not shown.
    assert_eq!(blamed(&machine, uses()), [mended("slack 1 ns", 0, 1)]);
    machine.environment.clock.timer_slack_ns = Some(20_000);
    let tight = [mended("hybrid sleep", 1, 1)];
    assert_eq!(blamed(&machine, uses()), tight);
    // Real-time threads have none.
    machine.environment.clock.timer_slack_ns = Some(250_000);
    machine.environment.scheduling.policy = Some("fifo".to_owned());
    assert_eq!(blamed(&machine, uses()), tight);
}

#[test]
fn a_slack_that_a_remedy_mends_is_said_once_and_what_else_is_set_beside_it() {
    let mut machine = Machine::fine();
    machine.environment.clock.timer_slack_ns = Some(4_000_000);
    let slack = || {
        vec![with(
            "slack 1 ns",
            Outcome::Pass,
            5.0 * US,
            fails(40.0 * US, 1.0),
        )]
    };
    assert_eq!(blamed(&machine, [slack()]), [mended("slack 1 ns", 1, 1)]);
    assert_eq!(
        blamed(&machine, [vec![fails(40.0 * US, 1.0)]]),
        [Culprit::Kernel(KernelFault::Slack(4_000_000))]
    );
    machine.environment.clock.clocksource = Some("jiffies".to_owned());
    let both = [
        mended("slack 1 ns", 1, 1),
        Culprit::Kernel(KernelFault::NoHighResolution),
    ];
    assert_eq!(blamed(&machine, [slack()]), both);
}

#[test]
fn what_costs_most_verdicts_comes_first_and_faults_before_what_is_nobodys() {
    let mut machine = paused(400 * MS, 20 * MS);
    machine.environment.time_keeping = Some(TimeKeeping::default());
    machine.environment.synchronisation = Some(Synchronisation::default());
    let slack = |load: &str| {
        let before = judged(load, 40.0 * US, 0.9, Outcome::Fail);
        with("slack 1 ns", Outcome::Pass, 5.0 * US, before)
    };
    let spun = || with("spinning", Outcome::Pass, 60.0, fails(120.0, 1.0));
    // The pauses cost two, slack three, and limits, whose remedy is to spin, four; what spinning mends is no fault.
    let host = host(0.02, Some(20 * MS), false);
    let clock = Culprit::Clock(ClockFault::NotSynchronised);
    let slow = || vec![fails(5e6, 0.02)];
    let of_slack = vec![slack("idle"), slack("busy"), slack("io")];
    let told = blamed(&machine, [slow(), slow(), of_slack, vec![spun(); 4]]);
    let [first, second, third, last] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(*first, mended("slack 1 ns", 3, 3));
    assert_eq!([second, third], [&host, &clock]);
    assert_eq!(*last, mended("spinning", 4, 4));
}

#[test]
fn what_was_not_shown_to_help_comes_after_faults_that_are_seen() {
    let mut machine = Machine::fine();
    machine.environment.time_keeping = Some(TimeKeeping::default());
    machine.environment.synchronisation = Some(Synchronisation::default());
    let before = || judged("idle", 40.0 * US, 0.9, Outcome::Fail);
    let of = |outcome| vec![with("slack 1 ns", outcome, 5.0 * US, before())];
    let clock = Culprit::Clock(ClockFault::NotSynchronised);
    let told = blamed(&machine, [of(Outcome::Inconclusive)]);
    assert_eq!(told, [clock.clone(), mended("slack 1 ns", 0, 1)]);
    // Shown for one it is what costs most.
    let told = blamed(&machine, [of(Outcome::Inconclusive), of(Outcome::Pass)]);
    assert_eq!(told, [mended("slack 1 ns", 1, 2), clock]);
}

#[test]
fn who_makes_most_sleeps_late_comes_first_whatever_limits_a_little_exceeds() {
    let mut machine = Machine::fine();
    let taken = [
        (Cause::Preempted, 19 * SECOND, 4 * MS),
        (Cause::Stolen, 60 * MS, 20 * MS),
    ];
    machine.trials[0] = trial("idle", &taken);
    machine.trials[0].cpu_use = Some(cpu_use(20 * SECOND, &[("transcode", 19 * SECOND)]));
    // Two limits that the slices of the program keep, and the pauses of the host exceed now and then.
    let rare = || {
        let mut fails = fails(10e6, 0.003);
        fails.quantile = 0.999;
        vec![fails]
    };
    let told = blamed(&machine, [rare(), rare(), vec![fails(781.0 * US, 0.5)]]);
    // Beside whom the host, which made one late in a hundred of his, is not named.
    assert_eq!(told, [programs("transcode")]);
    let more = [
        (Cause::Preempted, 19 * SECOND, 4 * MS),
        (Cause::Stolen, 3 * SECOND, 20 * MS),
    ];
    machine.trials[0] = trial("idle", &more);
    machine.trials[0].cpu_use = Some(cpu_use(20 * SECOND, &[("transcode", 19 * SECOND)]));
    let told = blamed(&machine, [vec![fails(781.0 * US, 0.5)]]);
    let host = host(0.15, Some(20 * MS), false);
    assert_eq!(told, [programs("transcode"), host]);
}
