//! How early to leave the kernel's sleep, learned from wake-up latencies.

/// An exponentially forgetting estimate of the wake-up latency and its spread.
///
/// Pure; in nanoseconds. The margin is the mean plus four mean absolute
/// deviations, in the manner of the retransmission timer of TCP (Jacobson 1988,
/// RFC 6298). A single outlier counts at most four times the present margin, so
/// that one lost time slice does not make the next thousand sleeps spin.
#[derive(Clone, Copy, Debug)]
pub struct Margin {
    mean_ns: f64,
    deviation_ns: f64,
}

impl Default for Margin {
    fn default() -> Self {
        // Ample for the first sleeps; learned away within a few dozen.
        Self {
            mean_ns: 20_000.0,
            deviation_ns: 10_000.0,
        }
    }
}

impl Margin {
    /// Never leave more than this to spinning, whatever was observed.
    const MOST_NS: f64 = 1_000_000.0;

    /// The margin to keep before the deadline.
    pub fn ns(&self) -> u64 {
        (self.mean_ns + 4.0 * self.deviation_ns).min(Self::MOST_NS) as u64
    }

    /// Takes account of one observed wake-up latency.
    pub fn observe(&mut self, latency_ns: u64) {
        let cap = 4.0 * (self.mean_ns + 4.0 * self.deviation_ns).max(1_000.0);
        let latency = (latency_ns as f64).min(cap);
        let error = latency - self.mean_ns;
        self.mean_ns += error / 8.0;
        self.deviation_ns += (error.abs() - self.deviation_ns) / 16.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learns_a_steady_latency() {
        let mut m = Margin::default();
        (0..500).for_each(|_| m.observe(4_000));
        assert!((4_000..4_100).contains(&m.ns()), "{}", m.ns());
    }

    #[test]
    fn forgets_an_outlier() {
        let mut m = Margin::default();
        (0..500).for_each(|_| m.observe(4_000));
        m.observe(50_000_000);
        assert!(m.ns() < 20_000, "{}", m.ns());
        (0..100).for_each(|_| m.observe(4_000));
        assert!(m.ns() < 5_000, "{}", m.ns());
    }

    #[test]
    fn follows_a_lasting_change() {
        let mut m = Margin::default();
        (0..500).for_each(|_| m.observe(4_000));
        (0..200).for_each(|_| m.observe(60_000));
        assert!(m.ns() >= 60_000, "{}", m.ns());
    }
}
