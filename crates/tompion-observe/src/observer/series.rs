//! Counters over time, in bounded memory.

/// One of the counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What it counts, for example `steal.cpu1`.
    pub name: String,
    /// Its unit, for example `ns`; empty for plain counts.
    pub unit: &'static str,
    /// Whether only its growth means something; else its height does.
    pub is_counter: bool,
    pub(super) role: Role,
}

/// What a column's growth may say about disturbances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Steal(u32),
    InterruptTime(u32),
    SoftirqTime(u32),
    RunDelay(i32),
    MajorFaults(i32),
    Throttled,
    ClockOffset,
    /// Nothing by itself.
    Plain,
}

/// Counters read several times a second.
///
/// When memory is used up every second row is dropped, and from then on only every
/// second one is kept: counters lose nothing by it but resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The counters; a row has one value of each.
    pub columns: Vec<Column>,
    /// When each row was read, in ns of `CLOCK_MONOTONIC`.
    pub at_ns: Vec<u64>,
    values: Vec<i64>,
    most_rows: usize,
    keep_every: usize,
    offered: usize,
}

impl Series {
    pub(super) fn new(columns: Vec<Column>, most_bytes: usize) -> Self {
        let row_bytes = 8 * (columns.len() + 1);
        let most_rows = (most_bytes / row_bytes).max(16);
        Self {
            at_ns: Vec::with_capacity(most_rows),
            values: Vec::with_capacity(most_rows * columns.len()),
            columns,
            most_rows,
            keep_every: 1,
            offered: 0,
        }
    }

    pub(super) fn push(&mut self, at_ns: u64, row: &[i64]) {
        debug_assert_eq!(row.len(), self.columns.len());
        let index = self.offered;
        self.offered += 1;
        if !index.is_multiple_of(self.keep_every) {
            return;
        }
        if self.at_ns.len() == self.most_rows {
            self.thin();
            if !index.is_multiple_of(self.keep_every) {
                return;
            }
        }
        self.at_ns.push(at_ns);
        self.values.extend_from_slice(row);
    }

    fn thin(&mut self) {
        let width = self.columns.len();
        let kept = self.at_ns.len().div_ceil(2);
        for row in 0..kept {
            self.at_ns[row] = self.at_ns[2 * row];
            self.values
                .copy_within(2 * row * width..(2 * row + 1) * width, row * width);
        }
        self.at_ns.truncate(kept);
        self.values.truncate(kept * width);
        self.keep_every *= 2;
    }

    /// The values of a column, one for each of [`Self::at_ns`]; absent when there
    /// is no such column.
    pub fn values(&self, name: &str) -> Option<impl Iterator<Item = i64> + '_> {
        let column = self.columns.iter().position(|c| c.name == name)?;
        Some(
            self.values
                .chunks_exact(self.columns.len())
                .map(move |row| row[column]),
        )
    }

    /// By how much a column grew from the first row to the last.
    pub fn growth(&self, name: &str) -> Option<i64> {
        let mut values = self.values(name)?;
        let first = values.next()?;
        Some(values.last().unwrap_or(first) - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str) -> Column {
        Column {
            name: name.to_owned(),
            unit: "",
            is_counter: true,
            role: Role::Plain,
        }
    }

    #[test]
    fn memory_stays_bounded_and_rows_evenly_spaced() {
        let mut series = Series::new(vec![column("a"), column("b")], 24 * 100);
        for i in 0..10_000i64 {
            series.push(i as u64, &[i, 2 * i]);
            assert!(series.at_ns.len() <= 100);
        }
        assert!(series.at_ns.len() >= 50);
        let steps: Vec<_> = series.at_ns.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(steps.iter().all(|s| *s == steps[0]), "{steps:?}");
        let at = series.at_ns.iter().map(|t| *t as i64);
        assert!(series.values("b").unwrap().eq(at.map(|t| 2 * t)));
        assert!(series.values("c").is_none());
        let span = series.at_ns.last().unwrap() - series.at_ns[0];
        assert_eq!(series.growth("a"), Some(span as i64));
    }
}
