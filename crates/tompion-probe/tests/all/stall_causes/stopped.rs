//! A process is stopped by a signal.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tompion_cause::{Cause, describe_stall};
use tompion_probe::stalls::{Settings, measure, ring};
use tompion_time::Rate;
use tompion_time::os::{self, ClockId};

use super::counters::{Proc, causes, ns_of};

const MS: u64 = 1_000_000;

/// A row as the child tells it.
#[derive(Debug)]
#[allow(dead_code)] // the words are for who reads the output
struct Told {
    from_ns: u64,
    until_ns: u64,
    stopped_ns: u64,
    words: String,
}

/// Not a test by itself: the process that the test below stops.
#[test]
#[ignore = "the process that another test starts and stops"]
fn child_that_loops() {
    let settings = Settings {
        time_ns: 400 * MS,
        ..Settings::default()
    };
    let (mut producer, mut consumer) = ring(1 << 14);
    let mut counters = Proc::of_this_thread();
    let rate = Rate::measure(Duration::from_millis(20)).map(|m| m.1);
    println!("\nready");
    measure(rate, || counters.read(), &settings, &mut producer).unwrap();
    while let Some(row) = consumer.pop() {
        let parts = causes(&row);
        let (from, until) = (row.stall.from_ns, row.stall.until_ns);
        let (stopped, words) = (ns_of(&parts, Cause::Stopped), describe_stall(&parts));
        println!("row {from} {until} {stopped} {words}");
    }
}

/// Stops a looping child for 30 ms. Returns from when to when it surely was, the
/// longest that it can have been, and its rows.
fn stop_a_child() -> (u64, u64, u64, Vec<Told>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "stall_causes::stopped::child_that_loops",
            "--ignored",
            "--nocapture",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_raw(child.id().cast_signed());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = lines
        .by_ref()
        .map_while(Result::ok)
        .any(|line| line == "ready");
    assert!(ready, "the child ended before it looped");
    std::thread::sleep(Duration::from_millis(120));
    let now = || os::now_ns(ClockId::Monotonic);
    let before = now();
    kill(pid, Signal::SIGSTOP).unwrap();
    // It stops when it next has a CPU; the kernel tells.
    let stopped = waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert_eq!(stopped, WaitStatus::Stopped(pid, Signal::SIGSTOP));
    let from = now();
    std::thread::sleep(Duration::from_millis(30));
    let until = now();
    kill(pid, Signal::SIGCONT).unwrap();
    let most = now() - before;
    let told = lines
        .map_while(Result::ok)
        .filter_map(|line| {
            let mut fields = line.strip_prefix("row ")?.splitn(4, ' ');
            let mut number = || fields.next().unwrap().parse().unwrap();
            Some(Told {
                from_ns: number(),
                until_ns: number(),
                stopped_ns: number(),
                words: fields.next().unwrap().to_owned(),
            })
        })
        .collect();
    assert!(child.wait().unwrap().success());
    (from, until, most, told)
}

#[test]
fn a_stop_of_30_ms_is_one_stall_of_that_length() {
    // A stop that came while the child was reading its counters may be in pieces.
    for attempt in 1..=6 {
        let (from, until, most, rows) = stop_a_child();
        let (length, quarter) = (until - from, (until - from) / 4);
        let (within, others): (Vec<&Told>, Vec<&Told>) = rows
            .iter()
            .partition(|r| r.until_ns > from + quarter && r.from_ns < until - quarter);
        println!(
            "attempt {attempt}: stopped for {length} ns; {within:?}; {} other rows",
            others.len()
        );
        // Whatever else goes on, the stop is in one piece.
        let [row] = within[..] else {
            panic!("one stall, not {}", within.len())
        };
        assert!(row.from_ns <= from + quarter && row.until_ns >= until);
        let stopped = length * 9 / 10..=most;
        if stopped.contains(&row.stopped_ns) {
            // No other claims anything like it.
            assert!(others.iter().all(|r| r.stopped_ns < length / 2));
            return;
        }
    }
    panic!("never stopped for as long as it was: see above");
}
