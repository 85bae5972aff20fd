//! Waiting for packets, and being told to stop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};

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
        Ok(Self(Arc::new(Inner {
            is_set: AtomicBool::new(false),
            wakes: event_file()?,
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

/// Wakes a thread that waits for it, from another one.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    /// One that is silent.
    pub fn new() -> Result<Self, NetError> {
        event_file().map(Self)
    }

    /// Whoever waits for it, or will, wakes up.
    pub fn ring(&self) {
        // It is full only where it was written to before.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Who waits from now on waits for the next time.
    pub fn silence(&self) {
        // Nothing is there to be read where it was silent.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn event_file() -> Result<OwnedFd, NetError> {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    eventfd(0, flags).map_err(|error| NetError::Io {
        what: "make an event file",
        source: error.into(),
    })
}

/// The most files that are waited for together.
pub const MOST_FILES: usize = 16;

/// Waits until one of the files has packets or entries of its error queue, `stop` is set, or
/// `ns` nanoseconds have passed. Whether one of the files has something.
///
/// # Errors
/// Whatever poll(2) refuses, and more than [`MOST_FILES`] files.
pub fn wait(files: &[BorrowedFd<'_>], stop: &Stop, ns: u64) -> Result<bool, NetError> {
    if files.len() > MOST_FILES {
        return Err(NetError::io("wait for packets")(
            io::ErrorKind::InvalidInput.into(),
        ));
    }
    let stop_file = stop.as_fd();
    let mut all: [PollFd<'_>; MOST_FILES + 1] =
        std::array::from_fn(|_| PollFd::from_borrowed_fd(stop_file, PollFlags::IN));
    for (entry, file) in all[1..].iter_mut().zip(files) {
        // Error queues are told of unasked.
        *entry = PollFd::from_borrowed_fd(*file, PollFlags::IN);
    }
    let all = &mut all[..=files.len()];
    poll_all(all, ns)?;
    Ok(all[1..].iter().any(|entry| !entry.revents().is_empty()))
}

/// The same for packets of the one file and entries of the error queue of the other, whose packets wake
/// nobody up.
pub(crate) fn wait_with_errors(
    file: BorrowedFd<'_>,
    errors: BorrowedFd<'_>,
    stop: &Stop,
    ns: u64,
) -> Result<bool, NetError> {
    let mut all = [
        PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(file, PollFlags::IN),
        PollFd::from_borrowed_fd(errors, PollFlags::empty()),
    ];
    poll_all(&mut all, ns)?;
    Ok(all[1..].iter().any(|entry| !entry.revents().is_empty()))
}

fn poll_all(all: &mut [PollFd<'_>], ns: u64) -> Result<(), NetError> {
    let timeout = Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as _,
    };
    match poll(all, Some(&timeout)) {
        Ok(_) => Ok(()),
        Err(rustix::io::Errno::INTR) => {
            all.iter_mut().for_each(PollFd::clear_revents);
            Ok(())
        }
        Err(error) => Err(NetError::io("wait for packets")(error.into())),
    }
}

/// Waits for what comes to a socket, and for a stop. It tells of each arrival once: whoever reads only
/// packets does not spin while another thread has entries of the error queue to read.
#[derive(Debug)]
pub(crate) struct Arrivals(OwnedFd);

impl Arrivals {
    /// Of this socket.
    pub fn of(socket: impl AsFd, stop: &Stop) -> Result<Self, NetError> {
        let failed = |error: rustix::io::Errno| NetError::io("wait for packets")(error.into());
        let file = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let (data, once) = (epoll::EventData::new_u64(0), epoll::EventFlags::ET);
        let incoming = epoll::EventFlags::IN;
        epoll::add(&file, socket, data, incoming | once).map_err(failed)?;
        epoll::add(&file, stop, data, incoming).map_err(failed)?;
        Ok(Self(file))
    }

    /// Until something came since the last time.
    pub fn wait(&self) -> Result<(), NetError> {
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }; 2];
        match epoll::wait(&self.0, &mut events[..], None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(NetError::io("wait for packets")(error.into())),
        }
    }
}
