//! The system calls behind the mechanisms.

use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn is_interrupted(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINTR)
}

pub(super) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as _,
        tv_nsec: (ns % 1_000_000_000) as _,
    }
}

/// First at `first_ns` of `CLOCK_MONOTONIC`, then every `period_ns`; once where
/// that is 0.
fn itimerspec(first_ns: u64, period_ns: u64) -> libc::itimerspec {
    libc::itimerspec {
        it_interval: timespec(period_ns),
        // Zero would disarm.
        it_value: timespec(first_ns.max(1)),
    }
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    check(fd)?;
    // SAFETY: callers hand over a descriptor just made, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// `clock_nanosleep` to an absolute time of `CLOCK_MONOTONIC`.
#[inline]
pub(super) fn sleep_until(target_ns: u64) -> io::Result<()> {
    let target = timespec(target_ns);
    loop {
        // SAFETY: the timespec is valid; no remainder is asked for.
        let error = unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &target,
                ptr::null_mut(),
            )
        };
        match error {
            0 => return Ok(()),
            libc::EINTR => {}
            _ => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// `clock_nanosleep` for a length of time; a signal leaves the rest, as the kernel
/// reckons it.
#[inline]
pub(super) fn sleep_for(ns: u64) -> io::Result<()> {
    let mut left = timespec(ns);
    loop {
        let asked = left;
        // SAFETY: both timespecs are valid, `left` to write to.
        let error =
            unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &asked, &raw mut left) };
        match error {
            0 => return Ok(()),
            libc::EINTR => {}
            _ => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// A timer file descriptor on `CLOCK_MONOTONIC`; closing it disarms it.
#[derive(Debug)]
pub(super) struct TimerFd(OwnedFd);

impl TimerFd {
    pub(super) fn open() -> io::Result<Self> {
        // SAFETY: takes numbers only.
        owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) }).map(Self)
    }

    /// As [`itimerspec`]; whatever it was armed for before is forgotten.
    #[inline]
    pub(super) fn arm(&self, first_ns: u64, period_ns: u64) -> io::Result<()> {
        let setting = itimerspec(first_ns, period_ns);
        // SAFETY: the descriptor is open, the setting valid, the old one unwanted.
        check(unsafe {
            libc::timerfd_settime(
                self.0.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &setting,
                ptr::null_mut(),
            )
        })
        .map(drop)
    }

    /// Waits for the next expiration; says how many there were since the last.
    #[inline]
    pub(super) fn wait(&self) -> io::Result<u64> {
        let mut expirations = 0u64;
        loop {
            // SAFETY: eight bytes are read into eight bytes.
            let read = unsafe {
                libc::read(
                    self.0.as_raw_fd(),
                    (&raw mut expirations).cast(),
                    size_of::<u64>(),
                )
            };
            if read > 0 {
                return Ok(expirations);
            }
            let error = io::Error::last_os_error();
            if !is_interrupted(&error) {
                return Err(error);
            }
        }
    }
}

/// An epoll instance that watches nothing: its timeout is what counts.
#[derive(Debug)]
pub(super) struct EpollFd(OwnedFd);

