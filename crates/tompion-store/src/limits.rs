//! How large the parts of a run may be, and how they may be called; docs/run-format.md states
//! these numbers.

use crate::error::Fault;
use tompion_model::{Factors, factor, table};

/// The longest `run.json`, in bytes.
pub(super) const RUN_JSON_BYTES: u64 = 1 << 25;

/// Values in the descriptions of all trials: a trial has some 150, and 250 with many causes of stalls. What a
/// trial then takes in memory, a reader can hold of all of them within 256 MB.
pub(super) const VALUES_OF_TRIALS: u64 = 1 << 20;

/// Values of all else in a run's description, an object counted eightfold: a platform of a lab has some 300.
pub(super) const VALUES_OF_OTHERS: u64 = 1 << 18;

/// Cells of a run: a report has something to say of each, and draws it. As many, each with a platform and a load of
/// its own, take it 215 MiB for a page.
pub(super) const CELLS: u64 = 5 << 9;

/// Verdicts by uses of a run's own: of each use wherever and under whichever load anything was measured. A report tells of
/// each: a page of twice as many takes 283 MB.
pub(super) const OWN_VERDICTS: u64 = 1 << 14;

/// Trials of one cell: some of what is reckoned of them takes the square of their number. As many as were measured are
/// not more, since their descriptions would find no room.
pub(super) const TRIALS_OF_CELL: u64 = 1 << 13;

/// Bytes of the names and levels of the factors of all cells: a report names each some thirty times.
pub(super) const KEY_BYTES: u64 = 1 << 18;

/// Trials that a run is sure to hold: each may then have 349 values and 9,786 bytes of description. What is
/// measured has up to 280 and 9,100, where stalls have many causes.
pub(super) const SURE_TRIALS: u64 = 3000;

/// Trials that a run holds as they usually are, with 190 values and 5,400 bytes. One whose trials are all longer ends
/// earlier, with what it has.
pub(super) const PLANNED_TRIALS: u64 = 5000;

/// Bytes of a `run.json` that the trials of others may take together; the rest is for what stands beside them.
pub(super) const BYTES_OF_TRIALS: u64 = RUN_JSON_BYTES / 8 * 7;

/// Platforms of a lab that a run is sure to describe: each has some 300 values.
pub(super) const PLANNED_PLATFORMS: u64 = 128;

/// Trials of a run.
pub(super) const TRIALS: usize = 1 << 20;

/// Rows of a table.
pub(super) const ROWS: u64 = 1 << 31;

/// Values that the bins of a trial count.
pub(super) const COUNT: u64 = 1 << 62;

/// The longest period, in nanoseconds: its picoseconds are an `i64`.
pub(super) const PERIOD_NS: u64 = i64::MAX as u64 / 1000;

/// Row groups of all files of a run that are read, and their columns: each takes hundreds of bytes as long as its
/// file is open. As many trials as descriptions have room for have fewer.
pub(super) const CHUNKS: u64 = 1 << 19;

/// Columns of a side table.
pub(super) const COLUMNS: usize = 1024;

/// How many rows files of a size may hold, by what their pages take, as a `ParquetFile` counts it: what needs memory for each row is refused where
/// nothing but an attack takes so few bytes.
pub(super) struct RowLimit {
    what: &'static str,
    /// What is counted.
    unit: &'static str,
    /// Rows whatever the size.
    free: u64,
    /// Rows for each byte.
    pub(super) per_byte: u64,
}

/// Of one table. A trial that this program measures keeps at most half of the free ones.
pub(super) const OF_TABLE: RowLimit = RowLimit {
    what: "one table",
    unit: "rows",
    free: 1 << 21,
    per_byte: 2,
};

/// Of all tables of a run. What repeats exactly, as under an emulator's clock, is packed to some
/// 80 rows a byte.
pub(super) const OF_RUN: RowLimit = RowLimit {
    what: "a run",
    unit: "rows",
    free: 1 << 25,
    per_byte: 128,
};

/// The values of all side tables of a trial, which are read as a whole and take up to 48 bytes each: as many as
/// two columns of the most rows have. Of tables that were measured, a row of eight takes some bytes.
pub(super) const OF_VALUES: RowLimit = RowLimit {
    what: "a trial's side tables",
    unit: "values",
    free: 2 * OF_TABLE.free,
    per_byte: 2 * OF_TABLE.per_byte,
};

/// The texts of a table, each as often as it stands there. A file holds a long one once for any
/// number of rows, but whoever checks or reads the table goes through it again for each.
pub(super) const OF_TEXTS: RowLimit = RowLimit {
    what: "a table",
    unit: "bytes of text",
    free: 1 << 26,
    per_byte: 64,
};

