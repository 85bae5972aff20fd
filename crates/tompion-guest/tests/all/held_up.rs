//! A busy loop in a guest that its host stops (`make guest`; ignored elsewhere).
//!
//! QEMU stopped by a signal leaves a gap in the guest's own time: one stall of that
//! length, of which nothing in the guest tells. Paused by its monitor, the guest's
//! clocks stand still too, and there is no stall to find.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::common::kit;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tompion_guest::Guest;

/// How long the host holds the guest up, and how often in each way. An emulated guest on
/// a busy host stands still for 50 ms by itself.
const HELD: Duration = Duration::from_millis(400);
const TIMES: u32 = 3;

/// How long after the guest's word that it measures the host begins, and so much later
/// with each attempt; the loop runs so much longer than that.
const BEGIN: Duration = Duration::from_secs(2);
const LATER: Duration = Duration::from_secs(2);
const LOOP: Duration = Duration::from_secs(9);

/// Between two holds: never the same pause, or each of them could meet the guest's own
/// observer at work, once in 100 ms, and be put down to it.
fn between_holds(hold: u32) -> Duration {
    Duration::from_millis(u64::from(760 + hold * 65 % 105))
}

/// Measures, and says so on the second serial port as soon as the run has its directory,
/// right before the loop.
const SCRIPT: &str = r#"
tompion measure stalls --duration "$1" --json --out /run-stalls &
while [ ! -e /run-stalls/run.json ]; do sleep 0.1; done
echo measuring >/dev/ttyS1
wait $!
"#;

/// How long a guest may take until it says so.
const BOOT: Duration = Duration::from_secs(60);

/// Emulated guests on a busy host stand still by themselves; each try is told.
const ATTEMPTS: u32 = 5;

