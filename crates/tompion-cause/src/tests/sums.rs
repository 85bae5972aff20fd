//! Whatever the evidence, parts sum to the stall and say where they come from.

use proptest::prelude::*;

use super::*;
use crate::{Lost, OffCpu, lost};

fn what() -> impl Strategy<Value = What> {
    let task = (0..4i32, prop::option::of("[a-c]{1,3}|migration/1"));
    prop_oneof![
        Just(What::OffCpu(OffCpu::Preempted)),
        Just(What::OffCpu(OffCpu::Stopped)),
        Just(What::OffCpu(OffCpu::Waiting)),
        Just(What::OffCpu(OffCpu::Left)),
        Just(What::Runnable),
        task.prop_map(|(tid, name)| What::Ran(Task { tid, name })),
        any::<bool>().prop_map(|tick| What::Interrupt {
            name: "irq".into(),
            tick
        }),
        Just(What::Softirq {
            name: "TIMER".into()
        }),
        Just(What::PageFault),
        Just(What::Migration {
            from_cpu: 0,
            to_cpu: 1
        }),
    ]
}

/// Spans in and around a stall, some of them inside out.
fn spans() -> impl Strategy<Value = Vec<Span>> {
    let time = || T - 50 * US..T + 400 * US;
    let span = (time(), time(), what()).prop_map(|(from_ns, until_ns, what)| Span {
        from_ns,
        until_ns,
        what,
    });
    prop::collection::vec(span, 0..12)
}

fn counters() -> impl Strategy<Value = Counters> {
    let ns = || prop::option::of(0..500 * US);
    let n = || prop::option::of(0..3u64);
    let times = (T - 100 * US..T + 500 * US, 0..700 * US, ns(), ns());
    (times, n(), n(), n(), n(), n()).prop_map(
        |((at_ns, cpu_time_ns, run_delay_ns, throttled_ns), v, i, minor, major, smi)| Counters {
            at_ns,
            cpu_time_ns,
            run_delay_ns,
            voluntary_switches: v,
            involuntary_switches: i,
            minor_faults: minor,
            major_faults: major,
            throttled_ns,
            smi,
        },
    )
}

fn access() -> impl Strategy<Value = Access> {
    any::<[bool; 3]>().prop_map(|[steal, switches, events]| Access {
        items: Vec::new(),
        steal_is_accounted: steal,
        has_switches: switches,
        has_cpu_events: events,
    })
}

fn check(length: u64, parts: &[Part]) -> Result<(), TestCaseError> {
    prop_assert_eq!(parts.iter().map(|p| p.ns).sum::<u64>(), length);
    for part in parts {
        prop_assert!(part.ns > 0);
        prop_assert_eq!(part.source.is_none(), part.cause == Cause::Unknown);
        prop_assert!(!part.because.is_empty());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn parts_sum_to_the_stall(
        length in 0..400 * US,
        spans in spans(),
        before in prop::option::of(counters()),
        after in prop::option::of(counters()),
        elsewhere_ns in 0..300 * US,
        access in access(),
    ) {
        let evidence = Evidence { before, after, elsewhere_ns, spans: &spans, access: &access };
        let parts = attribute(&stall(length), &evidence);
        check(length, &parts)?;
        if before.is_none() && spans.is_empty() && !access.has_cpu_events {
            prop_assert!(parts.iter().all(|p| p.cause == Cause::Unknown));
        }
        let mut turned = spans.clone();
        turned.reverse();
        let evidence = Evidence { spans: &turned, ..evidence };
        let again = attribute(&stall(length), &evidence);
        check(length, &again)?;
    }

    #[test]
    fn lost_time_of_a_program_sums_up_and_does_not_overlap(
        spans in spans(),
        mut polled in prop::collection::vec(counters(), 0..5),
        access in access(),
    ) {
        polled.sort_by_key(|c| c.at_ns);
        let all = lost(&spans, &polled, &access);
        for Lost { stall, parts } in &all {
            check(stall.until_ns - stall.from_ns, parts)?;
        }
        for pair in all.windows(2) {
            prop_assert!(pair[0].stall.until_ns < pair[1].stall.from_ns);
        }
    }
}
