//! Options of `tompion compare`.

use clap::Args;
use tompion_assess::compare::{Figure, Gate};
use tompion_model::InvalidValue;

/// Compare recorded runs with each other, or a run with published results.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion compare before after
  tompion compare before after --fail-if 'wake-up/usleep/100us/idle p99 > +20%'
  tompion compare kernel-6.1 kernel-6.12 kernel-6.12-rt --figures median,p99.9,max
  tompion compare RUN --by timer-slack
  tompion compare RUN published:kirova-2019

A gate names cells by levels (wake-up/usleep/100us/idle, or timer-slack=1ns for other
factors), a figure, > or <, and a change of any later run against the first: +20%, -5us,
+1pp (percentage points, for missed and lost). It is judged on the interval of the change:
beyond the limit as a whole fails, within it as a whole passes. All cells that fit count.

Exit status: 0 compared, all gates passed; 1 error; 2 a gate failed; 3 none failed, but one
could not be decided.")]
pub struct CompareOptions {
    /// Directories of runs; published:NAME for a paper or table of `tompion published`
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,

    /// Compare the levels of this factor within one run, paired by block
    #[arg(long, value_name = "FACTOR")]
    pub by: Option<String>,

    /// What to compare of each trial, comma-separated: min, median, mean, p90, p95, p99,
    /// p99.9, p99.99, max; missed: share of periods; lost: share of time in stalls
    /// [default: median,p99; lost,max for stalls; with missed for timer events]
    #[arg(long, value_name = "FIGURE", value_delimiter = ',')]
    pub figures: Vec<Figure>,

    /// Exit with 2 if this holds, 3 if that is inconclusive; may be given several times
    #[arg(long, value_name = "GATE")]
    pub fail_if: Vec<Gate>,

    /// Level of the tests; intervals have the confidence 1 - LEVEL
    #[arg(long, value_name = "LEVEL", default_value = "0.05", value_parser = level)]
    pub level: f64,

    /// Compare cells that were measured with different parameters, too
    #[arg(long)]
    pub allow_mixed: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

pub(super) fn level(text: &str) -> Result<f64, InvalidValue> {
    match text.parse() {
        Ok(level) if (1e-6..=0.5).contains(&level) => Ok(level),
        _ => Err("a level is a number from 0.000001 to 0.5, such as 0.05".into()),
    }
}
