//! `tompion report`, and the reporting half of `tompion check`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use tompion_record::{Run, write_whole};
use tompion_report::{REPORT_FILE, ReportData};

use crate::cli::ReportOptions;
use crate::exit;
use crate::output::{OutputOptions, print, print_json};

/// Where the page goes.
pub enum Page {
    /// To a file.
    File(PathBuf),
    /// To standard output, in place of anything else.
    StandardOutput,
}

impl Page {
    /// The page of a run in its usual place.
    pub fn of_run(directory: &Path) -> Self {
        Self::File(directory.join(REPORT_FILE))
    }
}

/// Carries out the command.
pub fn report(options: &ReportOptions) -> exit::Result {
    let page = match &options.html {
        None => Page::of_run(&options.run),
        Some(file) if file.as_os_str() == "-" => {
            anyhow::ensure!(
                !options.output.json,
                "`--html -` and --json both write to standard output; name a file for the page"
            );
            Page::StandardOutput
        }
        Some(file) => Page::File(file.clone()),
    };
    make(&options.run, &page, options.output, &[])
}

/// Reads a run, writes its page, prints what was chosen and returns the exit
/// status for the required profiles. Where the page cannot be written the rest
/// is printed all the same before the error.
pub fn make(
    directory: &Path,
    page: &Page,
    output: OutputOptions,
    required: &[&str],
) -> exit::Result {
    let run = Run::open(directory)?;
    let seed = run.record().header.design.seed;
    let data = ReportData::gather(&run, |cells| tompion_verdict::assess(cells, seed))?;
    let html = tompion_report::html(&data);
    match page {
        Page::StandardOutput => print(&html)?,
        Page::File(file) => {
            let written = write_whole(file, html.as_bytes());
            if output.json {
                print_json(&tompion_report::json(&data))?;
            } else if !output.quiet {
                let mut text = summary(&data);
                if written.is_ok() {
                    text.push_str(&format!("\nReport: {}", file.display()));
                }
                print(&format!("{text}\nRun:    {}\n", directory.display()))?;
            }
            written?;
        }
    }
    let assessment = data.assessment();
    Ok(exit::of_outcomes(
        required
            .iter()
            .filter_map(|name| assessment.profile(name))
            .map(|p| p.outcome),
    ))
}

fn summary(data: &ReportData) -> String {
    let color = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tompion_report::terminal(data, terminal_width(), color)
}

/// Columns to fill: those of the terminal, or 100 in a pipe.
pub fn terminal_width() -> usize {
    console::Term::stdout()
        .size_checked()
        .map_or(100, |(_, columns)| usize::from(columns).min(140))
}
