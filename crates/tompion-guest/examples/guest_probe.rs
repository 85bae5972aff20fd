//! A payload for the tests of the guest: says what it sees, or misbehaves.
//!
//! Built static by `make guest`. The first argument chooses:
//! - `report STATUS ARGS...`: prints the arguments and facts, ends with STATUS;
//! - `devices [ADDRESS [SECONDS]]`: prints the kernel, the disks and what is mounted on
//!   /scratch, where it keeps a file, sends that file to ADDRESS by UDP until it is
//!   answered, and sleeps;
//! - `offset ADDRESS`: asks there 50 times for the time and prints how far this clock is ahead;
//! - `pattern BYTES`: prints that many bytes of a pattern, then aborts;
//! - `hang`: says so on standard error and never ends.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
    match argument(0) {
        "report" => report(argument(1).parse().unwrap_or(99), &arguments),
        "pattern" => pattern(argument(1).parse().unwrap_or(0)),
        "devices" => devices(argument(1), argument(2).parse().unwrap_or(0)),
        "offset" => offset(argument(1)),
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

/// Of many answers the quickest: this clock was ahead by the middle between question and answer
/// less what was answered, or by as much more or less as half of the way took.
fn offset(host: &str) -> ExitCode {
    let now_ns = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_nanos() as f64
    };
    let ask = |number: u8| -> io::Result<(f64, f64)> {
        let socket = UdpSocket::bind(("0.0.0.0", 0))?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        socket.connect(host)?;
        let before = now_ns();
        socket.send(&[number])?;
        let mut answer = [0; 16];
        let length = socket.recv(&mut answer)?;
        let after = now_ns();
        let [first, there @ ..] = &answer[..length] else {
            return Err(io::Error::other("an empty answer"));
        };
        let there: [u8; 8] = there.try_into().map_err(io::Error::other)?;
        if *first != number {
            return Err(io::Error::other("the answer to another question"));
        }
        let there = u64::from_be_bytes(there) as f64;
        Ok((f64::midpoint(before, after) - there, (after - before) / 2.0))
    };
    let answers = (0..50).filter_map(|number| ask(number).ok());
    match answers.min_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((ahead, within)) => {
            println!("ahead_ns={ahead:.0} within_ns={within:.0}");
            ExitCode::SUCCESS
        }
        None => ExitCode::from(97),
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

fn devices(peer: &str, sleep_s: u64) -> ExitCode {
    let read = |path: &str| {
        let text = fs::read_to_string(path).unwrap_or_else(|error| error.to_string());
        text.trim().to_owned()
    };
    println!("release={}", read("/proc/sys/kernel/osrelease"));
    println!("version={}", read("/proc/sys/kernel/version"));
    println!(
        "cpus={}",
        thread::available_parallelism().map_or(0, usize::from)
    );
    println!("clocksource={}", clocksource());
    let mut disks: Vec<_> = fs::read_dir("/sys/block")
        .into_iter()
        .flatten()
        .flatten()
        .map(|disk| disk.file_name().to_string_lossy().into_owned())
        .collect();
    disks.sort();
    println!("disks={}", disks.join(" "));
    // Waits until the kernel has a seed.
    let random = fs::File::open("/dev/random").and_then(|mut f| f.read_exact(&mut [0; 8]));
    println!("random={random:?}");
    let mounts = read("/proc/mounts");
    let scratch = mounts.lines().find(|line| line.contains(" /scratch "));
    println!("scratch={}", scratch.unwrap_or("none"));
    let kept =
        fs::write("/scratch/words", "words on a disk").and_then(|()| fs::read("/scratch/words"));
    println!("kept={kept:?}");
    if !peer.is_empty() {
        match exchange(peer, &kept.unwrap_or_default()) {
            Ok((from, answer)) => println!("answer={answer} from {from}"),
            Err(error) => println!("answer={error}"),
        }
    }
    let start = Instant::now();
    thread::sleep(Duration::from_secs(sleep_s));
    println!("slept_s={}", start.elapsed().as_secs());
    ExitCode::SUCCESS
}

/// Sends and waits, again and again: whoever answers may not be there yet.
fn exchange(peer: &str, words: &[u8]) -> io::Result<(SocketAddr, String)> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut answer = [0; 100];
    let mut tries = 0;
    loop {
        socket.send_to(words, peer)?;
        tries += 1;
        match socket.recv_from(&mut answer) {
            Ok((count, from)) => {
                return Ok((from, String::from_utf8_lossy(&answer[..count]).into_owned()));
            }
            Err(error) if tries > 100 => return Err(error),
            Err(_) => {}
        }
    }
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
