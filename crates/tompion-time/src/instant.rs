//! A moment, in the manner of `std::time::Instant`.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

use crate::machine::CLOCK;

/// A moment on the scale of `CLOCK_MONOTONIC`, in nanoseconds.
///
/// Reading it costs about as much as reading the CPU counter: the conversion is
/// one multiplication. The clock behind it follows the kernel's as the [crate's
/// documentation](crate) says; [`Clock::report`](crate::Clock::report) tells by
/// what means and how closely at present.
///
/// Moments never run backwards: not within a thread, and not between threads
/// where one read [`now_ordered`](Self::now_ordered) after it learned of the
/// other's moment.
///
/// ```
/// use tompion_time::Instant;
/// use std::time::Duration;
///
/// let start = Instant::now();
/// let deadline = start + Duration::from_micros(50);
/// while Instant::now() < deadline {
///     std::hint::spin_loop();
/// }
/// assert!(start.elapsed() >= Duration::from_micros(50));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    ns: u64,
}

impl Instant {
    /// The present moment. The CPU may read the counter a few nanoseconds before
    /// or after neighbouring instructions, as with every plain counter read.
    #[inline]
    #[must_use]
    pub fn now() -> Self {
        Self {
            ns: CLOCK.now(false),
        }
    }

    /// The present moment, read after all earlier instructions have completed.
    #[inline]
    #[must_use]
    pub fn now_ordered() -> Self {
        Self {
            ns: CLOCK.now(true),
        }
    }

    /// The moment at which `CLOCK_MONOTONIC` reads so many nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self { ns }
    }

    /// Nanoseconds on the scale of `CLOCK_MONOTONIC`.
    #[inline]
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.ns
    }

    /// The time since `earlier`; zero if that is later.
    #[must_use]
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// The time since `earlier`; `None` if that is later.
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.ns.checked_sub(earlier.ns).map(Duration::from_nanos)
    }

    /// The time since `earlier`; zero if that is later.
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        Duration::from_nanos(self.ns.saturating_sub(earlier.ns))
    }

    /// The time since this moment.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now().duration_since(*self)
    }

    /// This moment and `duration`; `None` where it cannot be told in 64 bits of
    /// nanoseconds.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        let ns = u64::try_from(duration.as_nanos()).ok()?;
        self.ns.checked_add(ns).map(Self::from_nanos)
    }

    /// `duration` before this moment; `None` before the clock began.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        let ns = u64::try_from(duration.as_nanos()).ok()?;
        self.ns.checked_sub(ns).map(Self::from_nanos)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// # Panics
    /// Where the sum cannot be told: see [`Instant::checked_add`].
    fn add(self, duration: Duration) -> Self {
        self.checked_add(duration)
            .expect("overflow when adding duration to instant")
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// # Panics
    /// Before the clock began: see [`Instant::checked_sub`].
    fn sub(self, duration: Duration) -> Self {
        self.checked_sub(duration)
            .expect("overflow when subtracting duration from instant")
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, ns) = (self.ns / 1_000_000_000, self.ns % 1_000_000_000);
        write!(f, "Instant({s}.{ns:09} s)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_as_in_std() {
        let a = Instant::from_nanos(5_000);
        let b = a + Duration::from_nanos(2_000);
        assert_eq!(b - a, Duration::from_nanos(2_000));
        assert_eq!(a - b, Duration::ZERO);
        assert_eq!(a.checked_duration_since(b), None);
        assert_eq!(b - Duration::from_nanos(2_000), a);
        assert_eq!(a.checked_sub(Duration::from_secs(1)), None);
        assert_eq!(a.checked_add(Duration::MAX), None);
        let mut c = a;
        c += Duration::from_nanos(1);
        c -= Duration::from_nanos(1);
        assert_eq!(c, a);
        assert_eq!(format!("{a:?}"), "Instant(0.000005000 s)");
    }
}
