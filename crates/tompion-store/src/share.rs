//! What one of many trials may take of what a reader allows their run, so that no trial that
//! somebody else has measured makes the run of all unreadable.

use std::os::unix::fs::FileExt;
use std::path::Path;

use tompion_model::{SideTable, TableRef, Trial, TrialData, Values, filling_work, table};

use super::directory::Directory;
use super::json_size::JsonSize;
use super::parquet_file::open_regular;
use super::{limits, magnitudes};
use crate::error::Fault;
use crate::{Error, Result};

/// A trial among those that others measure for one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Into how many shares what the run may hold is divided: this is one of them.
    pub of: u64,
    /// How many trials the run has at most: by that the size of their numbers is limited.
    pub trials: u64,
    /// Into how many equal parts the descriptions of all trials are divided: that of this one has a part.
    pub descriptions: u64,
}

/// Length of a Parquet file's footer, and its mark: what it ends with.
const END_BYTES: u64 = 8;

/// Says what of a trial, whose files are written, is more than its share.
pub(super) fn check(
    directory: &Directory,
    trial: &Trial,
    data: &TrialData,
    share: Share,
) -> Result<std::result::Result<(), Fault>> {
    let mut bytes = 0_u64;
    let (mut values, mut of_sides) = (0_u64, 0_u64);
    let mut of_tables = Ok(());
    for (name, at) in &trial.tables {
        // Tables of all trials come into one file, which has one footer.
        let pages = bytes_of_pages(directory, at)?;
        bytes = bytes.saturating_add(pages);
        let side = data.tables.get(name).filter(|_| name != table::SAMPLES);
        if let Some(side) = side {
            let columns = side.columns().len() as u64;
            values = values.saturating_add(at.rows.saturating_mul(columns));
            of_sides = of_sides.saturating_add(pages);
        }
        of_tables = of_tables.and_then(|()| check_table(at.rows, side, pages));
    }
    let rows = trial.tables.values().map(|at| at.rows);
    let rows = rows.fold(0, u64::saturating_add);
    let missed = match trial.measurement.period_ns {
        Some(_) => filling_work(data.samples.iter()),
        None => 0,
    };
    let trials = usize::try_from(share.trials).unwrap_or(usize::MAX);
    Ok(of_tables
        .and_then(|()| check_description(trial, share.descriptions))
        .and_then(|()| limits::OF_VALUES.check(values, of_sides))
        .and_then(|()| limits::OF_RUN.share(share.of).check(rows, bytes))
        .and_then(|()| {
            let texts = data.tables.values().map(text_bytes);
            let texts = texts.fold(0, u64::saturating_add);
            limits::OF_TEXTS_OF_RUN.share(share.of).check(texts, bytes)
        })
        .and_then(|()| limits::OF_FILLING.share(share.of).check(missed, bytes))
        .and_then(|()| magnitudes::check_trial("its trial", trial, trials))
        .and_then(|()| magnitudes::check_data(data, trials)))
}

/// Of the description of one of so many trials.
fn check_description(trial: &Trial, of: u64) -> std::result::Result<(), Fault> {
    // As it will stand in `run.json`, where each line is two steps further in.
    let text = serde_json::to_string_pretty(trial).unwrap_or_default();
    let found = text.len() as u64 + 4 * text.lines().count() as u64;
    let most = limits::BYTES_OF_TRIALS / of.max(1);
    if found > most {
        return Err(
            format!("its description takes {found} bytes; one of {of} has at most {most}").into(),
        );
    }
    JsonSize::of_gathered_trial(&text).check_share(of)
}

fn check_table(rows: u64, side: Option<&SideTable>, bytes: u64) -> std::result::Result<(), Fault> {
    limits::OF_TABLE.check(rows, bytes)?;
    let Some(side) = side else {
        return Ok(());
    };
    limits::OF_TEXTS.check(text_bytes(side), bytes)
}

/// Its texts, each as often as it stands there, in bytes.
fn text_bytes(side: &SideTable) -> u64 {
    let texts = side.columns().iter().map(|column| match &column.values {
        Values::Text(texts) => texts.iter().flatten().map(|t| t.len() as u64).sum(),
        _ => 0_u64,
    });
    texts.fold(0, u64::saturating_add)
}

fn bytes_of_pages(directory: &Directory, at: &TableRef) -> Result<u64> {
    let path = directory.path().join(&at.file);
    let failed = || Error::io(Path::new(&path), "reading");
    let file = open_regular(directory, &at.file)?;
    let length = file.metadata().map_err(failed())?.len();
    let mut footer = [0; 4];
    let end = length.saturating_sub(END_BYTES);
    file.read_exact_at(&mut footer, end).map_err(failed())?;
    Ok(end.saturating_sub(u32::from_le_bytes(footer).into()))
}

#[cfg(test)]
mod tests {
    use super::super::limits::{OF_FILLING, OF_RUN, OF_TEXTS_OF_RUN};

    #[test]
    fn all_shares_together_are_no_more_than_the_whole() {
        for of in [0_u64, 1, 3, 1000, 1 << 40] {
            for (limit, whole) in [
                (&OF_RUN, 1_u64 << 25),
                (&OF_FILLING, 1 << 28),
                (&OF_TEXTS_OF_RUN, 1 << 32),
            ] {
                let share = limit.share(of);
                let most = whole / of.max(1);
                assert!(share.check(most, 0).is_ok() && share.check(most + 1, 0).is_err());
                // What takes bytes has its own.
                assert!(share.check(most + limit.per_byte, 1).is_ok());
            }
        }
    }
}
