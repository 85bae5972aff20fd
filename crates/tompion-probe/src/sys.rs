//! The C library's sleeps and the settings of a thread, behind safe faces.
//! The probes call the very functions that programs call, hence libc itself.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as _,
    }
}

/// `usleep`; false when a signal cut it short.
pub(crate) fn usleep(microseconds: u32) -> bool {
    // SAFETY: takes a number only.
    unsafe { libc::usleep(microseconds) == 0 }
}

/// `nanosleep`; false when a signal cut it short.
pub(crate) fn nanosleep(ns: u64) -> bool {
    // SAFETY: the timespec is valid; no remainder is asked for.
    unsafe { libc::nanosleep(&timespec(ns), std::ptr::null_mut()) == 0 }
}

/// `ppoll` on nothing with a timeout; false when a signal cut it short.
pub(crate) fn ppoll(ns: u64) -> bool {
    // SAFETY: zero descriptors need no array; the timespec is valid.
    unsafe { libc::ppoll(std::ptr::null_mut(), 0, &timespec(ns), std::ptr::null()) == 0 }
}

/// Whether `usleep` is allowed.
pub(crate) fn try_usleep() -> io::Result<()> {
    // SAFETY: takes a number only.
    check(unsafe { libc::usleep(0) })
}

/// Whether `nanosleep` is allowed.
pub(crate) fn try_nanosleep() -> io::Result<()> {
    // SAFETY: the timespec is valid; no remainder is asked for.
    check(unsafe { libc::nanosleep(&timespec(0), std::ptr::null_mut()) })
}

/// Whether `clock_nanosleep` is allowed.
pub(crate) fn try_clock_nanosleep() -> io::Result<()> {
    // SAFETY: the timespec is valid; no remainder is asked for.
    let error = unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &timespec(0),
            std::ptr::null_mut(),
        )
    };
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Whether `ppoll` is allowed.
pub(crate) fn try_ppoll() -> io::Result<()> {
    // SAFETY: zero descriptors need no array; the timespec is valid.
    check(unsafe { libc::ppoll(std::ptr::null_mut(), 0, &timespec(0), std::ptr::null()) })
}

/// `gettimeofday` in nanoseconds.
#[inline]
pub(crate) fn gettimeofday_ns() -> u64 {
    let mut t = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    // SAFETY: `t` is a valid timeval to write to; the time zone is not wanted.
    unsafe { libc::gettimeofday(&mut t, std::ptr::null_mut()) };
    (t.tv_sec as u64) * 1_000_000_000 + (t.tv_usec as u64) * 1_000
}

/// A timer that becomes readable on every point of a grid.
#[derive(Debug)]
pub(crate) struct PeriodicTimer(OwnedFd);

impl PeriodicTimer {
    /// First expiration at `first_ns` of `CLOCK_MONOTONIC`, then every
    /// `period_ns`.
    pub(crate) fn start(first_ns: u64, period_ns: u64) -> io::Result<Self> {
        // SAFETY: takes numbers only.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor just made, owned by nobody else.
        let timer = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        timer.restart(first_ns, period_ns)?;
        Ok(timer)
    }

    /// Starts a new grid.
    pub(crate) fn restart(&self, first_ns: u64, period_ns: u64) -> io::Result<()> {
        let setting = libc::itimerspec {
            it_interval: timespec(period_ns),
            it_value: timespec(first_ns.max(1)),
        };
        // SAFETY: the descriptor is open, the setting valid, the old one unwanted.
        check(unsafe {
            libc::timerfd_settime(
                self.0.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &setting,
                std::ptr::null_mut(),
            )
        })
    }

    /// Waits for the next expiration; returns also after a signal.
    pub(crate) fn wait(&self) {
        let mut expirations = 0u64;
        // SAFETY: eight bytes are read into eight bytes.
        unsafe {
            libc::read(
                self.0.as_raw_fd(),
                (&raw mut expirations).cast(),
                size_of::<u64>(),
            )
        };
    }
}

/// Locks memory against paging; false where the limit or the rights forbid it.
pub(crate) fn lock_memory(buffer: (*const u8, usize)) -> bool {
    // SAFETY: the range belongs to a live allocation; locking does not change it.
    unsafe { libc::mlock(buffer.0.cast(), buffer.1) == 0 }
}

/// Undoes [`lock_memory`].
pub(crate) fn unlock_memory(buffer: (*const u8, usize)) {
    // SAFETY: as for `lock_memory`.
    unsafe { libc::munlock(buffer.0.cast(), buffer.1) };
}

/// The calling thread's number.
pub(crate) fn thread_number() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// Pins the calling thread to one CPU.
pub(crate) fn pin_to(cpu: u32) -> io::Result<()> {
    // SAFETY: an all-zero cpu_set_t is an empty set, and CPU_SET bounds its index.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if cpu as usize >= 8 * size_of::<libc::cpu_set_t>() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        libc::CPU_SET(cpu as usize, &mut set);
        check(libc::sched_setaffinity(
            0,
            size_of::<libc::cpu_set_t>(),
            &set,
        ))
    }
}

/// Puts the calling thread under a scheduling policy; priority 0 for
/// `SCHED_OTHER`.
pub(crate) fn set_policy(policy: libc::c_int, priority: u32) -> io::Result<()> {
    // SAFETY: sched_param is plain numbers, for which zero is valid; musl has more
    // of them than glibc.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = priority as libc::c_int;
    // SAFETY: the parameter is valid; 0 means the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &parameter) }).or_else(|refused| {
        // A sandbox may refuse the call altogether; then the thread is what all are.
        // SAFETY: takes a number only.
        match unsafe { libc::sched_getscheduler(0) } {
            now if now == policy && policy == libc::SCHED_OTHER => Ok(()),
            _ => Err(refused),
        }
    })
}
