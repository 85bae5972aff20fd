use super::*;
use crate::{OffCpu, Source};

const PREEMPTED: What = What::OffCpu(OffCpu::Preempted);

fn tick() -> What {
    What::Interrupt {
        name: "local_timer".into(),
        tick: true,
    }
}

fn interrupt(name: &str) -> What {
    What::Interrupt {
        name: name.into(),
        tick: false,
    }
}

fn softirq(name: &str) -> What {
    What::Softirq { name: name.into() }
}

#[test]
fn each_neighbour_is_named_with_its_time() {
    let spans = [
        span(3 * MS, 5 * MS + US, ran("b", 12)),
        span(2 * US, 5 * MS, PREEMPTED),
        // It had begun long before and sticks out.
        span(2 * US, 3 * MS, ran("a", 11)),
    ];
    assert_eq!(
        brief(&parts(5 * MS, &spans, None, &events())),
        [
            (Cause::Preempted, Some("a[11]"), 3_000),
            (Cause::Preempted, Some("b[12]"), 2_000)
        ]
    );
}

#[test]
fn a_tick_is_told_from_other_interrupts_and_keeps_the_way_in_and_out() {
    let spans = [
        span(US, 3 * US, tick()),
        span(10 * US, 14 * US, interrupt("virtio0-input.0")),
        span(14 * US, 40 * US, softirq("NET_RX")),
        // An interrupt within the softirq is served first.
        span(20 * US, 25 * US, interrupt("virtio1-req.0")),
    ];
    // 1 us before the tick and 2 us at the end are ways in and out; the 7 us
    // between tick and interrupt are more than that.
    assert_eq!(
        brief(&parts(42 * US, &spans, None, &events())),
        [
            (Cause::Softirq, Some("NET_RX"), 23),
            (Cause::Unseen, None, 7),
            (Cause::HardInterrupt, Some("virtio1-req.0"), 5),
            (Cause::HardInterrupt, Some("virtio0-input.0"), 4),
            (Cause::Tick, Some("local_timer"), 3),
        ]
    );
}

#[test]
fn what_the_cpu_does_is_no_concern_of_a_stopped_thread() {
    let spans = [
        span(US, 30 * MS, What::OffCpu(OffCpu::Stopped)),
        span(29 * MS, 30 * MS, What::Runnable),
        span(US, 30 * MS, ran("hog", 5)),
        span(4 * MS, 4 * MS + 3 * US, tick()),
    ];
    assert_eq!(
        brief(&parts(30 * MS, &spans, None, &events())),
        [
            (Cause::Stopped, None, 29_000),
            (Cause::Preempted, Some("hog[5]"), 1_000)
        ]
    );
}

#[test]
fn a_loop_that_left_its_cpu_unpreempted_was_stopped_unless_a_disk_was_read() {
    let spans = [span(0, 30 * MS, What::OffCpu(OffCpu::Left))];
    let stopped = parts(30 * MS, &spans, None, &events());
    assert_eq!(brief(&stopped), [(Cause::Stopped, None, 30_000)]);
    assert_eq!(stopped[0].source, Some(Source::Event));
    let disk = Counters {
        major_faults: Some(1),
        ..after(30 * MS, 0)
    };
    let read = parts(30 * MS, &spans, Some((zero(), disk)), &events());
    assert_eq!(brief(&read), [(Cause::PageFault, None, 30_000)]);
}

#[test]
fn waiting_within_a_page_fault_is_the_fault_and_else_waiting() {
    let waiting = What::OffCpu(OffCpu::Waiting);
    let spans = [
        span(0, 3 * MS, What::PageFault),
        span(10 * US, 5 * MS, waiting),
    ];
    assert_eq!(
        brief(&parts(5 * MS, &spans, None, &events())),
        [
            (Cause::PageFault, None, 2_990),
            (Cause::Waited, None, 2_000),
            // On its way there it was still on its CPU.
            (Cause::PageFault, None, 10)
        ]
    );
}

