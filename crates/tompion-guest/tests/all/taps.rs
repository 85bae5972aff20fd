//! Round trips of a guest, seen from the guest, from its host and by the far end (`make guest`;
//! ignored elsewhere): a host that holds the guest up shows between the guest and the tap on the
//! host's side, and a far end that stands still beyond it.

use std::io::Cursor;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tompion_guest::{Guest, GuestError, HOST_ADDRESS, Outcome, Tap};

use crate::common::{kit, tap};
use crate::held_up::{started, until_it_measures};

/// How long the far end stands still before the guest does, and how long that does.
const FAR_END_HELD: Duration = Duration::from_millis(150);
const GUEST_HELD: Duration = Duration::from_millis(300);
/// From the guest's word that it measures until it is held up.
const BEGIN: Duration = Duration::from_millis(1500);
/// Emulated guests on a busy host stand still by themselves; each try is told.
const ATTEMPTS: u32 = 3;

/// Measures, says so on the second serial port once the run has its directory, and hands the run
/// over.
const SCRIPT: &str = r#"
tompion measure packet-delay --to "$1" --loads idle --intervals 20ms --probes 200 --blocks 1 \
    --out /run --quiet >&2 &
while [ ! -e /run/run.json ]; do sleep 0.1; done
echo measuring >/dev/ttyS1
wait $! || exit
tar -cf - -C / run
"#;

/// A program of the host's side, that ends with the test.
pub struct Running(Child);

impl Running {
    pub fn start(tap: &Tap, program: &Path, arguments: &[&str]) -> Self {
        let start = || {
            Command::new(program)
                .args(arguments)
                .stdout(Stdio::null())
                .spawn()
        };
        Self(tap.inside(start).expect("namespace").expect("started"))
    }

    /// Outside the guest's network.
    pub fn here(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        let command = command.args(arguments).stdout(Stdio::null());
        Self(command.spawn().expect("started"))
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).expect("a pid");
        kill(Pid::from_raw(pid), signal).expect("a signal");
    }

    /// Ends it as a user does.
    fn end(mut self) {
        self.signal(Signal::SIGINT);
        assert!(self.0.wait().expect("ended").success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A guest that runs `script` with these tools, reached by that network.
pub fn guest(tap: &Arc<Tap>, mark: &str, said: &Path, tools: &[&str], script: &str) -> Guest {
    let kit = kit();
    let second_port = format!("file:{}", said.display());
    tools
        .iter()
        .fold(Guest::new(&kit), |guest, tool| guest.dynamic(tool, tool))
        .file(
            "/bin/tompion",
            kit.program("tompion").expect("built by make guest"),
        )
        .command(["/bin/sh", "-c", script, "sh", &HOST_ADDRESS.to_string()])
        .kernel_args([mark])
        .qemu_args(["-serial", second_port.as_str()])
        .tap(Arc::clone(tap))
}

/// The run of a guest that was held up, joined with the tap of its host.
fn joined(number: u32, tap: &Arc<Tap>) -> Value {
    let kit = kit();
    let tompion = kit.program("tompion").expect("built by make guest");
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let text = |name: &str| at(name).display().to_string();
    let listen = format!("{HOST_ADDRESS}:862");
    let far_end = Running::start(tap, &tompion, &["reflect", "--listen", &listen, "--quiet"]);
    let capture = text("tap.pcapng");
    let arguments = ["tap", "--device", "tap0", "--write", &capture, "--quiet"];
    let mark = format!("tompion_tapped={number}");
    let tools = ["/bin/sh", "/bin/sleep", "/bin/tar"];
    let guest = guest(tap, &mark, &at("said"), &tools, SCRIPT);
    let running = thread::spawn(move || guest.run());
    let began = Instant::now();
    let qemu = started(began, &mark);
    // The device is up for as long as QEMU holds its other end.
    let host = Running::start(tap, &tompion, &arguments);
    until_it_measures(began, &running, &at("said"));
    thread::sleep(BEGIN);
    // Probes that wait at the far end come back while the guest stands still.
    far_end.signal(Signal::SIGSTOP);
    thread::sleep(FAR_END_HELD);
    kill(qemu, Signal::SIGSTOP).expect("SIGSTOP");
    far_end.signal(Signal::SIGCONT);
    thread::sleep(GUEST_HELD);
    kill(qemu, Signal::SIGCONT).expect("SIGCONT");
    let outcome: Result<Outcome, GuestError> = running.join().expect("no panic");
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    let (seconds, errors) = (outcome.seconds, outcome.stderr_text());
    eprintln!("{seconds:.1} s ({}): {errors}", outcome.accel);
    assert!(outcome.status.success(), "{errors}");
    host.end();
    far_end.end();
    unpack(&outcome.stdout, directory.path());
    let done = Command::new(&tompion)
        .args(["join", &text("run"), "--tap", &format!("host={capture}")])
        .args(["--out", &text("joined"), "--json"])
        .output()
        .expect("tompion");
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    serde_json::from_slice(&done.stdout).expect("JSON")
}

fn unpack(archive: &[u8], into: &Path) {
    let mut tar = Command::new("tar")
        .args(["-xf", "-", "-C"])
        .arg(into)
        .stdin(Stdio::piped())
        .spawn()
        .expect("tar");
    let mut input = tar.stdin.take().expect("piped");
    std::io::copy(&mut Cursor::new(archive), &mut input).expect("written");
    drop(input);
    assert!(tar.wait().expect("ended").success());
}

/// Whether each delay shows where it was planted and nowhere else; with what was seen.
fn judge(report: &Value) -> (bool, String) {
    let cells = report["cells"].as_array().expect("cells");
    let vantages: Vec<&str> = cells
        .iter()
        .filter_map(|cell| cell["factors"]["vantage"].as_str())
        .collect();
    for expected in ["user", "qdisc", "kernel", "host"] {
        assert!(vantages.contains(&expected), "{vantages:?}");
    }
    let mut tables = cells
        .iter()
        .filter_map(|cell| cell["round_trips"]["between"].as_array());
    let split = tables.find(|rows| !rows.is_empty());
    let split = split.expect("the table of stamps");
    let longest = |name: &str| {
        let found = split.iter().find(|row| row["name"] == name);
        let found = found.unwrap_or_else(|| panic!("no {name} in {split:?}"));
        Duration::from_nanos(found["max_ns"].as_f64().expect("a time").max(0.0) as u64)
    };
    let (guest, far_end) = (longest("kernel and host"), longest("far end's stay"));
    let path = longest("path beyond host");
    let told = format!("guest and host {guest:?}, far end {far_end:?}, path {path:?}");
    let is_right = guest >= GUEST_HELD.mul_f64(0.8)
        && guest < GUEST_HELD * 3
        && far_end >= FAR_END_HELD.mul_f64(0.6)
        && far_end < GUEST_HELD
        && path < FAR_END_HELD.mul_f64(0.5);
    (is_right, told)
}

#[test]
#[ignore = "boots a guest: make guest"]
fn a_host_that_stops_its_guest_shows_between_guest_and_tap() {
    let Some(tap) = tap() else { return };
    let mut tried = Vec::new();
    for number in 0..ATTEMPTS {
        let (is_right, told) = judge(&joined(number, &tap));
        tried.push(told);
        if is_right {
            eprintln!("{}", tried.join("\n"));
            return;
        }
    }
    panic!("{}", tried.join("\n"));
}
