//! What is left where privileges are missing.

use std::process::Command;
use std::time::Duration;

use crate::common::*;
use tompion_cause::{OffCpu, What};
use tompion_observe::events::{Recorder, item};

const PATIENCE: Duration = Duration::from_secs(2);

/// Gives up all rights of the calling thread alone (the C library would change
/// the whole process).
fn become_nobody() -> bool {
    // SAFETY: takes numbers; other threads keep their rights.
    unsafe {
        libc::syscall(libc::SYS_setresgid, 65534, 65534, 65534) == 0
            && libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) == 0
    }
}

#[test]
fn nobody_still_sees_own_switches_and_is_told_why_not_more() {
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let paranoid: i32 = paranoid
        .ok()
        .and_then(|p| p.trim().parse().ok())
        .unwrap_or(9);
    if paranoid != 1 && paranoid != 2 {
        return skip(&format!("kernel.perf_event_paranoid is {paranoid}"));
    }
    let test = || {
        if !become_nobody() {
            return skip("not root, cannot become nobody");
        }
        let (mut recorder, access) = Recorder::attach(&[own_tid()], &[a_cpu()]);
        assert!(access.has_switches, "{access:?}");
        assert!(!access.has_cpu_events);
        let refused = access
            .items
            .iter()
            .find(|i| i.0 == item::CPU_EVENTS)
            .unwrap();
        let why = refused.1.clone().unwrap_err();
        assert!(
            why.contains("not permitted") && why.contains("paranoid"),
            "{why}"
        );
        std::thread::sleep(Duration::from_millis(30));
        let drained = recorder.drain_past(monotonic_ns(), PATIENCE);
        let slept = drained
            .thread(own_tid())
            .iter()
            .any(|s| s.what == What::OffCpu(OffCpu::Left) && s.until_ns - s.from_ns >= 29_000_000);
        assert!(slept, "{:?}", drained.threads);
    };
    std::thread::spawn(test).join().unwrap();
}

#[test]
fn where_everything_is_forbidden_there_are_reasons_and_no_spans() {
    if std::env::var_os("TOMPION_TEST_WITHOUT_PERF").is_some() {
        let (mut recorder, access) = Recorder::attach(&[own_tid()], &[0]);
        assert!(!access.has_switches && !access.has_cpu_events);
        assert!(!access.items.is_empty() && access.items.iter().any(|i| i.1.is_err()));
        std::thread::sleep(Duration::from_millis(10));
        let drained = recorder.drain();
        assert!(
            drained.threads.iter().all(|t| t.1.is_empty()),
            "{drained:?}"
        );
        return;
    }
    // The filter ends with the child.
    use std::os::unix::process::CommandExt;
    let mut again = Command::new(std::env::current_exe().unwrap());
    again
        .args([
            "--exact",
            "privileges::where_everything_is_forbidden_there_are_reasons_and_no_spans",
        ])
        .env("TOMPION_TEST_WITHOUT_PERF", "1");
    // SAFETY: only system calls between fork and exec.
    unsafe { again.pre_exec(forbid_perf) };
    let output = again.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    // A name that is no test's would succeed, too.
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}"
    );
}

/// A seccomp filter as container engines have it: perf_event_open and fsopen are
/// refused.
fn forbid_perf() -> std::io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(LOAD, 0, 0, 0),
        step(EQUAL, 2, 0, libc::SYS_perf_event_open as u32),
        step(EQUAL, 1, 0, libc::SYS_fsopen as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program and its steps outlive the calls.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    if done {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}
