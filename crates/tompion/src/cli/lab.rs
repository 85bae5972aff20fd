//! Options of `tompion lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tompion_assess::compare::RatioWish;

use super::compare::level;
use super::values::seed;
use crate::output::OutputOptions;

/// Run the same measurements on several kinds of platform, from one plan file.
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

A plan names the platforms, loads and probes to combine, and how often to repeat
each combination (replicates); docs/lab.md describes its keys.")]
pub struct LabOptions {
    /// What to do.
    #[command(subcommand)]
    pub what: LabCommand,
}

/// What the lab can do.
#[derive(Subcommand, Debug)]
pub enum LabCommand {
    /// Check a plan, and print its cells (combinations of platform, placement, load and probe),
    /// how long it would take to run, and whether it has enough replicates to show significant
    /// differences
    Plan(LabPlanOptions),
    /// Run a plan: measure every cell in a fresh instance (container, virtual machine or
    /// process) of its platform
    Run(LabRunOptions),
    /// Rank a lab run's platforms by their worst case (the maximum measured on each), as Perneel
    /// et al. 2015 do
    Summary(LabSummaryOptions),
    /// Clean up after lab runs that were killed
    Clean(LabCleanOptions),
    /// List the kinds of platform: whether each is available on this machine (if not, why not),
    /// and whether it is emulated
    Platforms(LabPlatformsOptions),
}

/// The program that measures inside each container or virtual machine.
#[derive(Args, Debug)]
pub struct ProgramOptions {
    /// Statically linked binary that runs the measurement inside each container or virtual
    /// machine: tompion-worker or tompion, of the same version [default: tompion-worker in
    /// the directory of this program, otherwise this program]
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
}

/// Check a plan without measuring anything.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion lab plan plans/quick.toml
  tompion lab plan plans/quick.toml --probe
  tompion lab plan plans/quick.toml --json | jq .prospect

Exit status:
  0    the plan can be run, or a part of it
  1    it cannot; each mistake is reported in one line")]
pub struct LabPlanOptions {
    /// The plan, a TOML file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Ask each platform whether it is available: starts the programs that the plan names
    /// and contacts its machines, so trust the plan. Without it nothing is started
    #[arg(long)]
    pub probe: bool,

    /// What measures.
    #[command(flatten)]
    pub program: ProgramOptions,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Run a plan: every cell in a fresh instance of its platform.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion lab run plans/quick.toml
  tompion lab run plans/quick.toml --out quick --seed 7
  tompion lab run --resume quick
  tompion lab run plans/quick.toml --program dist/tompion --json

In a lab, a cell is one combination of platform, placement, load and probe, with
all methods and targets of that probe. Ctrl-C stops the run cleanly: finished
cells are kept, and --resume continues from there. --resume also continues after
a crash, and measures failed cells again.

Unavailable platforms are listed and skipped; with --require-all the run stops
instead.

Exit status:
  0    every cell of the available platforms was measured
  1    error, or no cell could be measured
  2    some cells failed (reported one per line); all others were measured
  130  interrupted")]
pub struct LabRunOptions {
    /// The plan, a TOML file; required unless --resume is given
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    pub file: Option<PathBuf>,

    /// Directory for the run and its report; must not exist or must be empty
    /// [default: a new one in ~/.local/state/tompion/runs; `tompion runs` lists them]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Resume the run in this directory, using the plan stored there
    #[arg(long, value_name = "RUN", conflicts_with_all = ["file", "out", "seed"])]
    pub resume: Option<PathBuf>,

    /// Stop with an error before measuring anything if any platform or placement (CPU
    /// pinning and CPU weights of control groups) in the plan is unavailable
    #[arg(long, conflicts_with = "resume")]
    pub require_all: bool,

    /// Seed for the random order of cells [default: the plan's seed, otherwise from the clock]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,

    /// Print the whole report, not only the answer on one screen
    #[arg(long)]
    pub verbose: bool,

    /// What measures.
    #[command(flatten)]
    pub program: ProgramOptions,

    /// What to print.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Rank a lab run's platforms by their worst case (the maximum measured on each), as Perneel et
/// al. 2015 do.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion lab summary quick
  tompion lab summary quick --reference runc
  tompion lab summary quick --ratio runsc/runc
  tompion lab summary quick --json | jq '.cells[0].platforms'

Prints for each placement, load and probe, by platform: the largest value of
all replicates, by how much it exceeds the bare machine's, whether maxima
still grow with the time watched, and a rank (a range if platforms cannot be
distinguished). Six replicates can distinguish two platforms, ten can
distinguish six; a statement about growth needs at least five.")]
pub struct LabSummaryOptions {
    /// Directory of the lab's run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// Platform to compare with: the bare machine or a substitute [default: host]
    #[arg(long, value_name = "PLATFORM")]
    pub reference: Option<String>,

    /// Also print the ratio of platform A to platform B, for example of a paravirtual to a
    /// fully virtualized one; may be repeated
    #[arg(long = "ratio", value_name = "A/B")]
    pub ratios: Vec<RatioWish>,

    /// Significance level (alpha) of the tests; confidence intervals are at 1 - P
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = level)]
    pub level: f64,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Clean up after lab runs that were killed: remove the containers, control groups and
/// directories that they left behind.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion lab clean --dry-run
  tompion lab clean

What a running lab has created is left alone, and so are the runs themselves.

Exit status:
  0    done
  1    something could not be removed")]
pub struct LabCleanOptions {
    /// List what would be removed, without removing it
    #[arg(long)]
    pub dry_run: bool,

    /// Forget what is left on machines that cannot be reached, instead of trying again
    /// next time
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
