//! Options of `tompion runs`.

use std::time::Duration;

use clap::Args;
use tompion_model::{InvalidValue, parse_duration_ns};

/// List the runs that Tompion has kept, newest first, or remove old ones.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion runs
  tompion runs --older-than 30d
  tompion runs --keep 10 --prune
  tompion runs --older-than 30d --prune --yes
  tompion runs --json | jq '.runs[0].path'

Runs for which --out names no directory are kept in $XDG_STATE_HOME/tompion/runs,
by default ~/.local/state/tompion/runs. Commands that read a run take @1 (or @) for
the newest of these, @2 for the one before, and so on.")]
pub struct RunsOptions {
    /// Leave out the newest N runs
    #[arg(long, value_name = "N", value_parser = number_of_runs)]
    pub keep: Option<usize>,

    /// Only runs that began at least so long ago, such as 30d or 12h
    #[arg(long, value_name = "TIME", value_parser = age)]
    pub older_than: Option<Duration>,

    /// Remove the runs that are listed, after asking; needs --keep or --older-than
    #[arg(long)]
    pub prune: bool,

    /// Remove without asking
    #[arg(long, requires = "prune")]
    pub yes: bool,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,

    /// Print the names of the newest runs and when they began, for completions of a shell
    #[arg(long, hide = true, conflicts_with_all = ["keep", "older_than", "prune", "json"])]
    pub names: bool,
}

fn number_of_runs(text: &str) -> Result<usize, InvalidValue> {
    let number = text.parse().ok();
    number.ok_or_else(|| format!("`{text}` is no number of runs; write one such as 10").into())
}

/// Days too, which no measurement takes.
fn age(text: &str) -> Result<Duration, InvalidValue> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let days = text.strip_suffix('d').and_then(|n| n.parse::<u32>().ok());
    let age = match days {
        Some(days) => DAY.checked_mul(days),
        None => parse_duration_ns(text).ok().map(Duration::from_nanos),
    };
    age.ok_or_else(|| format!("`{text}` is no age; write one such as 30d or 12h").into())
}
