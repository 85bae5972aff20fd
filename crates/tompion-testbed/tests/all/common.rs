//! What the tests share.

use std::net::UdpSocket;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tompion_testbed::{Place, Settings, Tap, Tapped, Testbed, TestbedError};
use tompion_time::os;

/// One testbed at a time: two would be late for one another.
static ONE: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A testbed, or `None` where none can be made here, which is said.
pub fn testbed(settings: &Settings) -> Option<Testbed> {
    match Testbed::start(settings) {
        Ok(testbed) => Some(testbed),
        Err(refused @ (TestbedError::Rights { .. } | TestbedError::Kernel { .. })) => {
            eprintln!("NOT RUN: {refused}");
            None
        }
        Err(problem) => panic!("{problem}"),
    }
}

/// Whether testbeds can be made here; said where they cannot.
pub fn can_be_made() -> bool {
    testbed(&Settings::default()).is_some()
}

/// Tries this up to three times, since other programs may have the CPU; a failure says what was seen each time.
pub fn within_three(what: &str, mut attempt: impl FnMut() -> Result<(), String>) {
    let mut seen = Vec::new();
    for _ in 0..3 {
        match attempt() {
            Ok(()) => return,
            Err(problem) => seen.push(problem),
        }
    }
    panic!("{what}, three times: {seen:#?}");
}

/// A socket at `from` for datagrams to one at `to`, which nobody reads.
pub fn sockets(from: &Place, to: &Place) -> (UdpSocket, UdpSocket) {
    let (here, there) = (from.addresses().v4, to.addresses().v4);
    let sink = to.inside(|| UdpSocket::bind((there, 0)).unwrap()).unwrap();
    let target = sink.local_addr().unwrap();
    let source = from.inside(|| UdpSocket::bind((here, 0)).unwrap()).unwrap();
    source.connect(target).unwrap();
    (source, sink)
}

/// All that a tap sees until nothing new has come for this time.
pub fn all_of(tap: &mut Tap, quiet: Duration) -> Vec<Tapped> {
    let mut seen = tap.drain().unwrap();
    let mut last = Instant::now();
    while last.elapsed() < quiet {
        os::sleep(Duration::from_millis(2));
        let new = tap.drain().unwrap();
        if !new.is_empty() {
            last = Instant::now();
        }
        seen.extend(new);
    }
    assert_eq!(tap.dropped().unwrap(), 0);
    seen
}

/// UDP datagrams over IPv4 among these that go in this direction.
pub fn datagrams(seen: &[Tapped], outgoing: bool) -> Vec<&Tapped> {
    let udp = |t: &&Tapped| {
        let f = &t.frame;
        t.outgoing == outgoing && f.len() >= 42 && f[12..14] == [0x08, 0x00] && f[23] == 17
    };
    seen.iter().filter(udp).collect()
}

/// The median.
pub fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// CPUs that this process may use.
pub fn cpus() -> Vec<usize> {
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
    (0..nix::sched::CpuSet::count())
        .filter(|cpu| set.is_set(*cpu).unwrap())
        .collect()
}
