//! Options of `tompion compare`.

use clap::Args;
use tompion_assess::compare::{Figure, Gate};
use tompion_model::InvalidValue;

/// Compare recorded runs with each other, or a run with published results.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion compare before after
  tompion compare before after --fail-if 'usleep/100us/idle p99 > +20%'
  tompion compare linux-6.1 linux-6.12 linux-rt --figures median,p99.9,max
  tompion compare RUN --by timer-slack
  tompion compare RUN published:kirova-2019

GATE is 'SELECTOR FIGURE > CHANGE' or 'SELECTOR FIGURE < CHANGE'. SELECTOR
gives probe, method, target or load by value, joined by /
(wake-up/usleep/100us/idle), and other factors by name (timer-slack=1ns).
FIGURE is a statistic of --figures. CHANGE is relative to the first run: +20%,
-5us, or +1pp (percentage points, for missed and lost). Every later run is
checked against it.

The gate fails if the whole confidence interval of the change meets the
condition (for `> +20%`: lies above +20%), passes if no part of it does, and
is inconclusive otherwise. A gate that selects several cells must pass for all of them.

Exit status:
  0    compared; all gates passed
  1    error
  2    a gate failed
  3    no gate failed, but one is inconclusive")]
pub struct CompareOptions {
    /// Run directories, or published:NAME for a paper or table that `tompion published`
    /// lists
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,

    /// Compare the values of one factor within a single run, such as timer-slack, policy,
    /// load, target, cpu or platform; trials are paired by block (one pass over all
    /// measurements)
    #[arg(long, value_name = "FACTOR")]
    pub by: Option<String>,

    /// Statistics of each trial to compare, comma-separated: min, median, mean, p90, p95,
    /// p99, p99.9, p99.99, max, missed (share of periods missed), lost (share of time lost
    /// to stalls) [default: median,p99; for timer events median,p99,missed; for stalls
    /// lost,max]
    #[arg(long, value_name = "FIGURE", value_delimiter = ',')]
    pub figures: Vec<Figure>,

    /// Fail (exit status 2) if this condition is met, for example 'usleep p99 > +20%';
    /// exit with 3 if that cannot be decided; may be repeated. Syntax below
    #[arg(long, value_name = "GATE")]
    pub fail_if: Vec<Gate>,

    /// Significance level (alpha) of the tests; confidence intervals are at 1 - LEVEL
    #[arg(long, value_name = "LEVEL", default_value = "0.05", value_parser = level)]
    pub level: f64,

    /// Also compare cells that were measured with different parameters (refused by default)
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
