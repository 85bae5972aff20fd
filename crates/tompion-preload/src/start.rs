//! The start of the library in a process.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{clockid_t, timespec};
use tompion_time::embed::{DisruptionMarker, Trust, with_default_floats};
use tompion_time::evidence::{Evidence, Standing};
use tompion_time::os::ClockId;
use tompion_time::{Policy, Reason, agreement, counter};

use crate::bindings;
use crate::clock::{self, CLOCK, MEMORY};
use crate::decision::{Costs, Decision};
use crate::explain;
use crate::exports;
use crate::kernel::{self, ClockGettime, Vdso};
use crate::libc_calls::Next;
use crate::next_clock;
use crate::routes::{ROUTES, kernel_now_ns};
use crate::settings::{Settings, VARIABLE};
use crate::sleeps;

/// What was decided; null before.
static DECISION: AtomicPtr<Decision> = AtomicPtr::new(ptr::null_mut());

/// Not in tests, whose binary would start the library itself.
#[used]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
static START: extern "C" fn() = start;

#[used]
#[cfg_attr(not(test), unsafe(link_section = ".fini_array"))]
static END: extern "C" fn() = end;

/// Runs before the program's `main`, after the libraries that this one needs.
extern "C" fn start() {
    // What is not found on the way, such as a device, is no error of the program's.
    kernel::keeping_errno(|| with_default_floats(begin));
}

fn begin() {
    let (settings, odd) = Settings::parse(&variable());
    if let Some(odd) = odd {
        explain::say(&format!("{odd}"));
    }
    let next = Next::find();
    ROUTES.find_sleeps(&next);
    if let Some(time) = next_clock::time() {
        ROUTES.find_time(time);
    }
    let decision = match next_clock::respect() {
        Some(library) => Decision::Foreign(library),
        None => decide(&settings),
    };
    if matches!(decision, Decision::Counter(_)) {
        ROUTES.clock_gettime.set(clock::clock_gettime);
        ROUTES.gettimeofday.set(clock::gettimeofday);
    }
    if decision.replaces_time(settings.always) {
        ROUTES.time.set(clock::time);
    } else {
        let theirs = ROUTES.time.get() as *const c_void;
        bindings::hand_over(exports::time as *const c_void, theirs);
    }
    let hybrid = settings
        .hybrid
        .filter(|_| !matches!(decision, Decision::Foreign(_)));
    if let Some(budget) = hybrid {
        sleeps::set_budget(budget);
        ROUTES.sleeps.clock_nanosleep.set(sleeps::clock_nanosleep);
        ROUTES.sleeps.nanosleep.set(sleeps::nanosleep);
        ROUTES.sleeps.usleep.set(sleeps::usleep);
        ROUTES.sleeps.sleep.set(sleeps::sleep);
    }
    if settings.explain {
        explain::first(&decision, hybrid);
        DECISION.store(Box::into_raw(Box::new(decision)), Ordering::Release);
    }
}

/// The settings' variable; empty in a program that runs with more rights than its user.
fn variable() -> String {
    // SAFETY: only looks the value up.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    std::env::var(VARIABLE)
        .ok()
        .filter(|_| !secure)
        .unwrap_or_default()
}

/// Weighs, and leaves the routes as without this library.
fn decide(settings: &Settings) -> Decision {
    if kernel::counter_is_forbidden() {
        // The system calls that serve until now serve on.
        return Decision::Kernel(Reason::Forbidden);
    }
    let vdso = Vdso::find();
    ROUTES.step_aside(&vdso);
    if settings.clock == Policy::Kernel {
        return Decision::Kernel(Reason::Requested);
    }
    if !counter::AVAILABLE {
        return Decision::Kernel(Reason::NoCounter);
    }
    // Before the evidence, which takes longer to gather.
    let decision = Decision::by(measure(ROUTES.kernel_clock.get()), settings.always);
    if matches!(decision, Decision::NotFaster(_)) {
        return decision;
    }
    let evidence = Evidence::gather();
    let agreement =
        must_compare(settings, &evidence).then(|| agreement::measure(agreement::TIME_LIMIT));
    let trust = match Trust::weigh(settings.clock, &evidence, agreement.as_ref()) {
        Ok(trust) => trust,
        Err(reason) => return Decision::Kernel(reason),
    };
    MEMORY.wipe_on_fork();
    CLOCK.trust(trust);
    if let Some(marker) = DisruptionMarker::open() {
        CLOCK.process().set_marker(marker);
    }
    decision
}

