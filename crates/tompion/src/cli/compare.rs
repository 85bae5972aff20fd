//! Options of `tompion compare`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use tompion_assess::compare::{Figure, Gate, Required};
use tompion_model::InvalidValue;

use super::values::duration;

/// Compare recorded runs with each other, or a run with published results.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  tompion compare
  tompion compare before after
  tompion compare before1,before2,before3,before4 after1,after2,after3,after4
  tompion compare A B --within-run --fail-if '1ms/idle p99 > +20%'
  tompion compare linux-6.1 linux-6.12 linux-rt --statistics median,p99.9,max
  tompion compare RUN --by timer-slack
  tompion compare RUN published:kirova-2019
  tompion compare RUN --factors method,load
  tompion compare --switch 'cpupower frequency-set -g powersave' \
                           'cpupower frequency-set -g performance' \
                  -- measure wake-up --methods usleep --duration 2m

GATE is 'SELECTOR STATISTIC > CHANGE' or 'SELECTOR STATISTIC < CHANGE'.

SELECTOR selects cells (combinations of method, target, load and other factors).
It is one or more items joined by /, such as
wake-up/usleep/timer-slack=1ns/idle: a probe, method, target or load is given by
its value (usleep), any other factor as NAME=VALUE (timer-slack=1ns). A cell is
selected if it matches all items.

STATISTIC is one that --statistics lists.

CHANGE is a difference from the first run on the command line: +20%, -5us, or
+1pp (percentage points, for missed and lost). Every other run is compared with
that one. With --by, every other value of the factor is compared with the one
that comes first alphabetically (`1ns` before `default`), of loads with `idle`.

The gate fails if the whole confidence interval of the change meets the
condition (for `> +20%`: lies above +20%), passes if no part of it does, and
is inconclusive otherwise. A gate that selects several cells passes only if all
of them pass, and fails if any of them fails.

--fail-unless takes 'SELECTOR STATISTIC within 10%' or 'SELECTOR STATISTIC no
worse than 10%', and passes only if that is shown. With one run on each side all
gates are inconclusive, unless --within-run is given.

Exit status:
  0    compared; all gates passed
  1    error
  2    a gate failed
  3    no gate failed, but one is inconclusive")]
pub struct CompareOptions {
    /// Run directories, several runs of one side joined by commas (A1,A2,A3 B1,B2,B3), or
    /// published:NAME for a paper or table that `tompion published` lists; @1 is the newest run that
    /// was kept, @2 the one before (see `tompion runs`). One run is compared with the newest
    /// [default: the last two; with --by or --factors the newest]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,

    /// Compare the values of one factor (such as timer-slack, policy, load, target, cpu or
    /// platform) within a single run; trials are paired by block (one pass over all
    /// combinations of factors)
    #[arg(long, value_name = "FACTOR")]
    pub by: Option<String>,

    /// Test which of two or three factors make a difference (such as method,load or
    /// method,load,platform; `run` for that which tells several runs apart): Kruskal-Wallis, Dunn and
    /// Tukey on ranks for each alone, aligned ranks and Scheirer-Ray-Hare for all with interactions. The
    /// figures of trials are compared, those of several runs together; cells that differ in other
    /// factors are analysed by themselves
    #[arg(
        long,
        value_name = "FACTOR",
        value_delimiter = ',',
        conflicts_with_all = ["by", "fail_if", "allow_mixed", "switch"]
    )]
    pub factors: Vec<String>,

    /// Measure now, and compare what two shell commands do: before one half of each block CMD_A is
    /// run, before the other CMD_B; which comes first is drawn for each block (--seed), so that a drift
    /// falls on both alike. What to measure follows after `--`. Then as `--by switch`, whose levels are
    /// a and b. What the commands print goes to standard error; one that fails ends the run, which is
    /// kept. Their time counts in --duration
    #[arg(
        long,
        num_args = 2,
        value_names = ["CMD_A", "CMD_B"],
        requires = "measured",
        conflicts_with_all = ["runs", "by", "allow_mixed"]
    )]
    pub switch: Vec<String>,

    /// Shell command to run at the end, however the run ends [default: none; what the last
    /// command set stays]
    #[arg(long, value_name = "CMD", requires = "switch")]
    pub switch_back: Option<String>,

    /// How long each of these commands may take
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub switch_timeout: Duration,

    /// What is measured, with --switch: `measure` with its options (--out names the run's directory)
    #[arg(last = true, value_name = "measure ...", requires = "switch")]
    pub measured: Vec<OsString>,

    /// Statistics to compare, each computed per trial, comma-separated: min, median, mean, p90, p95,
    /// p99, p99.9, p99.99, max, missed (share of periods missed), lost (share of time lost
    /// to stalls) [default: median,p99; for timer events median,p99,missed; for stalls
    /// lost,max]
    #[arg(
        long = "statistics",
        visible_alias = "figures",
        value_name = "STATISTIC",
        value_delimiter = ','
    )]
    pub figures: Vec<Figure>,

    /// Fail (exit status 2) if this condition is met, for example 'usleep p99 > +20%';
    /// exit with 3 if that cannot be decided; may be repeated. Syntax below
    #[arg(long, value_name = "GATE")]
    pub fail_if: Vec<Gate>,

    /// Fail (exit status 2) unless it is shown that a statistic differs by no more than this,
    /// for example 'usleep p99 within 10%' or 'usleep p99 no worse than 10%'; exit with 3 if
    /// that cannot be decided; may be repeated
    #[arg(long, value_name = "GATE")]
    pub fail_unless: Vec<Required>,

    /// Let gates rest on one run on each side, which cannot show how runs scatter
    #[arg(long)]
    pub within_run: bool,

    /// Significance level (alpha) of the tests; confidence intervals are at 1 - LEVEL
    #[arg(long, value_name = "LEVEL", default_value = "0.05", value_parser = level)]
    pub level: f64,

    /// Also compare cells that were measured in different ways, for example pinned and not
    /// pinned, or with different stall thresholds (refused by default)
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
