//! One stamp of many probes, in eight bytes each, missing ones with the reason.

use serde::{Deserialize, Serialize};

/// Why a stamp is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Missing {
    /// Nobody asked for it, or there is no such place.
    NotTaken,
    /// The kernel or the device gives none.
    Refused,
    /// There was no room for it where it had to wait.
    Overflowed,
    /// It came when nobody waited for it any longer.
    TooLate,
    /// The packet was not there to be stamped.
    Lost,
    /// The tap says that it dropped packets meanwhile.
    TapDropped,
    /// The tap saw no such packet.
    NotSeen,
    /// The far end gave none, or a zero.
    NotGiven,
    /// It was given, and cannot be true.
    Implausible,
    /// It is missing, and nothing says why.
    Unknown,
}

/// All reasons with their names; the place of one is how far its cell lies above the least number.
const REASONS: [(Missing, &str); 10] = [
    (Missing::NotTaken, "not-taken"),
    (Missing::Refused, "refused"),
    (Missing::Overflowed, "overflowed"),
    (Missing::TooLate, "too-late"),
    (Missing::Lost, "lost"),
    (Missing::TapDropped, "tap-dropped"),
    (Missing::NotSeen, "not-seen"),
    (Missing::NotGiven, "not-given"),
    (Missing::Implausible, "implausible"),
    (Missing::Unknown, "unknown"),
];

impl Missing {
    /// All of them.
    pub const ALL: [Self; 10] = {
        let mut all = [Self::Unknown; 10];
        let mut place = 0;
        while place < all.len() {
            all[place] = REASONS[place].0;
            place += 1;
        }
        all
    };

    /// Its name in tables, as in JSON.
    pub fn name(self) -> &'static str {
        REASONS
            .iter()
            .find(|r| r.0 == self)
            .map_or("unknown", |r| r.1)
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        REASONS.iter().find(|r| r.1 == name).map(|r| r.0)
    }
}

/// Stamps lie between minus this and this, so that any two differ by less than an `i64` holds.
const STAMP_LIMIT: i64 = 1 << 62;

/// Whether something can be a stamp.
pub(crate) fn is_in_range(at_ns: i64) -> bool {
    at_ns > -STAMP_LIMIT && at_ns < STAMP_LIMIT
}

/// A column; while it has no stamp at all it takes no memory.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    cells: Vec<i64>,
    /// Why stamps are missing of which nothing else is known.
    otherwise: Missing,
    is_used: bool,
}

impl Column {
    pub(crate) fn new() -> Self {
        Self {
            cells: Vec::new(),
            otherwise: Missing::NotTaken,
            is_used: false,
        }
    }

    /// Takes the memory for so many rows, and begins to be filled.
    pub(crate) fn reserve(&mut self, rows: usize) -> Result<(), std::collections::TryReserveError> {
        self.cells.try_reserve_exact(rows)?;
        self.begin(0);
        Ok(())
    }

    fn begin(&mut self, rows: usize) {
        if !self.is_used {
            self.is_used = true;
            if self.otherwise == Missing::NotTaken {
                self.otherwise = Missing::Unknown;
            }
            self.cells.resize(rows, missing(self.otherwise));
        }
    }

    /// A further row, without a stamp.
    pub(crate) fn push(&mut self) {
        if self.is_used {
            self.cells.push(missing(self.otherwise));
        }
    }

    /// Sets a stamp of a table of so many rows; both are within their bounds.
    pub(crate) fn set(&mut self, rows: usize, row: usize, at_ns: i64) {
        self.begin(rows);
        self.cells[row] = at_ns;
    }

    /// Takes a stamp away, with the reason.
    pub(crate) fn set_missing(&mut self, rows: usize, row: usize, why: Missing) {
        self.begin(rows);
        self.cells[row] = missing(why);
    }

    /// The reason where nothing else is known.
    pub(crate) fn set_otherwise(&mut self, why: Missing) {
        let before = missing(self.otherwise);
        self.otherwise = why;
        for cell in self.cells.iter_mut().filter(|c| **c == before) {
            *cell = missing(why);
        }
    }

    pub(crate) fn get(&self, row: usize) -> Option<i64> {
        self.cells.get(row).copied().filter(|&c| c > -STAMP_LIMIT)
    }

    /// Why a stamp is missing; of one that is there, `None`.
    pub(crate) fn why(&self, row: usize) -> Option<Missing> {
        match self.cells.get(row) {
            None => Some(self.otherwise),
            Some(&cell) if cell > -STAMP_LIMIT => None,
            Some(&cell) => {
                let reason = usize::try_from(cell.wrapping_sub(i64::MIN)).ok();
                Some(
                    reason
                        .and_then(|r| REASONS.get(r))
                        .map_or(Missing::Unknown, |r| r.0),
                )
            }
        }
    }

    /// For how many rows there is memory.
    pub(crate) fn capacity(&self) -> usize {
        self.cells.capacity()
    }

    /// Where its memory lies, and for how many rows.
    #[cfg(test)]
    pub(crate) fn place(&self) -> (*const i64, usize) {
        (self.cells.as_ptr(), self.cells.capacity())
    }

    /// Whether any row has a stamp.
    pub(crate) fn has_any(&self) -> bool {
        self.cells.iter().any(|&c| c > -STAMP_LIMIT)
    }
}

fn missing(why: Missing) -> i64 {
    let place = REASONS
        .iter()
        .position(|r| r.0 == why)
        .unwrap_or(REASONS.len() - 1);
    i64::MIN + place as i64
}