/// Whether the CPUs' counters have to be compared here and now: by request the counter
/// is used although the kernel does not, and nobody has done it in this boot.
fn must_compare(settings: &Settings, evidence: &Evidence) -> bool {
    let boot = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    settings.clock == Policy::Tsc
        && evidence.clocksources.standing() == Standing::Listed
        && !settings
            .agreed
            .as_deref()
            .is_some_and(|id| boot().is_ok_and(|now| now.trim() == id))
}

/// Reads both ways in turns; the cheapest batch of each is the one that nothing
/// disturbed.
fn measure(kernel: ClockGettime) -> Costs {
    const BATCHES: u32 = 12;
    const READS: u32 = 32;
    /// For slow clocks; fast ones are done in a twentieth of it.
    const ENOUGH_NS: u64 = 1_000_000;
    let batch = |read: ClockGettime, reads: u32| {
        let mut time = timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        ticks_a_call(reads, || {
            let (clock, to): (clockid_t, *mut timespec) = (libc::CLOCK_MONOTONIC, &mut time);
            // SAFETY: `time` is valid to write to.
            let _: c_int = unsafe { black_box(read)(black_box(clock), black_box(to)) };
        })
    };
    let time = ROUTES.libc_time.get();
    let seconds = |reads: u32| {
        ticks_a_call(reads, || {
            // SAFETY: null asks for the result alone.
            black_box(unsafe { black_box(time)(ptr::null_mut()) });
        })
    };
    let begin = (kernel_now_ns(ClockId::Monotonic), counter::read_ordered());
    let mut best = [f64::INFINITY; 3];
    CLOCK.try_out(|| {
        // The first readings take the faults.
        batch(clock::clock_gettime, 2);
        let slow = [batch(kernel, 2), seconds(2)];
        for _ in 0..BATCHES {
            best[0] = best[0].min(batch(clock::clock_gettime, READS));
            best[1] = best[1].min(batch(kernel, READS)).min(slow[0]);
            best[2] = best[2].min(seconds(READS)).min(slow[1]);
            if kernel_now_ns(ClockId::Monotonic).saturating_sub(begin.0) > ENOUGH_NS {
                break;
            }
        }
    });
    let end = (kernel_now_ns(ClockId::Monotonic), counter::read_ordered());
    let ns_per_tick =
        end.0.saturating_sub(begin.0) as f64 / (end.1.wrapping_sub(begin.1)).max(1) as f64;
    CLOCK.process().watch.set_usual(best[1] as u64);
    let [counter_ns, kernel_ns, time_ns] = best.map(|ticks| ticks * ns_per_tick);
    Costs {
        counter_ns,
        kernel_ns,
        time_ns,
    }
}

/// What one of so many calls in a row takes.
fn ticks_a_call(calls: u32, mut call: impl FnMut()) -> f64 {
    let before = counter::read_ordered();
    for _ in 0..calls {
        call();
    }
    (counter::read_closing().wrapping_sub(before)) as f64 / f64::from(calls)
}

extern "C" fn end() {
    // SAFETY: null, or leaked by `start` for good.
    if let Some(decision) = unsafe { DECISION.load(Ordering::Acquire).as_ref() } {
        kernel::keeping_errno(|| with_default_floats(|| explain::last(decision)));
    }
}
