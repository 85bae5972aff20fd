//! `libtompion_preload.so`: precise time under unmodified programs.
//!
//! Loaded by `LD_PRELOAD` (see `tompion preload`), it replaces `clock_gettime`,
//! `gettimeofday`, `time`, `clock_nanosleep`, `nanosleep`, `usleep` and `sleep`, for
//! `CLOCK_REALTIME` and `CLOCK_MONOTONIC`. The way of a call:
//!
//! 1. `exports`: the symbols that the program is bound to. Each loads one pointer
//!    and goes where it points.
//! 2. `routes`: where the calls go. Before the library has started: to the kernel by
//!    system call. Afterwards to the vDSO and to libc (*aside*: as without us), or to
//!    the counter. Where the program forbids the counter: to the kernel again.
//! 3. `clock`: the clock of `tompion-time`, embedded; `sleeps`: its hybrid sleep.
//!
//! `bindings` takes `time` out of the way where we step aside: the vDSO answers it so
//! soon that the jump through this library would be felt.
//!
//! `start` runs as a constructor: it reads the `settings`, finds the vDSO and
//! libc, weighs the evidence, measures itself, and sets the routes.
//!
//! # Rules of everything that a replaced call may run
//! No allocation, no lock, no symbol look-up, no system call but the one asked for
//! (readers of the clock make none unless the kernel's own clock does); no Rust
//! thread-locals, because the dynamic loader may allocate them late; `errno` as libc
//! leaves it; nothing that unwinding through these frames (`pthread_cancel`) would
//! have to clean up.

mod bindings;
mod clock;
mod decision;
mod explain;
#[cfg_attr(test, allow(dead_code))]
mod exports;
mod host;
mod kernel;
mod libc_calls;
#[cfg(target_arch = "x86_64")]
#[cfg_attr(not(test), allow(dead_code))]
mod memory;
mod next;
mod next_clock;
mod objects;
mod routes;
mod settings;
mod sleeps;
mod start;
mod thread;
mod watch;
