//! What somebody took of the CPUs, and how late that makes sleeps.

/// What somebody took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Taker {
    /// Share of the CPUs' time.
    pub share: f64,
    /// The longest at once, in nanoseconds; absent where nobody saw that.
    pub longest_ns: Option<u64>,
}

impl Taker {
    /// The share of moments from which on it holds a sleep up for longer than `ns`, at most: as if all that it took
    /// came in pieces as long as the longest.
    pub fn beyond(self, ns: f64) -> f64 {
        let left = |longest: u64| (1.0 - ns / (longest as f64).max(1.0)).max(0.0);
        self.share * self.longest_ns.map_or(1.0, left)
    }
}
