//! Counts of what was right, held against bounds.

use std::fmt;

/// A share that was counted, with the bound it is to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// How often.
    pub times: u64,
    /// Of so many.
    pub of: u64,
    /// What is promised; absent where nothing is.
    pub bound: Option<Bound>,
}

/// What a share is to keep, but for the chance error of so many draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At least this share.
    AtLeast(f64),
    /// At most this share.
    AtMost(f64),
}

impl Counted {
    /// The share; NaN of nothing.
    pub fn share(&self) -> f64 {
        self.times as f64 / self.of as f64
    }

    /// Whether the bound is kept, or missed by no more than chance at two standard errors.
    pub fn is_kept(&self) -> bool {
        let error = |share: f64| 2.0 * (share * (1.0 - share) / self.of as f64).sqrt();
        self.of == 0
            || self.bound.is_none_or(|bound| match bound {
                Bound::AtLeast(share) => self.share() >= share - error(share),
                Bound::AtMost(share) => self.share() <= share + error(share),
            })
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.of == 0 {
            return f.pad("-");
        }
        let mark = if self.is_kept() { "" } else { " !" };
        f.pad(&format!("{:.1}{mark}", 100.0 * self.share()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_missed_only_beyond_the_error_of_the_draws() {
        let of = |times, of, bound| Counted {
            times,
            of,
            bound: Some(bound),
        };
        assert!(of(909, 1000, Bound::AtLeast(0.925)).is_kept());
        assert!(!of(907, 1000, Bound::AtLeast(0.925)).is_kept());
        assert!(of(34, 1000, Bound::AtMost(0.025)).is_kept());
        assert!(!of(36, 1000, Bound::AtMost(0.025)).is_kept());
        assert!(of(0, 0, Bound::AtLeast(1.0)).is_kept());
        assert_eq!(of(36, 1000, Bound::AtMost(0.025)).to_string(), "3.6 !");
    }
}
