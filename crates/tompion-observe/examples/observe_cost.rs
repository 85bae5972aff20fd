//! Prints what observing costs here: reading a thread's counters, the observer's
//! own CPU share, records a second, and what recording takes from a thread that
//! switches often.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::{Spinner, a_cpu, own_tid, pin_to};
use tompion_observe::observer::Settings;
use tompion_observe::{Observer, ThreadCounters};

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

    println!("a sleep of 100 us, again and again, medians of the time that it took:");
    for round in 1..=3 {
        let alone = sleeps();
        let settings = Settings {
            threads: vec![own_tid()],
            cpus: vec![cpu],
            ..Settings::default()
        };
        let Ok(observer) = Observer::start(settings) else {
            return;
        };
        let observed = sleeps();
        let seen = observer.finish();
        let seconds = (seen.window_ns.1 - seen.window_ns.0) as f64 / 1e9;
        println!("round {round}: alone {alone} ns, observed {observed} ns");
        println!(
            "  observer: {:.2} % of a CPU, {:.0} records a second, {} lost, {} disturbances",
            100.0 * seen.own_cpu_share,
            seen.records as f64 / seconds,
            seen.lost_records,
            seen.disturbances.len(),
        );
        if round == 1 {
            for (item, had) in &seen.access.items {
                println!(
                    "  {item}: {}",
                    had.as_ref().map_or_else(String::as_str, |()| "yes")
                );
            }
        }
    }
}

fn timed(work: impl FnOnce()) -> u64 {
    let began = Instant::now();
    work();
    began.elapsed().as_nanos() as u64
}

fn sleeps() -> u64 {
    median((0..10_000).map(|_| timed(|| std::thread::sleep(Duration::from_micros(100)))))
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    values[values.len() / 2]
}
