//! Timeouts of io_uring.
//!
//! One absolute timeout for each event, submitted and awaited in one system call.
//! The kernel's multishot timeout is not used: it counts each period from when it
//! handled the one before, hence knows no grid, and is refused with absolute times.

use std::io;

use io_uring::types::{SubmitArgs, TimeoutFlags, Timespec};
use io_uring::{IoUring, Probe, opcode};

use tompion_model::MethodRow;

use super::{EVENTS, monotonic};
use crate::timer_events::{Firing, Mechanism, one_event};

pub(super) static ENTRY: Firing = Firing {
    row: MethodRow {
        name: "io-uring",
        about: "an absolute timeout of io_uring, submitted and awaited",
        // The kernel gives timers none.
        has_slack: false,
        ..EVENTS
    },
    spin_budget: None,
    available: || one_event(&mut Uring::open()?),
    trial: |trial| Ok(trial.on(&mut Uring::open()?)),
    advice: |error| match error {
        libc::EPERM | libc::EACCES => {
            "; /proc/sys/kernel/io_uring_disabled must be 0 and no sandbox filter io_uring"
        }
        libc::ENOSYS => "; it needs Linux 5.4 and a sandbox that lets io_uring pass",
        libc::ENOMEM => "; a higher limit of locked memory (ulimit -l)",
        _ => "",
    },
};

struct Uring {
    /// Closing it takes back what is still armed.
    ring: IoUring,
    /// Read by the kernel during the call that submits.
    target: Timespec,
}

impl Uring {
    /// Makes the ring, and makes sure that its timeouts do fire.
    fn open() -> io::Result<Self> {
        let ring = IoUring::new(2)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::Timeout::CODE) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this kernel's io_uring has no timeouts",
            ));
        }
        let mut uring = Self {
            ring,
            target: Timespec::new(),
        };
        if uring.ring.params().is_feature_ext_arg() {
            uring.push(monotonic())?;
            uring.first_within(Timespec::new().sec(1))?;
        }
        Ok(uring)
    }

    /// The completion of a first timeout, which a sandbox may swallow.
    fn first_within(&mut self, patience: Timespec) -> io::Result<()> {
        let args = SubmitArgs::new().timespec(&patience);
        while self.ring.completion().is_empty() {
            match self.ring.submitter().submit_with_args(1, &args) {
                Ok(_) => {}
                Err(e) if e.raw_os_error() == Some(libc::EINTR) => {}
                Err(e) if e.raw_os_error() == Some(libc::ETIME) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "a timeout was accepted, but did not fire within a second",
                    ));
                }
                Err(e) => return Err(e),
            }
        }
        self.wait()
    }

    #[inline(always)]
    fn push(&mut self, target_ns: u64) -> io::Result<()> {
        self.target = Timespec::new()
            .sec(target_ns / 1_000_000_000)
            .nsec((target_ns % 1_000_000_000) as u32);
        let entry = opcode::Timeout::new(&self.target)
            .flags(TimeoutFlags::ABS)
            .build();
        // SAFETY: the kernel copies the time as the entry is submitted, in
        // `wait` or `first_within` with `self` borrowed, hence in its place.
        unsafe { self.ring.submission().push(&entry) }
            .map_err(|_| io::Error::other("io_uring has no room for a timeout"))
    }

    /// Submits what was pushed and waits for the completion.
    #[inline(always)]
    fn wait(&mut self) -> io::Result<()> {
        loop {
            if let Some(completion) = self.ring.completion().next() {
                return match -completion.result() {
                    libc::ETIME | 0 => Ok(()),
                    error => Err(io::Error::from_raw_os_error(error)),
                };
            }
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(e) if e.raw_os_error() == Some(libc::EINTR) => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Mechanism for Uring {
    #[inline(always)]
    fn wait_point(&mut self, _point: u64, target_ns: u64) -> io::Result<()> {
        self.push(target_ns)?;
        self.wait()
    }

    #[inline(always)]
    fn rearm(&mut self, target_ns: u64, _period_ns: u64) -> io::Result<()> {
        self.push(target_ns)?;
        self.wait()
    }
}
