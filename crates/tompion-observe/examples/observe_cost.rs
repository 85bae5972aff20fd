//! Prints what observing costs here: reading a thread's counters, looking at all programs, the observer's
//! own CPU share, records a second, and what recording takes from a thread that
//! switches often.

#[path = "../tests/all/common.rs"]
#[allow(dead_code, unused_imports, reason = "made for the tests, all of it")]
mod common;

use std::time::{Duration, Instant};

use common::{Spinner, a_cpu, own_tid, pin_to};
use tompion_observe::events::{self, CpuEvents};
use tompion_observe::observer::Settings;
use tompion_observe::{Observer, Programs, ThreadCounters};

/// How often each way takes its turn, and how many sleeps a turn has.
const BLOCKS: usize = 8;
const SLEEPS: usize = 2000;

const KEPT: &str = "tracepoints kept in use, nothing recorded";

fn main() {
    let cpu = a_cpu();
    pin_to(cpu);
    let child = Spinner::start();
    for (whose, tid) in [("own", own_tid()), ("another process's", child.pid())] {
        let Ok(mut counters) = ThreadCounters::open(tid) else {
            continue;
        };
        let ns = median((0..20_000).map(|_| {
            timed(|| {
                std::hint::black_box(counters.read());
            })
        }));
        println!("reading {whose} counters: {ns} ns (median)");
    }
    for (item, had) in ThreadCounters::open(own_tid()).map_or_else(|_| Vec::new(), |c| c.access()) {
        println!(
            "  {item}: {}",
            had.map_or_else(|why| why, |()| "yes".to_owned())
        );
    }
    drop(child);
    let twice = median((0..200).map(|_| {
        let mut programs = Programs::new();
        timed(|| {
            programs.begin();
            std::hint::black_box(programs.end());
        })
    }));
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |e: &std::fs::DirEntry| e.file_name().to_string_lossy().parse::<u32>().is_ok();
    let processes = entries.filter(is_process).count();
    let us = twice as f64 / 2e3;
    println!("one look at all programs: {us:.0} us (median), {processes} processes");

    println!("a sleep of 100 us, observed in several ways in turn (ns):");
    let of = |cpu_events, thread_switches, page_faults| {
        Some(events::Settings {
            cpu_events,
            thread_switches,
            page_faults,
            ..events::Settings::default()
        })
    };
    let ways = [
        ("alone", None),
        ("alone again", None),
        (KEPT, None),
        ("counters only", Some(None)),
        (
            "the thread's switches",
            Some(of(CpuEvents::None, true, false)),
        ),
        (
            "the thread's switches and faults",
            Some(of(CpuEvents::None, true, true)),
        ),
        (
            "the CPU's switches",
            Some(of(CpuEvents::Switches, false, false)),
        ),
        (
            "the CPU's switches and interrupts",
            Some(of(CpuEvents::All, false, false)),
        ),
        ("all of these", Some(of(CpuEvents::All, true, true))),
    ];
    let mut took = ways.map(|_| Vec::new());
    let mut last = ways.map(|_| None);
    for _ in 0..BLOCKS {
        for ((way, took), last) in ways.iter().zip(&mut took).zip(&mut last) {
            let _keeper = (way.0 == KEPT).then(|| events::Keeper::of_all(cpu));
            let observer = way.1.map(|events| {
                Observer::start(Settings {
                    threads: vec![own_tid()],
                    cpus: vec![cpu],
                    events,
                    ..Settings::default()
                })
            });
            took.extend(
                (0..SLEEPS).map(|_| timed(|| std::thread::sleep(Duration::from_micros(100)))),
            );
            *last = observer.and_then(Result::ok).map(Observer::finish);
        }
    }
    for ((way, took), last) in ways.iter().zip(&mut took).zip(&last) {
        took.sort_unstable();
        let (p50, p95) = (took[took.len() / 2], took[took.len() * 95 / 100]);
        println!("  {}: median {p50}, p95 {p95}", way.0);
        if let Some(seen) = last {
            let seconds = (seen.window_ns.1 - seen.window_ns.0) as f64 / 1e9;
            println!(
                "    observer: {:.2} % of a CPU, {:.0} records a second, {} lost, {} disturbances",
                100.0 * seen.own_cpu_share,
                seen.records as f64 / seconds,
                seen.lost_records,
                seen.disturbances.len(),
            );
        }
    }
    for (item, had) in last
        .iter()
        .flatten()
        .last()
        .iter()
        .flat_map(|l| &l.access.items)
    {
        let had = had.as_ref().map_or_else(String::as_str, |()| "yes");
        println!("{item}: {had}");
    }
}

fn timed(work: impl FnOnce()) -> u64 {
    let began = Instant::now();
    work();
    began.elapsed().as_nanos() as u64
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    values[values.len() / 2]
}
