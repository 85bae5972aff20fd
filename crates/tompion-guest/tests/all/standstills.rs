//! A guest that its host stops for a moment again and again (`make guest`; ignored elsewhere): the probes that were under
//! way then are known by the guest itself to have been held up here, and not by the path.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use tompion_guest::{HOST_ADDRESS, Tap};

use crate::common::{kit, tap};
use crate::held_up::{started, until_it_measures};
use crate::taps::{Running, guest};

/// How long a reply is under way beside what the guest's network takes.
const PATH: Duration = Duration::from_millis(30);
/// How long the guest is stopped, and how long it runs between.
const STOPPED: Duration = Duration::from_millis(50);
const RUNS: Duration = Duration::from_millis(450);
/// How many stops.
const STOPS: u32 = 12;
/// Emulated guests on a busy host stand still by themselves; each try is told.
const ATTEMPTS: u32 = 3;

const SCRIPT: &str = r#"
tompion ping "$1" --port 8620 --count 1000 --interval 10ms --json --no-observe >/told &
sleep 1
echo measuring >/dev/ttyS1
wait $! || exit
cat /told
"#;

/// Hands requests on to the reflector, and replies back later, until told to end: how many went back while the guest stood
/// still.
fn relay(near: &UdpSocket, far: &UdpSocket, is_stopped: &AtomicBool, ends: &AtomicBool) -> u64 {
    let mut waiting: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut guest: Option<SocketAddr> = None;
    let mut during = 0;
    let mut bytes = [0; 2048];
    while !ends.load(Ordering::Relaxed) {
        if let Ok((length, from)) = near.recv_from(&mut bytes) {
            guest = Some(from);
            // The reflector may not listen yet.
            let _ = far.send(&bytes[..length]);
        }
        while let Ok(length) = far.recv(&mut bytes) {
            waiting.push_back((Instant::now() + PATH, bytes[..length].to_vec()));
        }
        while let Some((due, _)) = waiting.front()
            && *due <= Instant::now()
        {
            let (_, reply) = waiting.pop_front().expect("it is there");
            during += u64::from(is_stopped.load(Ordering::Relaxed));
            // The guest may have gone.
            let _ = near.send_to(&reply, guest.expect("it asked"));
        }
    }
    during
}

/// Replies that came while the guest was stopped, and what it says of its probes.
fn stopped_again_and_again(number: u32, tap: &Arc<Tap>) -> (u64, Value) {
    let kit = kit();
    let tompion = kit.program("tompion").expect("built by make guest");
    let directory = tempfile::tempdir().expect("a directory");
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let listen = free.expect("a free port").to_string();
    let _far_end = Running::here(&tompion, &["reflect", "--listen", &listen, "--quiet"]);
    let near = tap.inside(|| UdpSocket::bind((HOST_ADDRESS, 8620)));
    let near = near.expect("namespace").expect("a socket");
    let wait = Some(Duration::from_millis(1));
    near.set_read_timeout(wait).expect("set");
    let far = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    far.connect(&listen).expect("connected");
    far.set_nonblocking(true).expect("set");
    let (is_stopped, ends) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let relaying = {
        let (is_stopped, ends) = (Arc::clone(&is_stopped), Arc::clone(&ends));
        thread::spawn(move || relay(&near, &far, &is_stopped, &ends))
    };
    let said = directory.path().join("said");
    let mark = format!("tompion_stopped={number}");
    let tools = ["/bin/sh", "/bin/sleep", "/bin/cat"];
    let guest = guest(tap, &mark, &said, &tools, SCRIPT);
    let running = thread::spawn(move || guest.run());
    let began = Instant::now();
    let qemu = started(began, &mark);
    until_it_measures(began, &running, &said);
    for _ in 0..STOPS {
        kill(qemu, Signal::SIGSTOP).expect("SIGSTOP");
        is_stopped.store(true, Ordering::Relaxed);
        thread::sleep(STOPPED);
        is_stopped.store(false, Ordering::Relaxed);
        kill(qemu, Signal::SIGCONT).expect("SIGCONT");
        thread::sleep(RUNS);
    }
    let outcome = running.join().expect("no panic");
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    ends.store(true, Ordering::Relaxed);
    let during = relaying.join().expect("no panic");
    let (seconds, errors) = (outcome.seconds, outcome.stderr_text());
    eprintln!("{seconds:.1} s ({}): {errors}", outcome.accel);
    assert!(outcome.status.success(), "{errors}");
    let told = serde_json::from_slice(&outcome.stdout).expect("JSON");
    (during, told)
}

#[test]
#[ignore = "boots a guest: make guest"]
fn probes_under_way_while_the_host_stops_the_guest_are_known_to_be() {
    let Some(tap) = tap() else { return };
    let mut tried = Vec::new();
    for number in 0..ATTEMPTS {
        let (during, told) = stopped_again_and_again(number, &tap);
        let ends = &told["ends"];
        let marked = ends["held_up_under_way"].as_u64().unwrap_or(0);
        let judged = ends["judged"].as_u64().unwrap_or(0);
        let told =
            format!("{during} came while it was stopped; {marked} of {judged} marked: {ends}");
        eprintln!("{told}");
        tried.push(told);
        // Beside others its host holds it up all the time: how many are marked besides is told.
        if during >= 30 && marked * 10 >= during * 9 {
            return;
        }
    }
    panic!("{}", tried.join("\n"));
}
