//! Reading the clock at counter cost and waiting precisely.
//!
//! * [`counter`]: the raw CPU counter, in ticks.
//! * [`Clock`]: the counter converted to nanoseconds of `CLOCK_MONOTONIC`; where
//!   the kernel itself does not trust the counter, the kernel's clock.
//! * [`HybridSleeper`]: sleeps in the kernel for most of the time and spins over
//!   the wake-up latency it has learned.
//! * [`os`]: the kernel's own clocks and sleeps, for comparison and fallback.
//!
//! ```
//! use tompion_time::{Clock, HybridSleeper};
//!
//! let clock = Clock::calibrate(std::time::Duration::from_millis(5));
//! let mut sleeper = HybridSleeper::new(clock);
//! let wake_at = clock.now_ns() + 200_000;
//! sleeper.sleep_until_ns(wake_at);
//! assert!(clock.now_ns() >= wake_at);
//! ```

#[deny(unsafe_code)]
mod calibrate;
#[deny(unsafe_code)]
mod clock;
pub mod counter;
#[deny(unsafe_code)]
mod hybrid;
#[deny(unsafe_code)]
mod margin;
pub mod os;

pub use calibrate::{Anchor, Rate};
pub use clock::{Clock, Source};
pub use hybrid::{HybridSleeper, Slept};
pub use margin::Margin;
