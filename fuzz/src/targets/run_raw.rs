//! A run's files, changed as they lie there: what is not refused is what it was.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use tompion_model::{RunRecord, Sample, SideTables};
use tompion_stats::Distribution;
use tompion_store::{Result, Run};

use crate::Target;
use crate::input::Input;
use crate::run_files::{RunFiles, bases};
use crate::{one_line, scratch};

pub static ENTRY: Target = Target {
    name: "run-raw",
    about: "a run's files with bits and bytes changed: refused, or what it was",
    parser: &[
        "tompion-store/src/reader.rs",
        "tompion-store/src/run_json.rs",
        "tompion-store/src/directory.rs",
        "tompion-store/src/version_1.rs",
    ],
    most_bytes: 512,
    run,
};

/// All that can be shown of a run.
#[derive(Debug, PartialEq)]
pub struct Content {
    record: RunRecord,
    trials: Vec<Trial>,
}

#[derive(Debug, PartialEq)]
struct Trial {
    samples: Vec<Sample>,
    bins: [Distribution; 2],
    tables: SideTables,
    histograms: Option<BTreeMap<String, Distribution>>,
}

pub fn content(run: &Run) -> Result<Content> {
    let trials = run.record().trials.iter().map(|trial| {
        let data = run.data(trial)?;
        let bins = [data.bins, data.filled_bins];
        Ok(Trial {
            samples: data.samples,
            bins: bins.map(|b| b.map(|b| b.distribution()).unwrap_or_default()),
            tables: data.tables,
            histograms: run.histograms(trial)?,
        })
    });
    Ok(Content {
        trials: trials.collect::<Result<_>>()?,
        record: run.record().clone(),
    })
}

/// What the bases hold.
fn good() -> &'static [Content] {
    static GOOD: OnceLock<Vec<Content>> = OnceLock::new();
    GOOD.get_or_init(|| {
        let read = |base: &RunFiles| {
            let place = scratch::directory();
            base.put(place.path());
            content(&Run::open(place.path()).expect("sound")).expect("sound")
        };
        bases().iter().map(read).collect()
    })
}

fn run(bytes: &[u8]) {
    let run = RunFiles::of(&mut Input::new(bytes));
    let place = scratch::directory();
    run.put(place.path());
    match Run::open(place.path()).and_then(|opened| content(&opened)) {
        Err(error) => one_line(&error.to_string()),
        // While a run is measured, columns for other programs alone have no checksum.
        Ok(found) if run.is_finished => assert!(
            good().contains(&found),
            "a changed run is taken for another one"
        ),
        Ok(_) => {}
    }
}
