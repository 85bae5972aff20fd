//! The clock that reads at counter cost, and the sleep that does not miss.
//!
//! * [`Instant`]: nanoseconds of `CLOCK_MONOTONIC` at about the cost of a counter
//!   read. Follows the kernel's clock while NTP slews it, never runs backwards,
//!   and falls back to the kernel's clock when the counter is not to be trusted.
//! * [`Clock`]: what the clock uses at present, why, and how exactly.
//! * [`Ticks`]: the raw counter, for short intervals and hot loops.
//! * [`sleep`]: kernel sleep without slack, hybrid sleep that spins over the
//!   wake-up latency it has learned, periodic ticker.
//! * [`evidence`], [`agreement`]: what is known of the counter.
//! * [`counter`], [`os`]: the raw counter and the kernel's own clocks and sleeps.
//!
//! ```
//! use std::time::Duration;
//! use tompion_time::sleep::{Policy, Sleeper};
//! use tompion_time::{Clock, Instant};
//!
//! let start = Instant::now();
//! let mut sleeper = Sleeper::new(Policy::hybrid());
//! let slept = sleeper.sleep(Duration::from_micros(200));
//! assert!(start.elapsed() >= Duration::from_micros(199));
//! println!("spun for {} ns", slept.spun_ns);
//! println!("{}", Clock::report());
//! ```
//!
//! # How the clock works
//! The scale is cut into pieces of about 5 ms. Within a piece a reading is
//! `n0 + (ticks - t0) * mult / 2^32`. The reader that finds its piece used up takes
//! an *anchor*: it reads the kernel's clock between two reads of the counter, looks
//! at the evidence (the kernel's clocksource, the vmclock device, time spent in
//! suspend), and publishes the next piece. There is no helper thread and no lock;
//! a signal handler may read the clock at any time.
//!
//! A program that does not read its clock pays nothing; its first read after a
//! pause takes an anchor, about 1 to 4 us, or up to 20 us when the caches are cold.
//!
//! # What it does not see
//! * Within a piece nothing is compared with the kernel. A counter that jumps
//!   ahead makes time jump ahead by at most the rest of the piece (5 ms; 7.5 ms
//!   where it happened within a disturbed anchor), and is then found out: time is held until the kernel's clock has caught up.
//! * A counter that jumps back is found out by the first thread that had read it
//!   before, in the same piece; a thread that had not may get an earlier time than
//!   another thread was given, until the piece ends.
//! * A counter that stands still is found out after 1000 equal reads of a thread.
//! * `prctl(PR_SET_TSC)` before the first read is honoured. Forbidding the counter
//!   later ends the program at the next read, as it does with the C library's
//!   clocks.
//! * With [`Policy::Tsc`] where the kernel uses another source, that the kernel
//!   marks the counter unstable later is not noticed, only what it shows itself.

pub mod agreement;
#[deny(unsafe_code)]
mod bracket;
#[deny(unsafe_code)]
mod calibrate;
#[deny(unsafe_code)]
mod clock;
pub mod counter;
#[deny(unsafe_code)]
mod discipline;
#[cfg(feature = "embed")]
#[deny(unsafe_code)]
#[doc(hidden)]
pub mod embed;
#[deny(unsafe_code)]
mod engine;
pub mod evidence;
mod float;
#[deny(unsafe_code)]
mod instant;
#[deny(unsafe_code)]
mod machine;
mod once_leaked;
pub mod os;
#[deny(unsafe_code)]
mod policy;
pub mod sleep;
mod slots;
#[deny(unsafe_code)]
mod source;
#[deny(unsafe_code)]
mod sync;
#[deny(unsafe_code)]
mod ticks;

pub use calibrate::{Anchor, Rate};
pub use clock::{Clock, Report};
pub use discipline::Reason;
pub use instant::Instant;
pub use policy::{ParsePolicyError, Policy};
pub use source::Source;
pub use ticks::Ticks;

/// The guide's examples, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../guide.md")]
struct Guide;