/// Waits until `is_so`, at most until `within` has passed since `began`.
pub fn until(began: Instant, within: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        assert!(began.elapsed() < within, "{what}: not within {within:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a guest says on its second serial port that it measures, or has ended.
pub fn until_it_measures<T>(began: Instant, running: &JoinHandle<T>, said: &Path) {
    until(began, BOOT, "the guest's word that it measures", || {
        running.is_finished() || fs::metadata(said).is_ok_and(|file| file.len() > 0)
    });
}

/// The QEMU whose command line holds `mark`.
pub fn qemu(mark: &str) -> Option<Pid> {
    let is_ours = |process: &PathBuf| {
        fs::read(process.join("cmdline")).is_ok_and(|line| {
            line.starts_with(b"qemu") && String::from_utf8_lossy(&line).contains(mark)
        })
    };
    let found = fs::read_dir("/proc")
        .expect("/proc")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(is_ours)?;
    let pid = found.file_name()?.to_str()?.parse().ok()?;
    Some(Pid::from_raw(pid))
}

/// The same, once it has started.
pub fn started(began: Instant, mark: &str) -> Pid {
    let mut found = None;
    until(began, Duration::from_secs(20), "QEMU's start", || {
        found = qemu(mark);
        found.is_some()
    });
    found.expect("started")
}

/// Stalls whose bin reaches into the range, in milliseconds.
fn between(stalls: &Value, low_ms: f64, high_ms: f64) -> u64 {
    let bins = stalls["bins"].as_array().expect("bins");
    bins.iter()
        .filter(|bin| {
            let edge = |name: &str| bin[name].as_f64().expect("a number") / 1e6;
            edge("high_ns") > low_ms && edge("low_ns") < high_ms
        })
        .map(|bin| bin["count"].as_u64().expect("a count"))
        .sum()
}

/// Stops QEMU by a signal and lets it go on.
fn stop(qemu: Pid) -> Duration {
    let began = Instant::now();
    kill(qemu, Signal::SIGSTOP).expect("SIGSTOP");
    thread::sleep(HELD);
    kill(qemu, Signal::SIGCONT).expect("SIGCONT");
    began.elapsed()
}

/// Stops the guest by QEMU's monitor and lets it go on.
fn pause(monitor: &mut UnixStream) -> Duration {
    let began = Instant::now();
    monitor.write_all(b"stop\n").expect("stop");
    thread::sleep(HELD);
    monitor.write_all(b"cont\n").expect("cont");
    began.elapsed()
}

/// One guest that was held up.
struct Attempt {
    stalls: Value,
    stopped: Vec<Duration>,
    paused: Vec<Duration>,
}

impl Attempt {
    /// Runs the loop in a guest and holds the guest up in both ways meanwhile.
    fn make(number: u32) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join("monitor");
        let monitor = format!("unix:{},server=on,wait=off", socket.display());
        let mark = format!("tompion_held={number}");
        let kit = kit();
        let begin = BEGIN + LATER * number;
        let seconds = format!("{}s", (begin + LOOP).as_secs());
        let said = directory.path().join("said");
        let second_port = format!("file:{}", said.display());
        let guest = ["/bin/sh", "/bin/sleep"]
            .iter()
            .fold(Guest::new(&kit), |guest, tool| guest.dynamic(tool, tool))
            .file(
                "/bin/tompion",
                kit.program("tompion").expect("built by make guest"),
            )
            .command(["/bin/sh", "-c", SCRIPT, "sh", &seconds])
            .kernel_args([mark.as_str()])
            .qemu_args(["-serial", &second_port, "-monitor", &monitor]);
        let running = thread::spawn(move || guest.run());
        let began = Instant::now();
        let qemu = started(began, &mark);
        until_it_measures(began, &running, &said);
        if running.is_finished() {
            panic!("the guest ended early: {:?}", running.join());
        }
        eprintln!("measuring after {:.1} s", began.elapsed().as_secs_f64());
        thread::sleep(begin);
        // Kept open: the monitor drops what it has not read when the connection ends.
        let mut monitor = UnixStream::connect(&socket).expect("QEMU's monitor");
        let (mut stopped, mut paused) = (Vec::new(), Vec::new());
        for hold in (0..TIMES * 2).step_by(2) {
            let hold = number * TIMES * 2 + hold;
            stopped.push(stop(qemu));
            thread::sleep(between_holds(hold));
            paused.push(pause(&mut monitor));
            thread::sleep(between_holds(hold + 1));
        }
        let outcome = running
            .join()
            .expect("no panic")
            .unwrap_or_else(|e| panic!("{e}"));
        assert!(outcome.status.success(), "{}", outcome.stderr_text());
        let report: Value = serde_json::from_str(&outcome.stdout_text()).expect("JSON");
        Self {
            stalls: report["cells"][0]["stalls"].clone(),
            stopped,
            paused,
        }
    }

    /// Whether stops are stalls that no thread of the guest made, and no pause is
    /// one; with what was seen. On a busy host an emulated guest spends much of its time in its tick, in the
    /// observer and between two stalls: of three stops one may meet it there.
    fn judge(&self) -> (bool, String) {
        let longest = self.stopped.iter().chain(&self.paused).max().expect("some");
        let held_ms = HELD.as_secs_f64() * 1e3;
        let longest_ms = longest.as_secs_f64() * 1e3;
        let found = between(&self.stalls, held_ms * 0.9, longest_ms + held_ms * 0.5);
        let causes = self.stalls["causes"].as_array().expect("causes");
        let long: Vec<&Value> = causes
            .iter()
            .filter(|c| {
                c["longest_ns"]
                    .as_f64()
                    .is_some_and(|ns| ns > held_ms * 0.5e6)
            })
            .collect();
        let unmade = |c: &&Value| matches!(c["cause"].as_str(), Some("stolen" | "unseen"));
        let told = format!(
            "stopped {:?}, paused {:?}: {found} stalls of about that length; long ones by {long:?}",
            self.stopped, self.paused
        );
        let times = u64::from(TIMES);
        let (unmade, made): (Vec<&Value>, Vec<&Value>) = long.into_iter().partition(unmade);
        let stops_alone = (times - 1..=times).contains(&found);
        (stops_alone && !unmade.is_empty() && made.len() <= 1, told)
    }
}

#[test]
#[ignore = "boots a guest: make guest"]
fn a_stopped_host_is_a_stall_that_no_guest_thread_made_and_a_paused_guest_has_none() {
    let mut tried = Vec::new();
    for number in 0..ATTEMPTS {
        let (right, told) = Attempt::make(number).judge();
        tried.push(told);
        if right {
            eprintln!("{}", tried.join("\n"));
            return;
        }
    }
    panic!("{}", tried.join("\n"));
}
