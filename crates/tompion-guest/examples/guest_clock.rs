//! A payload for disposable guests: the clock where the kernel's own clock is
//! slewed, switched, or does not use the counter. Not for a machine that you care
//! for: it changes the clock's frequency and source.
//!
//! The first argument chooses; every answer is `KEY=VALUE` lines.
//! - `trust`: what each policy comes to;
//! - `slew PPM SECONDS`: follows the kernel slewed by +PPM, then by -PPM;
//! - `switch CLOCKSOURCE`: switches the kernel to another source and back.

use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use tompion_time::os::{self, ClockId};
use tompion_time::{Clock, Instant, Policy, Source};

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
    println!("clocksource={}", settled_clocksource());
    match argument(0) {
        "trust" => trust(),
        "slew" => {
            let (ppm, seconds) = (argument(1).parse(), argument(2).parse());
            let (Ok(ppm), Ok(seconds)) = (ppm, seconds) else {
                eprintln!("guest_clock: slew needs PPM and SECONDS");
                return ExitCode::from(98);
            };
            slew(ppm, seconds)
        }
        "switch" => switch(argument(1)),
        other => {
            eprintln!("guest_clock: unknown request '{other}'");
            ExitCode::from(98)
        }
    }
}

fn clocksource() -> String {
    fs::read_to_string(CLOCKSOURCE)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// The kernel calls the counter `tsc-early` until it has measured it, for about a
/// second after boot.
fn settled_clocksource() -> String {
    for _ in 0..200 {
        if clocksource() == "tsc" {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    clocksource()
}

fn trust() -> ExitCode {
    for policy in [Policy::Auto, Policy::Tsc, Policy::Kernel] {
        let report = Clock::init(policy);
        println!("{policy}={}", name(report.source));
        println!("{policy}_against={:?}", report.against);
        eprintln!("{report}");
    }
    ExitCode::SUCCESS
}

fn name(source: Source) -> String {
    match source {
        Source::Counter => "counter".to_owned(),
        Source::Kernel(why) => format!("{why:?}"),
    }
}

/// Compares the clock with the kernel's for a while: comparisons, the largest
/// error that is certain, and the share of comparisons beyond the stated bound.
struct Followed {
    taken: u64,
    worst_ns: u64,
    beyond_bound: u64,
    bound_ns: u64,
}

fn follow(seconds: u64) -> Followed {
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut f = Followed {
        taken: 0,
        worst_ns: 0,
        beyond_bound: 0,
        bound_ns: 0,
    };
    let mut bound = Clock::report().error_bound.as_nanos() as u64;
    while Instant::now() < end {
        let before = os::now_ns(ClockId::Monotonic);
        let ours = Instant::now_ordered().as_nanos();
        let after = os::now_ns(ClockId::Monotonic);
        let off = before.saturating_sub(ours).max(ours.saturating_sub(after));
        f.taken += 1;
        if f.taken.is_multiple_of(500) {
            bound = Clock::report().error_bound.as_nanos() as u64;
            thread::sleep(Duration::from_micros(f.taken % 12_000));
        }
        f.bound_ns = f.bound_ns.max(bound);
        f.worst_ns = f.worst_ns.max(off);
        f.beyond_bound += u64::from(off > bound);
    }
    f
}

fn slew(ppm: i64, seconds: u64) -> ExitCode {
    // By request: an emulator's counter is not trusted otherwise.
    let report = Clock::init(Policy::Tsc);
    println!("source={}", name(report.source));
    for (label, ppm) in [("plus", ppm), ("minus", -ppm), ("again", ppm)] {
        if let Err(error) = set_frequency(ppm) {
            eprintln!("guest_clock: adjtimex: {error}");
            return ExitCode::from(97);
        }
        let f = follow(seconds);
        let report = Clock::report();
        println!("{label}_source={}", name(report.source));
        println!("{label}_hz={:.0}", report.counter_hz.unwrap_or(0.0));
        println!("{label}_taken={}", f.taken);
        println!("{label}_worst_ns={}", f.worst_ns);
        println!("{label}_bound_ns={}", f.bound_ns);
        println!("{label}_beyond={}", f.beyond_bound);
    }
    let report = Clock::report();
    println!("losses={}", report.losses);
    println!("rate_changes={}", report.rate_changes);
    eprintln!("{report}");
    ExitCode::SUCCESS
}

fn set_frequency(ppm: i64) -> std::io::Result<()> {
    // SAFETY: all zeros is a valid timex.
    let mut t: libc::timex = unsafe { std::mem::zeroed() };
    t.modes = libc::ADJ_FREQUENCY;
    t.freq = (ppm << 16) as libc::c_long;
    // SAFETY: `t` is a valid timex.
    match unsafe { libc::adjtimex(&mut t) } {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn switch(to: &str) -> ExitCode {
    let report = Clock::init(Policy::Tsc);
    let home = clocksource();
    println!("source={}", name(report.source));
    let mut greatest = Instant::now_ordered();
    let mut backward = 0;
    let mut watch = |until: fn(Source) -> bool, limit: Duration| {
        let start = os::now_ns(ClockId::Monotonic);
        loop {
            let now = Instant::now_ordered();
            backward += u64::from(now < greatest);
            greatest = greatest.max(now);
            let passed = os::now_ns(ClockId::Monotonic) - start;
            if until(Clock::source()) || passed > limit.as_nanos() as u64 {
                return passed;
            }
        }
    };
    if let Err(error) = fs::write(CLOCKSOURCE, to) {
        eprintln!("guest_clock: switching to {to}: {error}");
        return ExitCode::from(97);
    }
    println!("now={}", clocksource());
    let noticed = watch(|s| s != Source::Counter, Duration::from_secs(2));
    println!("noticed_ns={noticed}");
    println!("after={}", name(Clock::source()));
    let _ = fs::write(CLOCKSOURCE, &home);
    println!("back={}", clocksource());
    let returned = watch(|s| s == Source::Counter, Duration::from_secs(10));
    println!("returned_ns={returned}");
    println!("finally={}", name(Clock::source()));
    println!("backward={backward}");
    eprintln!("{}", Clock::report());
    ExitCode::SUCCESS
}
