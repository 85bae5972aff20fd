//! `tompion compare --factors`: which factors of runs make a difference.

use tompion_assess::compare::believed;
use tompion_assess::factors::{FactorRun, FactorSettings, analyse};
use tompion_report::{factors_json, factors_text};
use tompion_store::Run;

use super::Opening;
use crate::cli::CompareOptions;
use crate::exit;
use crate::output::{print, print_json, terminal_width, wants_color};

/// Carries it out.
pub fn by_factors(options: &CompareOptions, factors: &[String]) -> exit::Result {
    let mut opening = Opening::default();
    let opened = options.runs.iter().map(|name| opening.open(name));
    let opened: Vec<Run> = opened.collect::<Result<_, _>>()?;
    let mut read = Vec::new();
    for run in &opened {
        read.push((believed(run)?, run.cells(|_, _| ())?));
    }
    let runs: Vec<FactorRun<'_>> = options
        .runs
        .iter()
        .zip(&read)
        .map(|(name, (record, cells))| FactorRun {
            name,
            record,
            cells,
        })
        .collect();
    let settings = FactorSettings {
        factors,
        figures: Some(options.figures.as_slice()).filter(|figures| !figures.is_empty()),
        level: options.level,
    };
    let analysis = analyse(&runs, &settings)?;
    if options.json {
        print_json(&factors_json(&analysis))?;
    } else {
        let color = wants_color();
        print(&factors_text(&analysis, terminal_width(), color))?;
    }
    Ok(0)
}
