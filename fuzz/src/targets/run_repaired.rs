//! The same with its checksums made right, as somebody would who knows the format: whatever is
//! taken, the report of it can be made.

use tompion_report::ReportData;
use tompion_store::Run;

use super::run_raw::content;
use crate::Target;
use crate::input::Input;
use crate::run_files::RunFiles;
use crate::{one_line, scratch};

pub static ENTRY: Target = Target {
    name: "run-repaired",
    about: "a run's files changed, with their checksums made right: refused, or reported",
    parser: &[
        "tompion-store/src/reader.rs",
        "tompion-store/src/run_json.rs",
        "tompion-store/src/parquet_file.rs",
        "tompion-store/src/pages.rs",
        "tompion-store/src/column.rs",
        "tompion-store/src/samples.rs",
        "tompion-store/src/trial_files.rs",
        "tompion-store/src/magnitudes.rs",
        "tompion-store/src/limits.rs",
        "tompion-store/src/version_1.rs",
    ],
    most_bytes: 4096,
    run,
};

fn run(bytes: &[u8]) {
    let place = scratch::directory();
    RunFiles::of(&mut Input::new(bytes)).put_repaired(place.path());
    let opened = match Run::open(place.path()) {
        Err(error) => return one_line(&error.to_string()),
        Ok(opened) => opened,
    };
    if let Err(error) = content(&opened) {
        return one_line(&error.to_string());
    }
    // Most of the time goes into that.
    if bytes.first().is_none_or(|first| first & 0x80 == 0) {
        return;
    }
    let data = ReportData::gather(&opened, tompion_assess::verdict::assess);
    match data {
        Err(error) => one_line(&error.to_string()),
        Ok(data) => {
            tompion_report::json(&data);
            tompion_report::terminal(&data, 100, false);
        }
    }
}
