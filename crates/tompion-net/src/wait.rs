//! Waiting for packets, and being told to stop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::error::NetError;

/// Tells loops to end, from another thread or a signal handler's thread. Clones are one.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    is_set: AtomicBool,
    wakes: OwnedFd,
}

impl Stop {
    /// One that is not set.
    ///
    /// # Errors
    /// Where the system has no more files.
    pub fn new() -> Result<Self, NetError> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wakes = eventfd(0, flags).map_err(|error| NetError::Io {
            what: "make an event file",
            source: error.into(),
        })?;
        Ok(Self(Arc::new(Inner {
            is_set: AtomicBool::new(false),
            wakes,
        })))
    }

    /// Ends the loops, those that wait at once.
    pub fn set(&self) {
        self.0.is_set.store(true, Release);
        // It is full only where it was written to before.
        let _ = rustix::io::write(&self.0.wakes, &1u64.to_ne_bytes());
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Acquire)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.wakes.as_fd()
    }
}

/// The most files that are waited for together.
pub const MOST_FILES: usize = 16;

/// Waits until one of the files has packets or entries of its error queue, `stop` is set, or
/// `ns` nanoseconds have passed. Whether one of the files has something.
///
/// # Errors
/// Whatever poll(2) refuses, and more than [`MOST_FILES`] files.
pub fn wait(files: &[BorrowedFd<'_>], stop: &Stop, ns: u64) -> Result<bool, NetError> {
    let failed = NetError::io("wait for packets");
    if files.len() > MOST_FILES {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    }
    let stop_file = stop.as_fd();
    let mut all: [PollFd<'_>; MOST_FILES + 1] =
        std::array::from_fn(|_| PollFd::from_borrowed_fd(stop_file, PollFlags::IN));
    for (entry, file) in all[1..].iter_mut().zip(files) {
        // Error queues are told of unasked.
        *entry = PollFd::from_borrowed_fd(*file, PollFlags::IN);
    }
    let all = &mut all[..=files.len()];
    let timeout = Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as _,
    };
    match poll(all, Some(&timeout)) {
        Ok(_) => Ok(all[1..].iter().any(|entry| !entry.revents().is_empty())),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(failed(error.into())),
    }
}
