//! `tompion lab summary`: the platforms of a lab by their maxima.

use anyhow::Context;
use tompion_assess::compare::platform_summary;
use tompion_report::{platforms_json, platforms_text};
use tompion_store::Run;

use crate::cli::LabSummaryOptions;
use crate::commands::run_names::run_named;
use crate::exit;
use crate::output::{print, print_json, terminal_width, wants_color};

/// Carries out the command.
pub fn summary(options: &LabSummaryOptions) -> exit::Result {
    let run = Run::open_tidied(&run_named(&options.run)?)?;
    let reference = options.reference.as_deref();
    let found = platform_summary(run.record(), reference, &options.ratios, options.level)
        .with_context(|| options.run.display().to_string())?;
    if options.json {
        print_json(&platforms_json(&found))?;
    } else {
        let color = wants_color();
        print(&platforms_text(&found, terminal_width(), color))?;
    }
    Ok(0)
}
