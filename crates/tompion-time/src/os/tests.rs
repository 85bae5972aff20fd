use super::*;

/// Has the kernel refuse `calls` to this process with EPERM, as a seccomp profile does.
fn refuse(calls: &[libc::c_long]) -> bool {
    let line = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let (load, equal, end) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    );
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    // The number of the call comes first in what a filter sees.
    let mut lines = [line(end, 0, 0, libc::SECCOMP_RET_ALLOW); 16];
    lines[0] = line(load, 0, 0, 0);
    for (i, call) in calls.iter().enumerate() {
        lines[1 + 2 * i] = line(equal, 0, 1, *call as u32);
        lines[2 + 2 * i] = line(end, 0, 0, refused);
    }
    let program = libc::sock_fprog {
        len: lines.len() as u16,
        filter: lines.as_mut_ptr(),
    };
    // SAFETY: the program outlives the calls, and its length is right.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    }
}

/// What a process sees that sleeps 30 ms without these calls: how much longer that took at
/// best of three, and the CPU time of them all, in nanoseconds.
fn sleeps_without(calls: &[libc::c_long]) -> (u64, u64) {
    const SLEEP: Duration = Duration::from_millis(30);
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the child calls nothing but the kernel; it allocates nothing and does not return.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut found = [u64::MAX; 2];
        if refuse(calls) {
            let before = now_ns(ClockId::ThreadCpu);
            for _ in 0..3 {
                let began = now_ns(ClockId::Monotonic);
                sleep(SLEEP);
                let took = now_ns(ClockId::Monotonic) - began;
                // Too early is as wrong as it gets.
                let late = took.checked_sub(SLEEP.as_nanos() as u64);
                found[0] = found[0].min(late.unwrap_or(u64::MAX - 1));
            }
            found[1] = now_ns(ClockId::ThreadCpu) - before;
        }
        // SAFETY: writes sixteen bytes that are there, and ends without what the parent registered.
        unsafe {
            libc::write(ends[1], found.as_ptr().cast(), size_of_val(&found));
            libc::_exit(0)
        }
    }
    let mut found = [0u64; 2];
    let mut status = 0;
    // SAFETY: sixteen bytes are read into sixteen; the descriptors and the child are ours.
    unsafe {
        libc::close(ends[1]);
        let read = libc::read(ends[0], found.as_mut_ptr().cast(), size_of_val(&found));
        libc::close(ends[0]);
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert_eq!((read, status), (16, 0), "it died");
    }
    assert_ne!(found[1], u64::MAX, "no filter can be set");
    (found[0], found[1])
}

#[test]
fn a_sleep_goes_on_whatever_a_sandbox_refuses_and_is_never_early() {
    let calls = [
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_ppoll,
        libc::SYS_futex,
        libc::SYS_sched_yield,
    ];
    for refused in 0..=calls.len() {
        let (late, used) = sleeps_without(&calls[..refused]);
        assert!(late < 1_000_000_000, "without {refused}: {late} ns late");
        // As long as one way of sleeping is left, it sleeps.
        assert!(
            refused >= 4 || used < 30_000_000,
            "without {refused}: {used} ns of CPU time"
        );
    }
}
