//! Network namespaces without names.
//!
//! A namespace that no process is in lasts as long as somebody holds its descriptor. Only this
//! process does, so that the kernel removes it and its devices whatever becomes of the process.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::TestbedError;

/// A network namespace held by its descriptor.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// A new one, with `lo` alone.
    ///
    /// # Errors
    /// [`TestbedError::Rights`] where the kernel refuses it.
    pub fn new() -> Result<Self, TestbedError> {
        // Of a thread that ends at once.
        let made = on_thread(|| -> io::Result<File> {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        });
        let file = made
            .and_then(|made| made)
            .map_err(|source| TestbedError::Rights { source })?;
        Ok(Self { file })
    }

    /// Does `work` inside, on a thread of its own: sockets made there stay there.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_thread(|| {
            self.enter()?;
            Ok(work())
        })?
    }

    /// Moves the calling thread into it.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.file, CloneFlags::CLONE_NEWNET)?)
    }

    /// Another descriptor of it.
    ///
    /// # Errors
    /// If there are too many.
    pub fn try_clone(&self) -> io::Result<Self> {
        let file = self.file.try_clone()?;
        Ok(Self { file })
    }

    /// The path by which others enter it while this process is there.
    pub fn path(&self) -> PathBuf {
        let (process, fd) = (std::process::id(), self.file.as_raw_fd());
        format!("/proc/{process}/fd/{fd}").into()
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Does `work` on a thread that is there for it alone.
fn on_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let done = thread::Builder::new().spawn_scoped(scope, work)?.join();
        Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
