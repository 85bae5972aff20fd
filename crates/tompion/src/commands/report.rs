//! `tompion report`, and the reporting half of `tompion check`.

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use tompion_record::Run;
use tompion_report::{REPORT_FILE, ReportData};

use crate::cli::ReportOptions;
use crate::exit;

/// What goes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The terminal summary.
    Summary,
    /// JSON.
    Json,
    /// Nothing.
    Quiet,
}

impl Output {
    /// JSON wins over quiet, which wins over the summary.
    pub fn chosen(json: bool, quiet: bool) -> Self {
        match (json, quiet) {
            (true, _) => Self::Json,
            (false, true) => Self::Quiet,
            (false, false) => Self::Summary,
        }
    }
}

/// Carries out the command.
pub fn report(options: &ReportOptions) -> exit::Result {
    let page = options
        .html
        .clone()
        .unwrap_or_else(|| options.run.join(REPORT_FILE));
    make(
        &options.run,
        &page,
        Output::chosen(options.json, options.quiet),
        &[],
    )
}

/// Reads a run, writes its page, prints what was chosen and returns the exit
/// status for the required profiles.
pub fn make(directory: &Path, page: &Path, output: Output, required: &[&str]) -> exit::Result {
    let run = Run::open(directory)?;
    let seed = run.record().header.design.seed;
    let data = ReportData::gather(&run, |cells| tompion_verdict::assess(cells, seed))?;
    tompion_record::write_whole(page, tompion_report::html(&data).as_bytes())?;

    let mut out = std::io::stdout().lock();
    match output {
        Output::Summary => {
            let color = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
            write!(
                out,
                "{}",
                tompion_report::terminal(&data, terminal_width(), color)
            )?;
            writeln!(out, "\nReport: {}", page.display())?;
            writeln!(out, "Run:    {}", directory.display())?;
        }
        Output::Json => {
            serde_json::to_writer_pretty(&mut out, &tompion_report::json(&data))
                .context("writing JSON")?;
            writeln!(out)?;
        }
        Output::Quiet => {}
    }
    let assessment = data.assessment();
    Ok(exit::of_outcomes(
        required
            .iter()
            .filter_map(|name| assessment.profile(name))
            .map(|p| p.outcome),
    ))
}

/// Columns to fill: those of the terminal, or 100 in a pipe.
fn terminal_width() -> usize {
    console::Term::stdout()
        .size_checked()
        .map_or(100, |(_, columns)| usize::from(columns).clamp(60, 140))
}
