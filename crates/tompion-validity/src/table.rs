//! Counts of what was right, held against bounds.

use std::fmt;

/// A table as text, and how many bounds were missed in it.
pub type Part = (String, u32);

/// Runs a function on each of them, all at the same time.
pub fn in_threads<T: Sync, R: Send>(all: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let of = &of;
        let threads: Vec<_> = all.iter().map(|one| scope.spawn(move || of(one))).collect();
        let rows = threads.into_iter().map(|t| t.join().expect("a row"));
        rows.collect()
    })
}

/// The same cell from several sets of seeds.
pub fn joined<T: fmt::Display>(cells: impl IntoIterator<Item = T>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|c| c.to_string()).collect();
    cells.join("/")
}

/// How many miss their bounds.
pub fn missed<'a>(cells: impl IntoIterator<Item = &'a Counted>) -> u32 {
    cells.into_iter().filter(|c| !c.is_kept()).count() as u32
}

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
