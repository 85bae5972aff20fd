//! look
#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use std::time::Duration;
fn main() {
    let cpu = a_cpu();
    let busy = Busy::start("busy", cpu, || spin(Duration::from_millis(1)));
    let hog = Busy::start("hog", cpu, || {
        spin(Duration::from_millis(5));
        std::thread::sleep(Duration::from_millis(45))
    });
    let (mut r, access) =
        tompion_observe::events::Recorder::attach(&[busy.tid(), hog.tid()], &[cpu]);
    println!("{access:#?}");
    std::thread::sleep(Duration::from_millis(100));
    let now = monotonic_ns();
    let d = r.drain_past(now, Duration::from_millis(200));
    println!(
        "{} {} records {} lost {:?}",
        busy.tid(),
        hog.tid(),
        r.records(),
        d.lost
    );
    for (tid, spans) in &d.threads {
        println!("thread {tid}");
        for s in spans {
            println!(
                "  {:10} {:8} {:?}",
                (s.from_ns - r.since_ns().min(s.from_ns)) / 1000,
                s.until_ns - s.from_ns,
                s.what
            );
        }
    }
    println!("until {} now {}", d.until_ns, now);
    println!("cpu spans {}", d.cpus[0].1.len());
}
