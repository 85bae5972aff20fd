//! Options of `tompion report`.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use tompion_report::{FORMS, Form};

use crate::output::OutputOptions;

/// A form of the report by its name.
#[derive(Clone, Copy, Debug)]
pub struct ReportFormat(pub &'static Form);

impl ValueEnum for ReportFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<ReportFormat>> =
            LazyLock::new(|| FORMS.iter().copied().map(ReportFormat).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name).help(self.0.about))
    }
}

/// Make the report of a recorded run again.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion report tompion-run-20261121-101500
  tompion report RUN --html /tmp/report.html
  tompion report RUN --json
  tompion report RUN --format md --redact > ticket.md
  tompion report RUN --format png --out plots")]
pub struct ReportOptions {
    /// The run's directory
    #[arg(value_name = "DIR")]
    pub run: PathBuf,

    /// Where to write the page; `-` prints it in place of the summary
    /// [default: DIR/report.html; with --json none]
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Another form, in place of page and summary
    #[arg(long, value_name = "FORM", conflicts_with_all = ["html", "json"])]
    pub format: Option<ReportFormat>,

    /// Where that form goes: a file, `-` for standard output, or for png and svg a
    /// directory that gets a file for each plot [default: standard output; none for
    /// png and svg]
    #[arg(long, value_name = "PATH", requires = "format")]
    pub out: Option<PathBuf>,

    /// Leave out host name, user names, addresses, command line, and paths that may
    /// name somebody: for pages that go into tickets
    #[arg(long)]
    pub redact: bool,

    /// What to print.
    #[command(flatten)]
    pub output: OutputOptions,
}
