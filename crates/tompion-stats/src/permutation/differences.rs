//! All differences of two groups of figures, or the Walsh averages of pairs, which are never formed.
//!
//! With both groups sorted they are a matrix that rises along its rows and columns. One walk along a
//! staircase tells how many lie on this side of a limit, and which are next to it (Johnson and
//! Mizoguchi 1978, SIAM J. Comput. 7): memory goes with the groups, not with their product.

use super::Design;

/// The matrix.
pub(super) enum Differences {
    /// Figures of the second group less those of the first, whose signs are turned; both ascend.
    Between { turned: Vec<f64>, second: Vec<f64> },
    /// Means of each two of these, which ascend, and of each with itself.
    Walsh(Vec<f64>),
}

/// All differences, parted by a limit.
pub(super) struct Parted {
    /// How many lie below.
    pub below: usize,
    /// The largest of these.
    pub last: Option<f64>,
    /// The smallest of the others.
    pub first: Option<f64>,
}

impl Differences {
    /// Of finite figures; of as many in both groups, where these are paired.
    pub(super) fn of(a: &[f64], b: &[f64], design: Design) -> Self {
        let sorted = |values: Vec<f64>| {
            let mut values = values;
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        match design {
            Design::Independent => Self::Between {
                turned: sorted(a.iter().map(|x| -x).collect()),
                second: sorted(b.to_vec()),
            },
            Design::Paired => Self::Walsh(sorted(a.iter().zip(b).map(|(x, y)| y - x).collect())),
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Between { turned, second } => turned.len() * second.len(),
            Self::Walsh(d) => d.len() * (d.len() + 1) / 2,
        }
    }

    /// Rows, columns, and from which column on a row counts: a mean of two stands there once.
    fn shape(&self) -> (usize, usize, fn(usize) -> usize) {
        match self {
            Self::Between { turned, second } => (turned.len(), second.len(), |_| 0),
            Self::Walsh(d) => (d.len(), d.len(), |row| row),
        }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        // Not -0: zeros are alike.
        0.0 + match self {
            Self::Between { turned, second } => second[column] + turned[row],
            Self::Walsh(d) => 0.5 * (d[row] + d[column]),
        }
    }

    /// Parts them: `is_below` holds for all up to some limit and for none above.
    pub(super) fn part(&self, is_below: impl Fn(f64) -> bool) -> Parted {
        let (rows, columns, from) = self.shape();
        let mut parted = Parted {
            below: 0,
            last: None,
            first: None,
        };
        // The first column of the row that is not below; it falls from row to row.
        let mut end = columns;
        for row in 0..rows {
            while end > 0 && !is_below(self.at(row, end - 1)) {
                end -= 1;
            }
            let from = from(row);
            let end = end.max(from);
            parted.below += end - from;
            if end > from {
                let last = self.at(row, end - 1);
                parted.last = Some(parted.last.map_or(last, |l| l.max(last)));
            }
            if end < columns {
                let first = self.at(row, end);
                parted.first = Some(parted.first.map_or(first, |f| f.min(first)));
            }
        }
        parted
    }

    /// The one of this rank, counted from 0 in ascending order; `None` beyond the last.
    pub(super) fn ranked(&self, rank: usize) -> Option<f64> {
        if rank >= self.len() {
            return None;
        }
        let (mut low, mut high) = (self.part(|_| false).first?, self.part(|_| true).last?);
        // At most as many steps as a number has bits, whatever lies how far apart.
        while low < high {
            let limit = halfway(low, high);
            let parted = self.part(|d| d <= limit);
            match parted.below > rank {
                true => high = parted.last?,
                false => low = parted.first?,
            }
        }
        Some(low)
    }
}

/// The number in the middle of all there are from `low` to below `high`.
fn halfway(low: f64, high: f64) -> f64 {
    // Bits of positive numbers are in their order, those of negative ones in the reverse.
    let place = |v: f64| match v.to_bits() as i64 {
        bits if bits < 0 => -i128::from(bits & i64::MAX),
        bits => i128::from(bits),
    };
    let middle = (place(low) + place(high)).div_euclid(2);
    let size = f64::from_bits(middle.unsigned_abs() as u64);
    if middle < 0 { -size } else { size }
}
