//! Operation counters shared between the worker process and its parent.
//!
//! They live in a memory file that the worker inherits as standard input, so
//! that counting costs the worker one plain store and reading costs it nothing.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::sys::{SharedSlots, Slot};

/// An empty memory file, closed on exec unless handed to a child explicitly.
pub fn memory_file() -> io::Result<OwnedFd> {
    Ok(memfd_create(c"tompion-load", MFdFlags::MFD_CLOEXEC)?)
}

/// One counter a worker thread.
pub struct Counters(SharedSlots);

impl Counters {
    /// Sizes the memory file for `threads` counters, all zero (the worker's side).
    pub fn create(file: impl AsFd, threads: usize) -> io::Result<Self> {
        let file = File::from(file.as_fd().try_clone_to_owned()?);
        file.set_len((threads * size_of::<Slot>()) as u64)?;
        Self::open(file)
    }

    /// Maps a memory file that the worker has sized (the parent's side).
    pub fn open(file: impl AsFd) -> io::Result<Self> {
        let file = File::from(file.as_fd().try_clone_to_owned()?);
        let count = file.metadata()?.len() as usize / size_of::<Slot>();
        let count = NonZeroUsize::new(count)
            .ok_or_else(|| io::Error::other("the shared counters are empty"))?;
        Ok(Self(SharedSlots::map(&file, count)?))
    }

    /// The counter of one thread.
    pub fn of_thread(&self, thread: usize) -> Counter<'_> {
        Counter(&self.0.slots()[thread])
    }

    /// Operations of all threads, and the bytes that they moved.
    pub fn totals(&self) -> (u64, u64) {
        let all = || self.0.slots().iter();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let operations = all().map(|slot| load(&slot.operations)).sum();
        let bytes = all().map(|slot| load(&slot.bytes)).sum();
        (operations, bytes)
    }
}

/// The counter of one thread; only that thread writes it.
pub struct Counter<'a>(&'a Slot);

impl Counter<'_> {
    /// Counts operations that move no bytes to speak of.
    pub fn add(&self, operations: u64) {
        increase(&self.0.operations, operations);
    }

    /// Counts moved bytes.
    pub fn add_bytes(&self, bytes: u64) {
        increase(&self.0.bytes, bytes);
    }
}

/// One writer, so no atomic read-modify-write is needed.
fn increase(counter: &AtomicU64, by: u64) {
    let so_far = counter.load(Ordering::Relaxed);
    counter.store(so_far.wrapping_add(by), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_the_same_counts() {
        let file = memory_file().unwrap();
        assert!(Counters::open(&file).is_err(), "nothing there yet");
        let worker = Counters::create(&file, 3).unwrap();
        let parent = Counters::open(&file).unwrap();
        assert_eq!(parent.totals(), (0, 0));
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let worker = &worker;
                scope.spawn(move || {
                    let counter = worker.of_thread(thread);
                    (0..1000).for_each(|_| {
                        counter.add(2);
                        counter.add_bytes(5);
                    });
                });
            }
        });
        assert_eq!(parent.totals(), (6000, 15_000));
    }
}
