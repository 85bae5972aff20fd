//! Injected causes of known size.

use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tompion_time::os::{ClockId, now_ns};

pub fn monotonic_ns() -> u64 {
    now_ns(ClockId::Monotonic)
}

pub fn own_tid() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

pub fn pin_to(cpu: u32) {
    // SAFETY: an all-zero set is empty; the set is valid for the call.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    assert_eq!(result, 0, "pinning to CPU {cpu}");
}

/// A CPU this process may use, the last of them.
pub fn a_cpu() -> u32 {
    // SAFETY: an all-zero set is empty; the set is valid for the call.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set),
            0
        );
        (0..1024)
            .rev()
            .find(|cpu| libc::CPU_ISSET(*cpu, &set))
            .unwrap() as u32
    }
}

/// A thread that does something until it is told to end.
pub struct Busy {
    tid: Arc<AtomicI32>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Puts the calling thread under SCHED_FIFO; false where that is forbidden.
pub fn become_fifo() -> bool {
    // SAFETY: plain numbers, for which zero is valid; musl has more of them.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = 10;
    // SAFETY: the parameter is valid; 0 means the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) == 0 }
}

impl Busy {
    /// Calls `step` again and again, pinned to a CPU.
    pub fn start(name: &str, cpu: u32, mut step: impl FnMut() + Send + 'static) -> Self {
        let (tid, stop) = (
            Arc::new(AtomicI32::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (its_tid, its_stop) = (tid.clone(), stop.clone());
        let run = move || {
            pin_to(cpu);
            its_tid.store(own_tid(), Ordering::Release);
            while !its_stop.load(Ordering::Relaxed) {
                step();
            }
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .unwrap();
        while tid.load(Ordering::Acquire) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        Self {
            tid,
            stop,
            thread: Some(thread),
        }
    }

    pub fn tid(&self) -> i32 {
        self.tid.load(Ordering::Acquire)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Uses the CPU for that long.
pub fn spin(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// A child process that spins until it is dropped.
pub struct Spinner(Child);

impl Spinner {
    pub fn start() -> Self {
        let child = Command::new("/bin/sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        // The shell has started when it uses the CPU.
        std::thread::sleep(Duration::from_millis(100));
        Self(child)
    }

    pub fn pid(&self) -> i32 {
        self.0.id() as i32
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: takes numbers; the child is not reaped before it is dropped.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A CPU hog of known turns: under SCHED_FIFO it runs 5 ms of every 50 and notes
/// when. Absent where that policy is forbidden.
pub struct Hog {
    pub busy: Busy,
    turns: Arc<std::sync::Mutex<Vec<(u64, u64)>>>,
}

impl Hog {
    pub fn start(cpu: u32) -> Option<Self> {
        let allowed = std::thread::spawn(become_fifo).join().unwrap();
        if !allowed {
            return None;
        }
        let turns = Arc::new(std::sync::Mutex::new(Vec::new()));
        let noted = turns.clone();
        let mut is_fifo = false;
        let busy = Busy::start("tompion-hog", cpu, move || {
            is_fifo = is_fifo || become_fifo();
            let from = monotonic_ns();
            spin(Duration::from_millis(5));
            noted.lock().unwrap().push((from, monotonic_ns()));
            std::thread::sleep(Duration::from_millis(45));
        });
        Some(Self { busy, turns })
    }

    /// Its turns within a window.
    pub fn turns(&self, from_ns: u64, until_ns: u64) -> Vec<(u64, u64)> {
        let turns = self.turns.lock().unwrap();
        turns
            .iter()
            .copied()
            .filter(|t| t.0 > from_ns && t.1 < until_ns)
            .collect()
    }
}

/// Why a test was not made here.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
}
