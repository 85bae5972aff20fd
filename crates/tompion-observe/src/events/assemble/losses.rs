//! Records that are missing.

use tompion_cause::OffCpu;

use super::super::decode::interrupt;
use super::tests::{HOG, ME, assembler, at, off, spans_of, switch};
use super::*;

#[test]
fn an_interrupt_without_end_is_a_moment() {
    let mut a = assembler();
    let disk = a.label(interrupt("disk"));
    let kind = Kind::Irq(9);
    a.push(at(100, 0, Event::Enter { kind, label: disk }));
    a.push(at(900, 0, Event::Enter { kind, label: disk }));
    a.push(at(950, 0, Event::Exit { kind }));
    a.push(at(960, 0, Event::Exit { kind }));
    let times: Vec<_> = spans_of(&mut a, ME).iter().map(|s| (s.0, s.1)).collect();
    assert_eq!(times, [(100, 100), (900, 950)]);
}

#[test]
fn a_loss_forgets_what_was_open() {
    let mut a = assembler();
    let disk = a.label(interrupt("disk"));
    a.push(at(50, 0, switch(HOG, OffCpu::Preempted, ME)));
    a.push(at(
        100,
        0,
        Event::Enter {
            kind: Kind::Irq(9),
            label: disk,
        },
    ));
    let origin = Origin::Cpu(0);
    a.push(at(100, 0, Event::Lost { origin }));
    a.push(at(500, 0, Event::Again { origin }));
    a.push(at(600, 0, Event::Exit { kind: Kind::Irq(9) }));
    a.push(at(700, 0, switch(HOG, OffCpu::Preempted, ME)));
    let (_, cpus) = a.take();
    let spans: Vec<_> = cpus[0].1.iter().map(|s| (s.from_ns, s.until_ns)).collect();
    // The hog's turn, mine as far as it is known, the moment of the interrupt, and
    // the hog again from where records begin again.
    assert_eq!(spans, [(0, 50), (50, 100), (100, 100), (500, 700)]);
}

/// While the records of its CPU are missing, those of the thread go on.
#[test]
fn within_a_gap_of_its_cpu_nobody_is_said_to_have_run() {
    let mut a = assembler();
    let tick = a.label(interrupt("local_timer"));
    let kind = Kind::Vector(tick);
    let origin = Origin::Cpu(0);
    a.push(at(50, 0, switch(ME, OffCpu::Preempted, HOG)));
    a.push(at(90, 0, Event::Enter { kind, label: tick }));
    a.push(at(100, 0, Event::Lost { origin }));
    // Its turns within the gap, by its own ring alone, with a move between.
    let how = OffCpu::Preempted;
    a.push(at(200, 0, Event::In { tid: ME }));
    a.push(at(300, 0, Event::Out { tid: ME, how }));
    a.push(at(5000, 1, Event::In { tid: ME }));
    a.push(at(6000, 1, Event::Out { tid: ME, how }));
    a.push(at(7000, 0, Event::In { tid: ME }));
    let how = OffCpu::Waiting;
    a.push(at(8000, 0, Event::Out { tid: ME, how }));
    a.push(at(9000, 0, Event::Again { origin }));
    a.push(at(9500, 0, switch(HOG, OffCpu::Preempted, 0)));
    let spans = spans_of(&mut a, ME);
    let beside = |s: &&(u64, u64, What)| matches!(s.2, What::Ran(_) | What::Interrupt { .. });
    let beside: Vec<_> = spans.iter().filter(beside).map(|s| (s.0, s.1)).collect();
    // The hog until the gap, and the moment of the interrupt.
    assert_eq!(beside, [(50, 100), (90, 90)]);
    let offs = spans.iter().filter(|s| s.2 == off(OffCpu::Preempted));
    let offs: Vec<_> = offs.map(|s| (s.0, s.1)).collect();
    assert_eq!(offs, [(50, 200), (300, 5000), (6000, 7000)]);
}

#[test]
fn a_lost_return_leaves_a_moment() {
    let mut a = Assembler::new(Names::new(|_| None));
    a.watch(ME, 0, true);
    a.push(at(
        1000,
        0,
        Event::Out {
            tid: ME,
            how: OffCpu::Left,
        },
    ));
    a.push(at(
        5000,
        0,
        Event::Lost {
            origin: Origin::Thread(ME),
        },
    ));
    a.push(at(6000, 0, Event::In { tid: ME }));
    assert_eq!(spans_of(&mut a, ME), [(1000, 1000, off(OffCpu::Left))]);
}

#[test]
fn a_record_older_than_the_first_look_wins_over_it() {
    let mut a = Assembler::new(Names::new(|_| None));
    a.watch(ME, 0, true);
    a.push(at(10, 0, Event::In { tid: ME }));
    a.push(at(
        20,
        0,
        Event::Found {
            tid: ME,
            off: Some(OffCpu::Waiting),
        },
    ));
    a.push(at(
        30,
        0,
        Event::Out {
            tid: ME,
            how: OffCpu::Left,
        },
    ));
    a.push(at(40, 0, Event::In { tid: ME }));
    assert_eq!(spans_of(&mut a, ME), [(30, 40, off(OffCpu::Left))]);
}

#[test]
fn lost_faults_leave_the_switches_alone() {
    let mut a = Assembler::new(Names::new(|_| None));
    a.watch(ME, 0, true);
    a.push(at(900, 0, Event::Fault { tid: ME }));
    a.push(at(
        1000,
        0,
        Event::Out {
            tid: ME,
            how: OffCpu::Left,
        },
    ));
    a.push(at(
        5000,
        0,
        Event::Lost {
            origin: Origin::Faults(ME),
        },
    ));
    a.push(at(6000, 0, Event::In { tid: ME }));
    a.push(at(7000, 0, Event::Served { tid: ME }));
    assert_eq!(spans_of(&mut a, ME), [(1000, 6000, off(OffCpu::Left))]);
}

#[test]
fn a_fault_lasts_until_it_is_served() {
    let mut a = assembler();
    a.push(at(10, 0, Event::Fault { tid: ME }));
    a.push(at(15, 0, Event::Served { tid: ME }));
    a.push(at(20, 0, Event::Served { tid: ME }));
    a.push(at(30, 0, Event::Fault { tid: ME }));
    a.push(at(40, 0, Event::Fault { tid: ME }));
    a.push(at(45, 0, Event::Served { tid: ME }));
    let times: Vec<_> = spans_of(&mut a, ME).iter().map(|s| (s.0, s.1)).collect();
    assert_eq!(times, [(10, 15), (30, 30), (40, 45)]);
}
