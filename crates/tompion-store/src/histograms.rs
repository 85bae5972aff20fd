//! Histograms of trials, as a finished run has them, from the moment that each is saved: by
//! then its values have been sorted for its summary. They lie in memory, some hundred bytes
//! for a trial; only the end of the run writes them.

use parquet::errors::ParquetError;
use tompion_stats::Distribution;

use super::column::{self, Column};
use super::constant::Constant;
use super::parquet_file::{FileWriter, Schema};
use super::samples;
use tompion_model::SideTable;
use tompion_model::{TableRef, TrialData, TrialSummary, table};

/// The bins of one trial, of each view that applies.
#[derive(Debug, Default)]
pub(super) struct TrialHistograms(Vec<(&'static str, (i64, i64, u64))>);

impl TrialHistograms {
    /// Those of a trial that is there as a whole.
    pub(super) fn of(data: &TrialData, period_ns: Option<u64>) -> Self {
        let mut all = Self::default();
        data.each_view(period_ns, |name, values| all.add(name, values));
        all
    }

    fn add(&mut self, view: &'static str, values: &Distribution) {
        let bins = tompion_stats::histogram(values).into_iter();
        self.0.extend(bins.map(|bin| (view, bin)));
    }
}

/// Summaries of a trial and its bins, from values that are sorted once.
pub(super) fn summarise(
    data: &TrialData,
    period_ns: Option<u64>,
    missed_periods: Option<u64>,
) -> (TrialSummary, TrialHistograms) {
    let mut all = TrialHistograms::default();
    let summary = data.summarise_with(period_ns, missed_periods, |name, values| {
        all.add(name, values);
    });
    (summary, all)
}

/// `histograms.parquet` while its trials come in.
pub(super) struct Histograms {
    file: FileWriter<Vec<u8>>,
    trials: Vec<TableRef>,
}

impl std::fmt::Debug for Histograms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histograms of {} trials", self.trials.len())
    }
}

impl Histograms {
    /// Of no trials yet.
    pub(super) fn new() -> Result<Self, ParquetError> {
        let schema = Schema::of_trial(&samples::HISTOGRAMS);
        Ok(Self {
            file: FileWriter::new(Vec::new(), table::HISTOGRAMS, schema, Vec::new())?,
            trials: Vec::new(),
        })
    }

    /// Name of the file.
    pub(super) fn file() -> String {
        format!("{}.parquet", table::HISTOGRAMS)
    }

    /// Adds the trial that comes next.
    pub(super) fn add(&mut self, trial: u32, bins: &TrialHistograms) -> Result<(), ParquetError> {
        let columns = samples::of_histograms(&bins.0);
        let row_group = self.file.table(
            &[Constant::number(SideTable::TRIAL_COLUMN, trial)],
            &columns,
        )?;
        let rows = columns.first().map_or(0, Column::rows);
        self.trials.push(TableRef {
            file: Self::file(),
            row_group,
            rows: rows as u64,
            crc32: column::checksum(rows, &columns),
        });
        Ok(())
    }

    /// How many trials it is of.
    pub(super) fn trials(&self) -> usize {
        self.trials.len()
    }

    /// The bytes of the file, and where each trial's table lies in it.
    pub(super) fn finish(self) -> Result<(Vec<u8>, Vec<TableRef>), ParquetError> {
        Ok((self.file.finish()?, self.trials))
    }
}
