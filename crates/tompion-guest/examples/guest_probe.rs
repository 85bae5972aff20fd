//! A payload for the tests of the guest: says what it sees, or misbehaves.
//!
//! Built static by `make guest`. The first argument chooses:
//! - `report STATUS ARGS...`: prints the arguments and facts, ends with STATUS;
//! - `pattern BYTES`: prints that many bytes of a pattern, then aborts;
//! - `hang`: says so on standard error and never ends.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
    match argument(0) {
        "report" => report(argument(1).parse().unwrap_or(99), &arguments),
        "pattern" => pattern(argument(1).parse().unwrap_or(0)),
        "hang" => {
            eprintln!("guest_probe hangs from here on");
            loop {
                thread::sleep(Duration::from_secs(3600));
            }
        }
        other => {
            eprintln!("guest_probe: unknown request '{other}'");
            ExitCode::from(98)
        }
    }
}

fn report(status: u8, arguments: &[String]) -> ExitCode {
    eprintln!("guest_probe reports");
    println!("arguments={arguments:?}");
    println!(
        "cpus={}",
        thread::available_parallelism().map_or(0, usize::from)
    );
    println!("first_clocksource={}", clocksource());
    println!("clocksource={}", settled_clocksource());
    ExitCode::from(status)
}

fn clocksource() -> String {
    let name = fs::read_to_string(CLOCKSOURCE).unwrap_or_else(|error| error.to_string());
    name.trim().to_owned()
}

/// The clock source once the kernel has made up its mind: it calibrates the TSC
/// for about a second after boot and calls it tsc-early until then.
fn settled_clocksource() -> String {
    let start = Instant::now();
    loop {
        let name = clocksource();
        if name == "tsc" || start.elapsed() > Duration::from_secs(4) {
            return name;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn pattern(bytes: u32) -> ExitCode {
    let content: Vec<u8> = (0..bytes).map(|n| (n % 251) as u8).collect();
    let mut stdout = io::stdout();
    // Flushed: what stays in the buffer does not survive an abort.
    if stdout
        .write_all(&content)
        .and_then(|()| stdout.flush())
        .is_err()
    {
        return ExitCode::from(97);
    }
    std::process::abort()
}
