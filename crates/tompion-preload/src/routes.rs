//! Where the replaced calls go at present.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use tompion_time::os::ClockId;

use crate::kernel::{self, ClockGettime, Gettimeofday, Time};
use crate::libc_calls::{self, ClockNanosleep, Nanosleep, Next, Sleep, Usleep};

/// A function pointer that may be exchanged at any time.
pub struct Route<F> {
    to: AtomicPtr<()>,
    kind: PhantomData<F>,
}

impl<F: Copy> Route<F> {
    /// # Safety
    /// `to` is a function of type `F`, a function pointer.
    pub const unsafe fn new(to: *mut ()) -> Self {
        assert!(size_of::<F>() == size_of::<*mut ()>());
        Self {
            to: AtomicPtr::new(to),
            kind: PhantomData,
        }
    }

    /// The function at present.
    #[inline(always)]
    pub fn get(&self) -> F {
        let to = self.to.load(Ordering::Relaxed);
        // SAFETY: `new` and `set` store functions of type `F` only, and functions
        // are there from the loading of the library on.
        unsafe { std::mem::transmute_copy(&to) }
    }

    /// Sends calls elsewhere from now on.
    pub fn set(&self, function: F) {
        // SAFETY: `F` is a function pointer, of a pointer's size (see `new`).
        let to: *mut () = unsafe { std::mem::transmute_copy(&function) };
        self.to.store(to, Ordering::Relaxed);
    }
}

/// All of them.
pub struct Routes {
    pub clock_gettime: Route<ClockGettime>,
    pub gettimeofday: Route<Gettimeofday>,
    pub time: Route<Time>,
    pub sleeps: Sleeps,
    /// The kernel's own clock, for what is not replaced and for anchors.
    pub kernel_clock: Route<ClockGettime>,
    /// libc's own `time`, which never reads the counter.
    pub libc_time: Route<Time>,
    /// libc's own sleeps, for what is not replaced and for hybrid sleeps.
    pub libc: Sleeps,
    forbidden: AtomicBool,
}

/// The calls that sleep.
pub struct Sleeps {
    pub clock_nanosleep: Route<ClockNanosleep>,
    pub nanosleep: Route<Nanosleep>,
    pub usleep: Route<Usleep>,
    pub sleep: Route<Sleep>,
}

impl Sleeps {
    const fn by_system_call() -> Self {
        // SAFETY: each function has the type of its field.
        unsafe {
            Self {
                clock_nanosleep: Route::new(libc_calls::clock_nanosleep as *mut ()),
                nanosleep: Route::new(libc_calls::nanosleep as *mut ()),
                usleep: Route::new(libc_calls::usleep as *mut ()),
                sleep: Route::new(libc_calls::sleep as *mut ()),
            }
        }
    }
}

/// System calls at first: they need nothing to have been found.
// SAFETY: each function has the type of its field.
pub static ROUTES: Routes = unsafe {
    Routes {
        clock_gettime: Route::new(kernel::clock_gettime as *mut ()),
        gettimeofday: Route::new(kernel::gettimeofday as *mut ()),
        time: Route::new(kernel::time as *mut ()),
        sleeps: Sleeps::by_system_call(),
        kernel_clock: Route::new(kernel::clock_gettime as *mut ()),
        libc_time: Route::new(kernel::time as *mut ()),
        libc: Sleeps::by_system_call(),
        forbidden: AtomicBool::new(false),
    }
};

impl Routes {
    /// Everything as without this library.
    pub fn step_aside(&self, vdso: &kernel::Vdso) {
        if let Some(function) = vdso.clock_gettime {
            self.kernel_clock.set(function);
            self.clock_gettime.set(function);
        }
        if let Some(function) = vdso.gettimeofday {
            self.gettimeofday.set(function);
        }
    }

    /// Takes over libc's `time`, and sends the calls there.
    pub fn find_time(&self, next: Time) {
        self.libc_time.set(next);
        self.time.set(next);
    }

    /// Takes over libc's sleeps, and sends the calls there.
    pub fn find_sleeps(&self, next: &Next) {
        let libc = &self.libc;
        if let Some(function) = next.clock_nanosleep {
            libc.clock_nanosleep.set(function);
        }
        if let Some(function) = next.nanosleep {
            libc.nanosleep.set(function);
        }
        if let Some(function) = next.usleep {
            libc.usleep.set(function);
        }
        if let Some(function) = next.sleep {
            libc.sleep.set(function);
        }
        self.leave_sleeps();
    }

    /// Sleeps as without this library.
    pub fn leave_sleeps(&self) {
        let (ours, libc) = (&self.sleeps, &self.libc);
        ours.clock_nanosleep.set(libc.clock_nanosleep.get());
        ours.nanosleep.set(libc.nanosleep.get());
        ours.usleep.set(libc.usleep.get());
        ours.sleep.set(libc.sleep.get());
    }

    /// Whether [`Routes::forbid_counter`] was called.
    pub fn counter_is_forbidden(&self) -> bool {
        self.forbidden.load(Ordering::Relaxed)
    }

    /// The program forbids a thread to read the counter, which the vDSO reads too:
    /// clocks by system call from now on, in all threads. Not taken back, because
    /// threads started meanwhile inherit the prohibition.
    pub fn forbid_counter(&self) {
        self.forbidden.store(true, Ordering::Relaxed);
        self.kernel_clock.set(kernel::clock_gettime);
        self.clock_gettime.set(kernel::clock_gettime);
        self.gettimeofday.set(kernel::gettimeofday);
        // Libc's never reads the counter; but it lags, and must not after a time that did not.
        if self.time.get() as usize != self.libc_time.get() as usize {
            self.time.set(kernel::exact_time);
        }
    }
}

/// A clock of the kernel in nanoseconds, by the way that is allowed at present.
#[inline]
pub fn kernel_now_ns(clock: ClockId) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is valid to write to.
    unsafe { (ROUTES.kernel_clock.get())(clock.raw(), &mut now) };
    (now.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec as u64)
}
