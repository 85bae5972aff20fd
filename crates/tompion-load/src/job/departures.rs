//! When datagrams are due: at a rate, with the gaps that are asked for.

use std::fmt;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tompion_model::InvalidValue;

/// The most that leave at once.
const MOST_AT_ONCE: u32 = 10_000;

/// How the times between datagrams are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gaps {
    /// What the system's sleeps make of equal ones: on most machines some at once, then none for a while.
    #[default]
    AsSlept,
    /// Equal.
    Even,
    /// Random, as of many senders that do not know each other (a Poisson process).
    Poisson,
    /// So many at once, and then none until as many are due.
    Bursts(u32),
}

impl Gaps {
    /// From the value of an option.
    pub fn parse(text: &str) -> Result<Self, InvalidValue> {
        let bursts = |count: &str| match count.parse() {
            Ok(count @ 1..=MOST_AT_ONCE) => Some(Self::Bursts(count)),
            _ => None,
        };
        let found = match text.split_once(':') {
            Some(("bursts", count)) => bursts(count),
            None if text == "even" => Some(Self::Even),
            None if text == "poisson" => Some(Self::Poisson),
            _ => None,
        };
        found.ok_or_else(|| {
            format!(
                "gaps={text} should be even, poisson, or bursts:N with N from 1 to {MOST_AT_ONCE}"
            )
            .into()
        })
    }

    fn at_once(self) -> u64 {
        match self {
            Self::Bursts(count) => count.into(),
            Self::AsSlept | Self::Even | Self::Poisson => 1,
        }
    }
}

impl fmt::Display for Gaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsSlept => f.write_str("as slept"),
            Self::Even => f.write_str("even"),
            Self::Poisson => f.write_str("poisson"),
            Self::Bursts(count) => write!(f, "bursts:{count}"),
        }
    }
}

/// Which datagrams are due. What could not be sent in time is sent later, but no more than a twentieth of a second's
/// worth: a pause earns no burst.
pub struct Departures {
    bits_per_second: u64,
    /// Of one datagram.
    bits: u64,
    gaps: Gaps,
    begun: Option<Duration>,
    /// Datagrams since then, and random gaps added up, in nanoseconds.
    sent: u64,
    random_ns: f64,
    random: ChaCha8Rng,
}

impl Departures {
    const LATE: Duration = Duration::from_millis(50);

    /// Of datagrams of so many bytes; the same random gaps each time.
    pub fn new(bits_per_second: u64, bytes: usize, gaps: Gaps) -> Self {
        Self {
            bits_per_second,
            bits: 8 * bytes as u64,
            gaps,
            begun: None,
            sent: 0,
            random_ns: 0.0,
            random: ChaCha8Rng::seed_from_u64(0),
        }
    }

    /// How long to wait for the next datagram, which then counts as sent; zero
    /// when it is due. `now` is the time since some fixed moment.
    pub fn next(&mut self, now: Duration) -> Duration {
        let mut begun = self.begun.unwrap_or(now);
        if now > begun + self.due() + Self::LATE {
            begun = now - Self::LATE.min(now);
            (self.sent, self.random_ns) = (0, 0.0);
        }
        self.begun = Some(begun);
        let due_at = begun + self.due();
        self.sent += 1;
        if self.gaps == Gaps::Poisson {
            let mean_ns = self.bits as f64 * 1e9 / self.bits_per_second as f64;
            let share: f64 = self.random.random();
            self.random_ns -= mean_ns * (1.0 - share).ln();
        }
        due_at.saturating_sub(now)
    }

    /// When the next one is due since the first.
    fn due(&self) -> Duration {
        if self.gaps == Gaps::Poisson {
            return Duration::from_nanos(self.random_ns as u64);
        }
        let before = self.sent - self.sent % self.gaps.at_once();
        let bits = u128::from(before) * u128::from(self.bits);
        let ns = bits * 1_000_000_000 / u128::from(self.bits_per_second);
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const BYTES: usize = 1400;

    /// Gaps in nanoseconds of a thousand datagrams a second, each sent when it is due, for so many seconds.
    fn gaps(gaps: Gaps, seconds: u32) -> Vec<f64> {
        let mut departures = Departures::new(1000 * 8 * BYTES as u64, BYTES, gaps);
        let mut now = SECOND;
        let mut at = Vec::new();
        while now < (1 + seconds) * SECOND {
            now += departures.next(now);
            at.push(now.as_nanos() as f64);
        }
        at.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn a_rate_is_kept_and_a_pause_earns_little() {
        for kind in [Gaps::AsSlept, Gaps::Even, Gaps::Poisson, Gaps::Bursts(10)] {
            let found = gaps(kind, 20);
            // Of random ones the mean of 20,000 is within four of its deviations.
            assert!(
                (mean(&found) / 1e6 - 1.0).abs() < 0.03,
                "{kind}: {}",
                mean(&found)
            );
            let mut departures = Departures::new(1000 * 8 * BYTES as u64, BYTES, kind);
            departures.next(SECOND);
            // An hour later: some 50 at once at most, then the rate again.
            let now = 3600 * SECOND;
            let burst = (0..200)
                .take_while(|_| departures.next(now).is_zero())
                .count();
            assert!((25..=80).contains(&burst), "{kind}: {burst}");
        }
    }

    #[test]
    fn gaps_are_as_asked_for() {
        let even = gaps(Gaps::Even, 1);
        assert!(even.iter().all(|gap| *gap == 1e6));
        let bursts = gaps(Gaps::Bursts(4), 1);
        for (at, gap) in bursts.iter().enumerate() {
            assert_eq!(*gap, if at % 4 == 3 { 4e6 } else { 0.0 });
        }
        let random = gaps(Gaps::Poisson, 20);
        let mean = mean(&random);
        let square = random.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
        let deviation = (square / random.len() as f64).sqrt();
        assert!(
            (deviation / mean - 1.0).abs() < 0.05,
            "{}",
            deviation / mean
        );
        let longer = random.iter().filter(|gap| **gap > mean).count() as f64;
        // e to the minus one.
        assert!((longer / random.len() as f64 - 0.368).abs() < 0.02);
    }

    #[test]
    fn gaps_are_read_and_told() {
        for text in ["even", "poisson", "bursts:10"] {
            assert_eq!(Gaps::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "random", "bursts", "bursts:0", "bursts:10001", "even:1"] {
            let why = Gaps::parse(text).unwrap_err().to_string();
            assert!(
                why.contains("should be even, poisson, or bursts:N"),
                "{why}"
            );
        }
    }
}
