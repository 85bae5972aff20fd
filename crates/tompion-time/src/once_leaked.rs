//! A value made once and never freed, without a lock: `OnceLock` makes the child
//! of a `fork` wait for ever where another thread was just filling it.
#![allow(unsafe_code)]

#[cfg(all(test, loom))]
mod models;

use std::ptr;
use std::sync::atomic::Ordering;

use crate::sync::AtomicPtr;

/// Empty at first; the first value given stays.
pub(crate) struct OnceLeaked<T>(AtomicPtr<T>);

impl<T> OnceLeaked<T> {
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    fn get(&self) -> Option<&T> {
        // SAFETY: null, or a box that was leaked by `get_or_make` and is never
        // freed nor written again.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// The value; made now where there is none. Threads that come at the same
    /// time all make one, and all but one are dropped.
    pub fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let fresh = Box::into_raw(Box::new(make()));
        match self
            .0
            .compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire)
        {
            // SAFETY: just leaked, and published for good.
            Ok(_) => unsafe { &*fresh },
            Err(theirs) => {
                // SAFETY: `fresh` came out of a box above and was shown to nobody.
                drop(unsafe { Box::from_raw(fresh) });
                // SAFETY: as in `get`; not null, or the exchange had succeeded.
                unsafe { &*theirs }
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_stays() {
        static CELL: OnceLeaked<String> = OnceLeaked::new();
        assert_eq!(CELL.get_or_make(|| String::from("first")), "first");
        assert_eq!(CELL.get_or_make(|| unreachable!()), "first");
    }

    #[test]
    fn many_threads_get_one_value() {
        static CELL: OnceLeaked<usize> = OnceLeaked::new();
        let values: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|n| scope.spawn(move || *CELL.get_or_make(|| n)))
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(values.iter().all(|v| *v == values[0]), "{values:?}");
    }
}