/// The pages of a table in which texts lie, unpacked: a text that no row has is in memory, too.
pub(super) const OF_UNPACKED_TEXTS: RowLimit = RowLimit {
    what: "a table",
    unit: "bytes of pages with texts",
    free: 1 << 26,
    per_byte: 8,
};

/// The texts of all tables of a run, as well: a checksum goes through each where it stands.
pub(super) const OF_TEXTS_OF_RUN: RowLimit = RowLimit {
    what: "a run",
    unit: "bytes of text",
    free: 1 << 32,
    per_byte: 64,
};

/// The missed periods of all trials, or the bins in which many of one sample are counted. As many
/// are missed in seven hours of a grid of 100 us in which nothing runs at all.
pub(super) const OF_FILLING: RowLimit = RowLimit {
    what: "a run",
    unit: "missed periods",
    free: 1 << 28,
    per_byte: 32,
};

impl RowLimit {
    /// One of so many equal shares of it.
    pub(super) fn share(&self, of: u64) -> Self {
        Self {
            what: "its share of a run",
            free: self.free / of.max(1),
            ..*self
        }
    }

    /// Whether so many are whatever the bytes are, which then nobody has to know.
    pub(super) fn are_free(&self, rows: u64) -> bool {
        rows <= self.free
    }

    pub(super) fn check(&self, rows: u64, bytes: u64) -> Result<(), Fault> {
        let Self {
            what,
            unit,
            free,
            per_byte,
        } = self;
        let most = bytes.saturating_mul(*per_byte).saturating_add(*free);
        match rows > most {
            true => Err(format!(
                "{rows} {unit} in {bytes} bytes; {what} has at most {free} and {per_byte} a byte"
            )
            .into()),
            false => Ok(()),
        }
    }
}

/// Rows for which memory is reserved at once, whatever a file announces.
pub(super) const RESERVED_ROWS: usize = 1 << 20;

/// Tables of a trial, those included that every probe may have.
pub(super) const TABLES: usize = 16;

/// Bytes of the name of a probe, a side table, or a factor.
pub(super) const NAME_BYTES: usize = 64;

/// Factors of a trial: each is copied and compared wherever a cell is looked for.
pub(super) const FACTORS: usize = 64;
/// Names of factors in a run.
pub(super) const FACTORS_OF_RUN: usize = 256;

/// Bytes of a factor's level.
pub(super) const LEVEL_BYTES: usize = 1024;

/// Names that files of finished runs have but for side tables and samples, and that no
/// probe may therefore have.
pub(super) const TAKEN: [&str; 2] = [table::BINS, table::HISTOGRAMS];

/// Says what is wrong with a trial's probe or the names of its factors.
pub(super) fn check_factors(factors: &Factors) -> Result<(), Fault> {
    let probe = factors.level(factor::PROBE);
    if !is_file_word(probe) || TAKEN.contains(&probe) {
        return Err(format!("no probe may be called {probe:?}: files are named by it").into());
    }
    if factors.iter().nth(FACTORS).is_some() {
        return Err(format!("more than {FACTORS} factors").into());
    }
    let is_long =
        |(name, level): (&str, &str)| name.len() > NAME_BYTES || level.len() > LEVEL_BYTES;
    match factors.iter().any(is_long) {
        true => Err(format!(
            "a factor's name has at most {NAME_BYTES} bytes, its level {LEVEL_BYTES}"
        )
        .into()),
        false => Ok(()),
    }
}

/// Says what is wrong with a trial's period.
pub(super) fn check_period(period_ns: Option<u64>) -> Result<(), Fault> {
    match period_ns {
        Some(ns) if ns > PERIOD_NS => {
            Err(format!("measurement.period_ns is {ns}, at most {PERIOD_NS}").into())
        }
        _ => Ok(()),
    }
}

/// Whether a probe or a side table may be called so: by it a file is named.
pub(super) fn is_file_word(name: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !name.is_empty()
        && name.len() <= NAME_BYTES
        && !name.starts_with('-')
        && name.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_beyond_what_bytes_can_hold_are_refused() {
        assert!(OF_TABLE.check(2_097_152, 0).is_ok());
        let error = OF_TABLE.check(50_000_000, 671_000).unwrap_err();
        assert!(error.to_string().contains("50000000 rows in 671000 bytes"));
        // A hundred million rows of noise, and a million trials of nothing.
        assert!(OF_TABLE.check(100_000_000, 400_000_000).is_ok());
        assert!(OF_RUN.check(u64::MAX, u64::MAX).is_ok());
        assert!(OF_RUN.check(1 << 40, 1 << 20).is_err());
    }
}
