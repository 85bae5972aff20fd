//! One duration a probe, some missing.

use tompion_stats::Distribution;

/// No difference of two stamps reaches it.
const MISSING: i64 = i64::MIN;

/// Signed nanoseconds, one for each probe in the order of sending, some missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<i64>);

impl From<Vec<i64>> for Values {
    /// A value of each probe.
    fn from(all: Vec<i64>) -> Self {
        Self(all)
    }
}

impl Values {
    /// How many probes there are, with those that have no value.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no probe.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a probe, in nanoseconds.
    pub fn get(&self, probe: usize) -> Option<i64> {
        self.0.get(probe).copied().filter(|&v| v != MISSING)
    }

    /// All probes in the order of sending, in nanoseconds.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<i64>> + DoubleEndedIterator + '_ {
        self.0.iter().map(|&v| (v != MISSING).then_some(v))
    }

    /// The values alone, in the order of sending.
    pub fn present(&self) -> impl DoubleEndedIterator<Item = i64> + '_ {
        self.iter().flatten()
    }

    /// How many probes have no value.
    pub fn missing(&self) -> usize {
        self.0.iter().filter(|&&v| v == MISSING).count()
    }

    /// The smallest value.
    pub fn min(&self) -> Option<i64> {
        self.present().min()
    }

    /// Quantiles, median and the rest come from here.
    pub fn distribution(&self) -> Distribution {
        Distribution::from_values(self.present())
    }

    /// `self - other`, probe by probe; missing where either is, or where the difference is
    /// beyond 64 bits.
    pub fn minus(&self, other: &Self) -> Self {
        self.with(other, i64::checked_sub)
    }

    /// Both probe by probe, as long as the longer; missing where `make` gives nothing.
    pub(crate) fn with(&self, other: &Self, make: impl Fn(i64, i64) -> Option<i64>) -> Self {
        let longer = self.len().max(other.len());
        (0..longer)
            .map(|i| make(self.get(i)?, other.get(i)?))
            .collect()
    }
}

impl FromIterator<Option<i64>> for Values {
    /// A value of `i64::MIN` counts as missing.
    fn from_iter<I: IntoIterator<Item = Option<i64>>>(values: I) -> Self {
        Self(values.into_iter().map(|v| v.unwrap_or(MISSING)).collect())
    }
}

#[cfg(test)]
mod tests;
