//! Planted records of known meaning.

use tompion_cause::{OffCpu, Task};

use super::super::decode::interrupt;
use super::super::names::to_comm;
use super::*;

pub(super) const ME: i32 = 100;
pub(super) const HOG: i32 = 200;

pub(super) fn assembler() -> Assembler {
    let mut a = Assembler::new(Names::new(|_| None));
    a.watch_cpu(0, 0);
    a.watch_cpu(1, 0);
    a.watch(ME, 0, true);
    a.push(at(0, 0, Event::Found { tid: ME, off: None }));
    a
}

pub(super) fn at(time_ns: u64, cpu: u32, event: Event) -> Record {
    Record {
        time_ns,
        cpu,
        event,
    }
}

pub(super) fn switch(prev: i32, how: OffCpu, next: i32) -> Event {
    let comm = |tid| match tid {
        ME => Some(to_comm("me")),
        HOG => Some(to_comm("hog")),
        _ => None,
    };
    Event::Switch {
        prev,
        prev_comm: comm(prev),
        how,
        next,
        next_comm: comm(next),
    }
}

pub(super) fn spans_of(a: &mut Assembler, tid: i32) -> Vec<(u64, u64, What)> {
    let (threads, _) = a.take();
    let spans = threads.into_iter().find(|t| t.0 == tid).unwrap().1;
    spans
        .into_iter()
        .map(|s| (s.from_ns, s.until_ns, s.what))
        .collect()
}

pub(super) fn ran(tid: i32, name: &str) -> What {
    What::Ran(Task {
        tid,
        name: Some(name.to_owned()),
    })
}

pub(super) fn off(how: OffCpu) -> What {
    What::OffCpu(how)
}

#[test]
fn a_preemption_names_who_ran() {
    let mut a = assembler();
    a.push(at(1000, 0, switch(ME, OffCpu::Preempted, HOG)));
    a.push(at(
        1001,
        0,
        Event::Out {
            tid: ME,
            how: OffCpu::Preempted,
        },
    ));
    assert_eq!(spans_of(&mut a, ME), [], "it has not ended");
    a.push(at(6000, 0, switch(HOG, OffCpu::Waiting, ME)));
    a.push(at(6001, 0, Event::In { tid: ME }));
    assert_eq!(
        spans_of(&mut a, ME),
        [
            (1000, 6000, ran(HOG, "hog")),
            (1000, 6000, off(OffCpu::Preempted))
        ]
    );
}

#[test]
fn a_wait_ends_with_the_wake_up() {
    let mut a = assembler();
    a.push(at(1000, 0, switch(ME, OffCpu::Waiting, 0)));
    a.push(at(1500, 0, switch(0, OffCpu::Preempted, HOG)));
    a.push(at(2000, 1, Event::Wake { tid: ME }));
    a.push(at(2500, 1, Event::Wake { tid: ME }));
    a.push(at(3000, 0, switch(HOG, OffCpu::Preempted, ME)));
    assert_eq!(
        spans_of(&mut a, ME),
        [
            (1000, 2000, off(OffCpu::Waiting)),
            // What ran while nobody wanted the CPU is no concern of the thread.
            (2000, 3000, ran(HOG, "hog")),
            (2000, 3000, What::Runnable),
        ]
    );
}

#[test]
fn without_the_cpus_events_the_threads_own_suffice() {
    let mut a = Assembler::new(Names::new(|_| None));
    a.watch(ME, 0, true);
    a.push(at(10, 0, Event::In { tid: ME }));
    a.push(at(
        1000,
        0,
        Event::Out {
            tid: ME,
            how: OffCpu::Left,
        },
    ));
    a.push(at(31_000, 0, Event::In { tid: ME }));
    a.push(at(
        32_000,
        0,
        Event::Out {
            tid: ME,
            how: OffCpu::Preempted,
        },
    ));
    a.push(at(33_000, 1, Event::In { tid: ME }));
    assert_eq!(
        spans_of(&mut a, ME),
        [
            (1000, 31_000, off(OffCpu::Left)),
            (32_000, 33_000, off(OffCpu::Preempted)),
            (
                33_000,
                33_000,
                What::Migration {
                    from_cpu: 0,
                    to_cpu: 1
                }
            ),
        ]
    );
}

