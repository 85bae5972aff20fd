//! A child that was forked while another thread started the clock, or another
//! policy, must not wait for that thread, which it does not have.
//!
//! A clock starts once in a process, so the test runs itself again and again.

use std::process::Command;
use std::thread;
use std::time::Duration;

use tompion_time::{Clock, Instant, Policy};

const DELAY_US: &str = "TOMPION_TEST_FORK_AFTER_US";

fn start_and_fork(after_us: u64) {
    let starter = thread::spawn(|| {
        let _ = Instant::now();
        Clock::set_policy(Policy::Tsc);
    });
    thread::sleep(Duration::from_micros(after_us));
    // SAFETY: the child reads the clock and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child if it hangs.
        unsafe { libc::alarm(10) };
        let _ = Instant::now();
        // SAFETY: ends the child without the parent's destructors.
        unsafe { libc::_exit(0) };
    }
    let mut status = -1;
    // SAFETY: waits for our own child; `status` is valid to write to.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0, "the child hung (14: alarm)");
    starter.join().unwrap();
}

#[test]
fn a_child_forked_during_the_start_does_not_hang() {
    if let Ok(after) = std::env::var(DELAY_US) {
        return start_and_fork(after.parse().unwrap());
    }
    let this = std::env::current_exe().unwrap();
    for after_us in (0..1_600).step_by(40) {
        let run = Command::new(&this)
            .env(DELAY_US, after_us.to_string())
            .output()
            .unwrap();
        assert!(
            run.status.success(),
            "forked after {after_us} us: {}",
            String::from_utf8_lossy(&run.stdout)
        );
    }
}
