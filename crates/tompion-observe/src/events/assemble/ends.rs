//! What began before the watch, or goes on when it ends.

use tompion_cause::OffCpu;

use super::tests::{HOG, ME, at, off, ran, spans_of, switch};
use super::*;

/// Spans of a thread that was found so, after the records and the end.
fn until_the_end(found: Option<OffCpu>, records: &[Record], idle: &[i32]) -> Vec<(u64, u64, What)> {
    let mut a = Assembler::new(Names::new(|_| None));
    a.watch_cpu(0, 0);
    a.watch(ME, 0, true);
    let event = Event::Found {
        tid: ME,
        off: found,
    };
    a.push(at(10, 0, event));
    records.iter().for_each(|r| a.push(*r));
    a.close(9000, idle);
    spans_of(&mut a, ME)
}

#[test]
fn what_has_not_ended_ends_with_the_watch() {
    let stopped = OffCpu::Stopped;
    assert_eq!(
        until_the_end(Some(stopped), &[], &[ME]),
        [(10, 9000, off(stopped))],
        "stopped throughout"
    );
    let stops = [at(1000, 0, switch(ME, stopped, 0))];
    assert_eq!(
        until_the_end(None, &stops, &[]),
        [(1000, 9000, off(stopped))]
    );
    let preempted = [at(1000, 0, switch(ME, OffCpu::Preempted, HOG))];
    assert_eq!(
        until_the_end(None, &preempted, &[]),
        [
            (1000, 9000, ran(HOG, "hog")),
            (1000, 9000, off(OffCpu::Preempted))
        ]
    );
    let woken = [
        at(1000, 0, switch(ME, OffCpu::Waiting, HOG)),
        at(2000, 0, Event::Wake { tid: ME }),
    ];
    assert_eq!(
        until_the_end(None, &woken, &[]),
        [
            (1000, 2000, off(OffCpu::Waiting)),
            (2000, 9000, ran(HOG, "hog")),
            (2000, 9000, What::Runnable),
        ]
    );
}

#[test]
fn a_thread_found_able_to_run_may_have_been_kept_from_it() {
    // It comes in without having left.
    let comes = [at(8000, 0, switch(HOG, OffCpu::Preempted, ME))];
    assert_eq!(
        until_the_end(None, &comes, &[]),
        [(10, 8000, ran(HOG, "hog")), (10, 8000, What::Runnable)]
    );
    // Without any record its CPU time tells.
    assert_eq!(until_the_end(None, &[], &[]), []);
    assert_eq!(
        until_the_end(None, &[], &[ME]),
        [(10, 9000, What::Runnable)]
    );
    let leaves = [at(8000, 0, switch(ME, OffCpu::Preempted, HOG))];
    assert_eq!(
        until_the_end(None, &leaves, &[ME])[1..],
        [(8000, 9000, off(OffCpu::Preempted))]
    );
}