#[test]
fn the_state_of_the_cpus_record_says_more_than_the_threads() {
    for cpu_first in [true, false] {
        let mut a = assembler();
        let of_cpu = at(1000, 0, switch(ME, OffCpu::Stopped, 0));
        let of_thread = at(
            1000,
            0,
            Event::Out {
                tid: ME,
                how: OffCpu::Left,
            },
        );
        let records = if cpu_first {
            [of_cpu, of_thread]
        } else {
            [of_thread, of_cpu]
        };
        records.into_iter().for_each(|r| a.push(r));
        a.push(at(31_000, 0, switch(0, OffCpu::Preempted, ME)));
        assert_eq!(spans_of(&mut a, ME), [(1000, 31_000, off(OffCpu::Stopped))]);
    }
}

#[test]
fn a_move_takes_its_share_of_both_cpus() {
    let mut a = assembler();
    a.push(at(500, 1, switch(0, OffCpu::Preempted, 300)));
    a.push(at(1000, 0, switch(ME, OffCpu::Preempted, HOG)));
    a.push(at(2000, 1, Event::Moved { tid: ME, to_cpu: 1 }));
    a.push(at(2600, 1, switch(300, OffCpu::Waiting, ME)));
    a.push(at(9000, 0, switch(HOG, OffCpu::Waiting, 0)));
    assert_eq!(
        spans_of(&mut a, ME),
        [
            (1000, 2000, ran(HOG, "hog")),
            (1000, 2600, off(OffCpu::Preempted)),
            (
                2000,
                2000,
                What::Migration {
                    from_cpu: 0,
                    to_cpu: 1
                }
            ),
            (
                2000,
                2600,
                What::Ran(Task {
                    tid: 300,
                    name: None
                })
            ),
        ]
    );
}

#[test]
fn interrupts_nest_and_belong_to_who_runs_there() {
    let mut a = assembler();
    let tick = a.label(interrupt("local_timer"));
    let net = a.label(What::Softirq {
        name: "NET_RX".to_owned(),
    });
    assert_eq!(
        a.label(What::Softirq {
            name: "NET_RX".to_owned()
        }),
        net,
        "known"
    );
    a.push(at(
        100,
        0,
        Event::Enter {
            kind: Kind::Softirq(3),
            label: net,
        },
    ));
    a.push(at(
        120,
        0,
        Event::Enter {
            kind: Kind::Vector(tick),
            label: tick,
        },
    ));
    a.push(at(
        150,
        0,
        Event::Exit {
            kind: Kind::Vector(tick),
        },
    ));
    a.push(at(
        200,
        0,
        Event::Exit {
            kind: Kind::Softirq(3),
        },
    ));
    a.push(at(
        250,
        1,
        Event::Enter {
            kind: Kind::Vector(tick),
            label: tick,
        },
    ));
    a.push(at(
        260,
        1,
        Event::Exit {
            kind: Kind::Vector(tick),
        },
    ));
    let (threads, cpus) = a.take();
    let times = |spans: &[Span]| {
        spans
            .iter()
            .map(|s| (s.from_ns, s.until_ns))
            .collect::<Vec<_>>()
    };
    assert_eq!(times(&threads[0].1), [(100, 200), (120, 150)]);
    assert_eq!(times(&cpus[0].1), [(100, 200), (120, 150)]);
    assert_eq!(times(&cpus[1].1), [(250, 260)]);
    assert!(matches!(
        threads[0].1[1].what,
        What::Interrupt { tick: true, .. }
    ));
}

#[test]
fn names_follow_exec_and_are_asked_for_once() {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = asked.clone();
    let mut a = Assembler::new(Names::new(move |tid| {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (tid == 300).then(|| "sh".to_owned())
    }));
    a.watch_cpu(0, 0);
    let bare = |prev, next| Event::Switch {
        prev,
        prev_comm: None,
        how: OffCpu::Preempted,
        next,
        next_comm: None,
    };
    a.push(at(10, 0, bare(300, 0)));
    a.push(at(20, 0, bare(0, 300)));
    a.push(at(30, 0, bare(300, 0)));
    a.push(at(
        35,
        0,
        Event::Named {
            tid: 300,
            comm: to_comm("a-name-that-is-far-too-long"),
        },
    ));
    a.push(at(40, 0, bare(0, 300)));
    a.push(at(50, 0, bare(300, 0)));
    let (_, cpus) = a.take();
    let names: Vec<_> = cpus[0]
        .1
        .iter()
        .map(|s| match &s.what {
            What::Ran(task) => task.name.clone().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["sh", "idle", "sh", "idle", "a-name-that-is-"]);
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1);
}