impl EpollFd {
    pub(super) fn open() -> io::Result<Self> {
        // SAFETY: takes a number only.
        owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Self)
    }

    /// `epoll_pwait2`; false when a signal cut it short. Called directly, since
    /// older C libraries lack it.
    #[inline]
    pub(super) fn wait(&self, ns: u64) -> io::Result<bool> {
        let mut event = MaybeUninit::<libc::epoll_event>::uninit();
        let timeout = timespec(ns);
        // SAFETY: room for one event and a valid timespec; no signal mask.
        let result = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.0.as_raw_fd(),
                event.as_mut_ptr(),
                1,
                &raw const timeout,
                ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        match check(result as libc::c_int) {
            Ok(_) => Ok(true),
            Err(e) if is_interrupted(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// A real-time signal, blocked for the calling thread while this lives.
#[derive(Debug)]
pub(super) struct BlockedSignal {
    number: libc::c_int,
    set: libc::sigset_t,
    before: libc::sigset_t,
    /// The mask belongs to the thread.
    of_thread: PhantomData<*const ()>,
}

impl BlockedSignal {
    pub(super) fn new() -> io::Result<Self> {
        // Away from the first ones, which programs like to take.
        let number = libc::SIGRTMIN() + 7;
        let (mut set, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: sigemptyset initialises the set that the others use, and
        // pthread_sigmask the old one where it succeeds; the number is a signal's.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), number);
            match libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr()) {
                0 => Ok(Self {
                    number,
                    set: set.assume_init(),
                    before: before.assume_init(),
                    of_thread: PhantomData,
                }),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// Waits for the signal; says how often the timer behind it expired besides
    /// (its overrun), or none where a given time passed first.
    #[inline]
    pub(super) fn wait(&self, at_most_ns: Option<u64>) -> io::Result<Option<u64>> {
        let timeout = at_most_ns.map(timespec);
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        loop {
            // SAFETY: the set is initialised, `info` may be written to, and the
            // timeout is null or valid.
            let signal = unsafe { libc::sigtimedwait(&self.set, info.as_mut_ptr(), timeout) };
            if signal == self.number {
                // SAFETY: plain numbers, zero at first and filled in by the kernel.
                let info = unsafe { info.assume_init() };
                // SAFETY: the overrun is there in signals of timers, which were
                // told apart; in others the field is not looked at.
                let overrun = unsafe {
                    if info.si_code == libc::SI_TIMER {
                        info.si_overrun()
                    } else {
                        0
                    }
                };
                return Ok(Some(u64::try_from(overrun).unwrap_or(0)));
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) => return Ok(None),
                _ => return Err(error),
            }
        }
    }
}

impl Drop for BlockedSignal {
    fn drop(&mut self) {
        // One left over would end the program once it is let through; where a sandbox does not
        // let us look, it stays blocked.
        loop {
            match self.wait(Some(0)) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        // SAFETY: the mask is the one this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

/// A timer of `timer_create` that signals the thread which made it. By system
/// calls: the libc crate lacks the functions, which add nothing here.
#[derive(Debug)]
pub(super) struct SignalTimer(libc::c_int);

impl SignalTimer {
    pub(super) fn new(signal: &BlockedSignal) -> io::Result<Self> {
        // SAFETY: sigevent is plain numbers and a pointer, for which zero is valid.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal.number;
        // SAFETY: takes nothing.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut id = 0;
        // SAFETY: the event is valid; the kernel's identifier is an int.
        let result = unsafe {
            libc::syscall(
                libc::SYS_timer_create,
                libc::CLOCK_MONOTONIC,
                &raw const event,
                &raw mut id,
            )
        };
        check(result as libc::c_int).map(|_| Self(id))
    }

    /// As [`itimerspec`]; whatever it was armed for before is forgotten.
    #[inline]
    pub(super) fn arm(&self, first_ns: u64, period_ns: u64) -> io::Result<()> {
        self.set(&itimerspec(first_ns, period_ns))
    }

    #[inline]
    fn set(&self, setting: &libc::itimerspec) -> io::Result<()> {
        // SAFETY: the timer is ours, the setting valid, the old one unwanted.
        let result = unsafe {
            libc::syscall(
                libc::SYS_timer_settime,
                self.0,
                libc::TIMER_ABSTIME,
                ptr::from_ref(setting),
                ptr::null_mut::<libc::itimerspec>(),
            )
        };
        check(result as libc::c_int).map(drop)
    }
}

impl Drop for SignalTimer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours.
        if unsafe { libc::syscall(libc::SYS_timer_delete, self.0) } != 0 {
            // It must not fire once its signal is let through: a first time of zero disarms it.
            let _ = self.set(&libc::itimerspec {
                it_interval: timespec(0),
                it_value: timespec(0),
            });
        }
    }
}