#[test]
fn throttled_time_is_the_idle_cpu_first_and_no_more_than_it_grew() {
    let spans = [
        span(0, 82 * MS, PREEMPTED),
        span(0, 2 * MS, ran("hog", 5)),
        span(2 * MS, 82 * MS, ran("swapper/0", 0)),
    ];
    let counters = |throttled| {
        Some((
            zero(),
            Counters {
                throttled_ns: Some(throttled),
                run_delay_ns: Some(82 * MS),
                ..after(82 * MS, 0)
            },
        ))
    };
    let whole = parts(82 * MS, &spans, counters(80 * MS), &events());
    assert_eq!(
        brief(&whole),
        [
            (Cause::Throttled, None, 80_000),
            (Cause::Preempted, Some("hog[5]"), 2_000)
        ]
    );
    assert_eq!(whole[0].source, Some(Source::Counter));
    assert_eq!(
        brief(&parts(82 * MS, &spans, counters(30 * MS), &events())),
        [
            (Cause::Unknown, None, 50_000),
            (Cause::Throttled, None, 30_000),
            (Cause::Preempted, Some("hog[5]"), 2_000)
        ]
    );
    // Without counters the idle CPU is all there is to go by.
    let by_idle = parts(82 * MS, &spans, None, &events());
    assert_eq!(brief(&by_idle)[0], (Cause::Throttled, None, 80_000));
    assert_eq!(by_idle[0].source, Some(Source::Event));
}

#[test]
fn a_gap_without_events_is_unseen_only_where_all_events_were_recorded() {
    let gap = |access: &Access, counters| brief(&parts(40 * MS, &[], counters, access))[0].0;
    let on_cpu = Some((zero(), after(40 * MS, 40 * MS)));
    let accounted = Access {
        steal_is_accounted: true,
        ..events()
    };
    assert_eq!(gap(&events(), None), Cause::Unseen);
    assert_eq!(gap(&events(), on_cpu), Cause::Unseen);
    assert_eq!(gap(&accounted, on_cpu), Cause::Unseen);
    assert_eq!(gap(&accounted, None), Cause::Unknown);
    assert_eq!(gap(&Access::default(), on_cpu), Cause::Unknown);
    assert_eq!(gap(&Access::default(), None), Cause::Unknown);
}

#[test]
fn stolen_time_within_events_is_what_the_counters_lack() {
    // 10 ms: 4 behind a neighbour, 5 stolen, 1 on the CPU and unseen.
    let spans = [span(MS, 5 * MS, PREEMPTED), span(MS, 5 * MS, ran("hog", 5))];
    let access = Access {
        steal_is_accounted: true,
        ..events()
    };
    let counters = Counters {
        run_delay_ns: Some(4 * MS),
        involuntary_switches: Some(1),
        ..after(10 * MS, MS)
    };
    assert_eq!(
        brief(&parts(10 * MS, &spans, Some((zero(), counters)), &access)),
        [
            (Cause::Stolen, None, 5_000),
            (Cause::Preempted, Some("hog[5]"), 4_000),
            (Cause::Unseen, None, 1_000)
        ]
    );
}

#[test]
fn being_moved_is_a_migration() {
    let moved = What::Migration {
        from_cpu: 0,
        to_cpu: 1,
    };
    // By the kernel's own thread.
    let spans = [
        span(0, 30 * US, PREEMPTED),
        span(0, 30 * US, ran("migration/0", 15)),
        span(20 * US, 20 * US, moved.clone()),
    ];
    assert_eq!(
        brief(&parts(30 * US, &spans, None, &events())),
        [(Cause::Migration, Some("migration/0[15]"), 30)]
    );
    // Known only by the moment, and no more than a move may cost.
    let moment = [span(20 * US, 20 * US, moved)];
    let none = Access::default();
    let cause = |ns| brief(&parts(ns, &moment, None, &none))[0].0;
    assert_eq!(cause(45 * US), Cause::Migration);
    assert_eq!(cause(4 * MS), Cause::Unknown);
}

#[test]
fn a_neighbour_counts_without_our_own_switches_but_not_against_them() {
    let spans = [span(0, 4 * MS, ran("hog", 5))];
    let cpu_only = Access {
        has_cpu_events: true,
        ..Access::default()
    };
    let cause = |access: &Access| brief(&parts(4 * MS, &spans, None, access))[0].0;
    assert_eq!(cause(&cpu_only), Cause::Preempted);
    // We know that we did not leave our CPU: it ran on another.
    assert_eq!(cause(&events()), Cause::Unseen);
}

#[test]
fn page_faults_known_by_their_moments_explain_what_they_can() {
    let spans: Vec<_> = (0..10)
        .map(|i| span(i * US, i * US, What::PageFault))
        .collect();
    let access = Access::default();
    let cause = |ns, spans: &[Span]| brief(&parts(ns, spans, None, &access))[0].0;
    assert_eq!(cause(100 * US, &spans), Cause::PageFault);
    assert_eq!(cause(100 * US, &spans[..1]), Cause::PageFault);
    assert_eq!(cause(20 * MS, &spans), Cause::Unknown);
}
