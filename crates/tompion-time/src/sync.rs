//! What state that threads share without a lock is made of: `std`'s atomics; loom's in
//! the models (`make loom`) that go through every order in which threads can take turns
//! and every value that the memory model lets them see.

#[cfg(not(all(test, loom)))]
#[path = "sync/real.rs"]
mod chosen;
#[cfg(all(test, loom))]
#[path = "sync/modelled.rs"]
mod chosen;

pub(crate) use chosen::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, UnsafeCell, fence};
