//! Options of `tompion report`.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use tompion_report::{FORMS, Form};

use super::values::{offering, profile_names};
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

/// Regenerate a run's report, or export it in another format.
#[derive(Args, Debug)]
#[command(
    after_help = "\
Examples:
  tompion report
  tompion report @2
  tompion report RUN --html /tmp/report.html
  tompion report RUN --json
  tompion report RUN --format md --redact > ticket.md
  tompion report RUN --format png --out plots
  tompion report RUN --screen --require voip

Exit status:
  0    done; all --require profiles passed
  1    error
  2    a --require profile failed
  3    none failed, but one is inconclusive, near its limit or not measured",
    mut_arg("json", |json| json.help("Print the summary as JSON (same as --format json)"))
)]
pub struct ReportOptions {
    /// The run's directory; @1 is the newest run that was kept, @2 the one before (see `tompion
    /// runs`)
    #[arg(value_name = "RUN", default_value = "@1", hide_default_value = false)]
    pub run: PathBuf,

    /// Write the HTML report to FILE; `-` writes it to standard output instead of the text
    /// summary [default: RUN/report.html; with --json no HTML is written]
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write this format instead of the HTML report and the text summary
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["html", "json"])]
    pub format: Option<ReportFormat>,

    /// Where to write the --format output: a file, or `-` for standard output [default:
    /// standard output]. png, svg and run write to a directory and require --out; png and
    /// svg write one file per plot
    #[arg(long, value_name = "PATH", requires = "format")]
    pub out: Option<PathBuf>,

    /// Remove identifying information: host name, user names, addresses, the command
    /// line, and paths that could identify someone; for attaching reports to tickets
    #[arg(long)]
    pub redact: bool,

    /// Print the answer on one screen, as `tompion check` does, not the whole report
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub screen: bool,

    /// Print the whole report, as it does by itself
    #[arg(long, conflicts_with_all = ["format", "json", "screen"])]
    pub verbose: bool,

    /// Require this application profile of the run, as `tompion check --require` does, with the same exit status; may
    /// be repeated
    #[arg(
        long,
        value_name = "PROFILE",
        value_parser = offering::<String>(profile_names),
        hide_possible_values = true
    )]
    pub require: Vec<String>,

    /// Judge by the profiles in this TOML file instead of those that the run was judged by; its page stays as it is
    #[arg(long, value_name = "FILE")]
    pub profiles: Option<PathBuf>,

    /// What to print.
    #[command(flatten)]
    pub output: OutputOptions,
}
