use super::*;
use crate::Source;

fn none() -> Access {
    Access::default()
}

fn told(ns: u64, after: Counters, access: &Access) -> Vec<(Cause, u64)> {
    let parts = parts(ns, &[], Some((zero(), after)), access);
    for part in &parts {
        assert_eq!(part.by, None);
        let expected = (part.cause != Cause::Unknown).then_some(Source::Counter);
        assert_eq!(part.source, expected);
    }
    parts.iter().map(|p| (p.cause, p.ns / US)).collect()
}

#[test]
fn run_delay_is_preempted_and_throttled_as_far_as_the_group_was() {
    let counters = |throttled| Counters {
        run_delay_ns: Some(82 * MS),
        involuntary_switches: Some(2),
        throttled_ns: throttled,
        ..after(82 * MS, 0)
    };
    assert_eq!(
        told(82 * MS, counters(Some(0)), &none()),
        [(Cause::Preempted, 82_000)]
    );
    assert_eq!(
        told(82 * MS, counters(None), &none()),
        [(Cause::Preempted, 82_000)]
    );
    assert_eq!(
        told(82 * MS, counters(Some(80 * MS)), &none()),
        [(Cause::Throttled, 80_000), (Cause::Preempted, 2_000)]
    );
    // All CPUs of the group are added up.
    assert_eq!(
        told(82 * MS, counters(Some(200 * MS)), &none()),
        [(Cause::Throttled, 82_000)]
    );
}

#[test]
fn off_the_cpu_of_its_own_will_is_stopped_unless_a_disk_was_read() {
    let counters = Counters {
        voluntary_switches: Some(1),
        run_delay_ns: Some(100 * US),
        ..after(30 * MS, 4 * US)
    };
    assert_eq!(
        told(30 * MS, counters, &none()),
        [(Cause::Stopped, 29_900), (Cause::Preempted, 100)]
    );
    let disk = Counters {
        major_faults: Some(1),
        ..counters
    };
    assert_eq!(told(30 * MS, disk, &none())[0], (Cause::PageFault, 29_900));
}

#[test]
fn no_cpu_time_and_no_switch_is_stolen_only_where_that_is_accounted() {
    let access = Access {
        steal_is_accounted: true,
        ..none()
    };
    let gone = after(8 * MS, 0);
    assert_eq!(told(8 * MS, gone, &access), [(Cause::Stolen, 8_000)]);
    assert_eq!(told(8 * MS, gone, &none()), [(Cause::Unknown, 8_000)]);
    // Half of it on the CPU: that half nobody knows.
    let half = after(8 * MS, 4 * MS);
    assert_eq!(
        told(8 * MS, half, &access),
        [(Cause::Stolen, 4_000), (Cause::Unknown, 4_000)]
    );
}

#[test]
fn without_run_delay_involuntary_switches_tell() {
    let counters = Counters {
        run_delay_ns: None,
        involuntary_switches: Some(1),
        throttled_ns: None,
        ..after(4 * MS, 0)
    };
    assert_eq!(told(4 * MS, counters, &none()), [(Cause::Preempted, 4_000)]);
    let blind = Counters {
        voluntary_switches: None,
        involuntary_switches: None,
        ..counters
    };
    let access = Access {
        steal_is_accounted: true,
        ..none()
    };
    assert_eq!(told(4 * MS, blind, &access), [(Cause::Unknown, 4_000)]);
}

#[test]
fn time_on_the_cpu_is_page_faults_when_there_were_enough() {
    let faults = |n, ns| Counters {
        minor_faults: Some(n),
        ..after(ns, ns)
    };
    let small = parts(3 * MS, &[], Some((zero(), faults(256, 3 * MS))), &none());
    assert_eq!(brief(&small), [(Cause::PageFault, None, 3_000)]);
    let huge = parts(3 * MS, &[], Some((zero(), faults(8, 3 * MS))), &none());
    assert_eq!(brief(&huge), [(Cause::PageFault, None, 3_000)]);
    // The two say that they assume different things.
    assert_ne!(small[0].because, huge[0].because);
    assert_eq!(
        told(3 * MS, faults(1, 3 * MS), &none()),
        [(Cause::Unknown, 3_000)]
    );
}

#[test]
fn the_firmware_is_blamed_only_when_the_cpu_counted_it() {
    let smi = |n| Counters {
        smi: n,
        ..after(MS, MS)
    };
    assert_eq!(told(MS, smi(Some(1)), &none()), [(Cause::Smi, 1_000)]);
    assert_eq!(told(MS, smi(Some(0)), &none()), [(Cause::Unknown, 1_000)]);
    assert_eq!(told(MS, smi(None), &none()), [(Cause::Unknown, 1_000)]);
}

#[test]
fn growth_that_other_stalls_explain_is_not_charged() {
    let counters = Counters {
        at_ns: T + 101 * US,
        cpu_time_ns: 20 * US,
        run_delay_ns: Some(90 * US),
        ..zero()
    };
    let before = Counters {
        at_ns: T - 9 * MS,
        ..zero()
    };
    let counters = Counters {
        cpu_time_ns: 9 * MS + 11 * US,
        ..counters
    };
    let access = none();
    let with = |elsewhere_ns| {
        let evidence = Evidence {
            before: Some(before),
            after: Some(counters),
            elsewhere_ns,
            spans: &[],
            access: &access,
        };
        let parts = attribute(&stall(100 * US), &evidence);
        assert_eq!(parts.iter().map(|p| p.ns).sum::<u64>(), 100 * US);
        let charged = parts.iter().find(|p| p.cause == Cause::Preempted);
        charged.map_or(0, |p| p.ns / US)
    };
    // Growth 90 us; the 10 us on the CPU are the way in and out.
    assert_eq!(with(0), 100);
    assert_eq!(with(60 * US), 30);
    assert_eq!(with(100 * US), 0);
}

#[test]
fn readings_that_do_not_enclose_the_stall_say_nothing() {
    let late = Counters {
        at_ns: T + MS,
        ..zero()
    };
    let counters = Counters {
        run_delay_ns: Some(9 * MS),
        ..after(9 * MS, 0)
    };
    let access = none();
    assert_eq!(
        brief(&parts(9 * MS, &[], Some((late, counters)), &access)),
        [(Cause::Unknown, None, 9_000)]
    );
}
