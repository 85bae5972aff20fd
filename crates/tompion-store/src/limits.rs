//! How large the parts of a run may be, and how they may be called; docs/run-format.md states
//! these numbers.

use crate::error::Fault;
use tompion_model::{Factors, factor, table};

/// The longest `run.json`, in bytes.
pub(super) const RUN_JSON_BYTES: u64 = 1 << 30;

/// Trials of a run.
pub(super) const TRIALS: usize = 1 << 20;

/// Rows of a table.
pub(super) const ROWS: u64 = 1 << 31;

/// Values that the bins of a trial count.
pub(super) const COUNT: u64 = 1 << 62;

/// The longest period, in nanoseconds: its picoseconds are an `i64`.
pub(super) const PERIOD_NS: u64 = i64::MAX as u64 / 1000;

/// Rows for which memory is reserved at once, whatever a file announces.
pub(super) const RESERVED_ROWS: usize = 1 << 20;

/// Tables of a trial, those included that every probe may have.
pub(super) const TABLES: usize = 16;

/// Bytes of the name of a probe, a side table, or a factor.
pub(super) const NAME_BYTES: usize = 64;

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
