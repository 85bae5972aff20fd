//! Those of loom, which exist within a model alone and cannot be made in constants: each is
//! made where it is first used. A model has its first thread use all of them before it
//! starts others (`made`): whoever makes one has written to it.

use std::cell;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{self, Ordering};

use loom::sync::atomic as modelled;

pub(crate) use modelled::fence;

macro_rules! atomic {
    ($name:ident<$of:ident>, $value:ty) => {
        atomic!(impl ($of) $name ($value));
    };
    ($name:ident, $value:ty) => {
        atomic!(impl () $name ($value));
    };
    (impl ($($of:ident)?) $name:ident ($value:ty)) => {
        pub(crate) struct $name$(<$of>)? {
            first: atomic::$name$(<$of>)?,
            made: OnceLock<modelled::$name$(<$of>)?>,
        }

        impl$(<$of>)? $name$(<$of>)? {
            pub const fn new(first: $value) -> Self {
                Self {
                    first: atomic::$name::new(first),
                    made: OnceLock::new(),
                }
            }

            pub fn made(&self) -> &modelled::$name$(<$of>)? {
                self.made
                    .get_or_init(|| modelled::$name::new(self.first.load(Ordering::Relaxed)))
            }
        }

        impl$(<$of>)? Deref for $name$(<$of>)? {
            type Target = modelled::$name$(<$of>)?;

            fn deref(&self) -> &Self::Target {
                self.made()
            }
        }
    };
}

atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicI64, i64);
atomic!(AtomicPtr<T>, *mut T);

/// Memory whose reads and writes must not meet.
pub(crate) struct UnsafeCell<T> {
    value: cell::UnsafeCell<T>,
    made: OnceLock<loom::cell::UnsafeCell<()>>,
}

impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        Self {
            value: cell::UnsafeCell::new(value),
            made: OnceLock::new(),
        }
    }

    pub fn made(&self) -> &loom::cell::UnsafeCell<()> {
        self.made.get_or_init(|| loom::cell::UnsafeCell::new(()))
    }

    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        self.made().with(|_| read(self.value.get()))
    }

    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        self.made().with_mut(|_| write(self.value.get()))
    }
}
