//! Options of `tompion lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tompion_assess::compare::RatioWish;

use super::compare::level;
use super::values::seed;
use crate::output::OutputOptions;

/// Measure the same on every kind of platform, by one plan.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion lab platforms
  tompion lab plan plans/quick.toml
  tompion lab run plans/quick.toml --out quick
  tompion lab run --resume quick
  tompion lab summary quick
  tompion compare quick --by platform
  tompion lab clean --dry-run

A plan crosses platforms, loads, probes and replicates; docs/lab.md has its keys.")]
pub struct LabOptions {
    /// What to do.
    #[command(subcommand)]
    pub what: LabCommand,
}

/// What the lab can do.
#[derive(Subcommand, Debug)]
pub enum LabCommand {
    /// Check a plan, and print its cells, how long it takes and what it can show
    Plan(LabPlanOptions),
    /// Carry out a plan
    Run(LabRunOptions),
    /// Compare a lab's platforms by their maxima, as Perneel 2015 does
    Summary(LabSummaryOptions),
    /// Remove what killed labs left on this machine
    Clean(LabCleanOptions),
    /// List the platforms of this machine: available or why not, emulated or not
    Platforms(LabPlatformsOptions),
}

/// The program that measures in every instance.
#[derive(Args, Debug)]
pub struct ProgramOptions {
    /// The static program that measures in every instance: tompion-worker, or tompion itself
    /// [default: tompion-worker beside this program, else this program]
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
}

/// Check a plan without measuring anything.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion lab plan plans/quick.toml
  tompion lab plan plans/quick.toml --json | jq .prospect

Exit status: 0 the plan can be carried out; 1 it cannot, with one line a mistake.")]
pub struct LabPlanOptions {
    /// The plan, a TOML file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// What measures.
    #[command(flatten)]
    pub program: ProgramOptions,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Carry out a plan: every cell in a fresh instance of its platform.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion lab run plans/quick.toml
  tompion lab run plans/quick.toml --out quick --seed 7
  tompion lab run --resume quick
  tompion lab run plans/quick.toml --program dist/tompion --json

Ctrl-C ends it in order: finished cells are kept, and --resume goes on from there, as it
does after a crash. Cells that failed are measured again.

Platforms that are not available are listed and left out, unless --require-all is given.

Exit status: 0 every cell of the platforms that are present is measured; 1 error; 2 some
cells failed (each reported in one line; the rest is measured); 130 interrupted.")]
pub struct LabRunOptions {
    /// The plan, a TOML file
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    pub file: Option<PathBuf>,

    /// Directory for the run and its report; must be absent or empty
    /// [default: tompion-run-DATE-TIME]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Go on with the lab in this directory, by its own plan
    #[arg(long, value_name = "DIR", conflicts_with_all = ["file", "out", "seed"])]
    pub resume: Option<PathBuf>,

    /// Measure nothing where a platform of the plan is absent, or a placement is not possible
    #[arg(long, conflicts_with = "resume")]
    pub require_all: bool,

    /// Seed of the random order [default: that of the plan, else from the clock]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,

    /// What measures.
    #[command(flatten)]
    pub program: ProgramOptions,

    /// What to print.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Compare a lab's platforms by their maxima, as Perneel et al. 2015 do.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion lab summary quick
  tompion lab summary quick --reference runc
  tompion lab summary quick --ratio runsc/runc
  tompion lab summary quick --json | jq '.cells[0].platforms'

For each placement, load and probe: the greatest value of all replicates, what it adds to
the bare machine's, whether maxima still grow with the time watched, and a rank, a range
where platforms cannot be distinguished. Six replicates can distinguish two, ten six;
a statement about growth needs five.")]
pub struct LabSummaryOptions {
    /// Directory of the lab's run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// The bare machine, or the platform in its place [default: host]
    #[arg(long, value_name = "PLATFORM")]
    pub reference: Option<String>,

    /// Print the ratio of platform A to platform B too, a paravirtual one over the fully
    /// virtualized one, say; may be given several times
    #[arg(long = "ratio", value_name = "A/B")]
    pub ratios: Vec<RatioWish>,

    /// Level of the tests, and 1 minus the confidence of the intervals
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = level)]
    pub level: f64,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Remove what killed labs left: containers, control groups, directories.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion lab clean --dry-run
  tompion lab clean

What a lab at work has made is left alone, and so are the runs themselves.

Exit status: 0 nothing is left; 1 something could not be removed.")]
pub struct LabCleanOptions {
    /// List what there is, and remove nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Forget what lies on machines that cannot be reached, instead of trying again next time
    #[arg(long, conflicts_with = "dry_run")]
    pub forget: bool,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// List the platforms of this machine.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion lab platforms
  tompion lab platforms --program dist/tompion --json")]
pub struct LabPlatformsOptions {
    /// What measures.
    #[command(flatten)]
    pub program: ProgramOptions,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
