//! Whatever the records.

use proptest::prelude::*;
use tompion_cause::OffCpu;

use super::super::decode::interrupt;
use super::tests::{HOG, ME, assembler, at, switch};
use super::*;

fn any_event() -> impl Strategy<Value = (u32, Event)> {
    let tid = prop_oneof![Just(ME), Just(HOG), Just(0)];
    let how = prop_oneof![
        Just(OffCpu::Preempted),
        Just(OffCpu::Stopped),
        Just(OffCpu::Waiting),
        Just(OffCpu::Left)
    ];
    let kind = prop_oneof![
        Just(Kind::Irq(1)),
        Just(Kind::Softirq(1)),
        Just(Kind::Vector(0))
    ];
    let event = prop_oneof![
        (tid.clone(), how.clone(), tid.clone()).prop_map(|(p, h, n)| switch(p, h, n)),
        (tid.clone(), how).prop_map(|(tid, how)| Event::Out { tid, how }),
        tid.clone().prop_map(|tid| Event::In { tid }),
        tid.clone().prop_map(|tid| Event::Wake { tid }),
        (tid.clone(), 0..2u32).prop_map(|(tid, to_cpu)| Event::Moved { tid, to_cpu }),
        kind.clone()
            .prop_map(|kind| Event::Enter { kind, label: 0 }),
        kind.prop_map(|kind| Event::Exit { kind }),
        tid.clone().prop_map(|tid| Event::Fault { tid }),
        tid.clone().prop_map(|tid| Event::Served { tid }),
        (0..2u32).prop_map(|cpu| Event::Lost {
            origin: Origin::Cpu(cpu)
        }),
        (0..2u32).prop_map(|cpu| Event::Again {
            origin: Origin::Cpu(cpu)
        }),
        tid.clone().prop_map(|tid| Event::Lost {
            origin: Origin::Thread(tid)
        }),
        tid.prop_map(|tid| Event::Lost {
            origin: Origin::Faults(tid)
        }),
    ];
    (0..2u32, event)
}

proptest! {
    /// Whatever is lost or out of place: spans end after they begin, lie within
    /// the time recorded, and no two turns on a CPU overlap.
    #[test]
    fn spans_are_sound_whatever_the_records(events in prop::collection::vec(any_event(), 0..200)) {
        let mut a = assembler();
        a.label(interrupt("x"));
        let end = events.len() as u64 * 10;
        for (i, (cpu, event)) in events.into_iter().enumerate() {
            a.push(at(10 * i as u64, cpu, event));
        }
        let (threads, cpus) = a.take();
        for span in threads.iter().flat_map(|t| &t.1).chain(cpus.iter().flat_map(|c| &c.1)) {
            prop_assert!(span.from_ns <= span.until_ns && span.until_ns <= end);
        }
        for (_, spans) in &cpus {
            let turns: Vec<_> = spans.iter().filter(|s| matches!(s.what, What::Ran(_))).collect();
            prop_assert!(turns.windows(2).all(|w| w[0].until_ns <= w[1].from_ns));
        }
        for (_, spans) in &threads {
            let offs = |s: &&Span| matches!(s.what, What::OffCpu(_) | What::Runnable);
            let offs: Vec<_> = spans.iter().filter(offs).collect();
            prop_assert!(offs.windows(2).all(|w| w[0].until_ns <= w[1].from_ns));
        }
    }
}
