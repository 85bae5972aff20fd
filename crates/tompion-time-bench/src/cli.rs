//! Options, defined once, and exit statuses.

use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::paired::Verdict;

/// Any error, usage errors included.
pub const ERROR: u8 = 1;
const NOT_MET: u8 = 2;
const INCONCLUSIVE: u8 = 3;

/// Blocks of a quick run; two are the fewest that give an interval.
const QUICK_BLOCKS: u32 = 3;

/// How fast tompion-time's clock reads and how late its sleeps end, beside its
/// peers; about 11 minutes.
///
/// Everything is measured in blocks, in random order within each. A ratio is ours
/// to the peer's within one block; printed are the geometric mean over the blocks
/// and its 95 % interval. A limit is met if the worse end of the interval meets
/// it, inconclusive if the interval spans it. The A/A rows compare ours with ours
/// and show what the machine's noise alone does.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "tompion-time-bench",
    version,
    max_term_width = 100,
    after_help = "Exit status: 0 all limits met, or --quick; 1 error; 2 a limit is not met; 3 a limit is \
                  inconclusive."
)]
pub struct Options {
    /// Print JSON with the figures of every block in place of the tables
    #[arg(long)]
    pub json: bool,
    /// A look at everything in some seconds; its verdicts do not count
    #[arg(long)]
    pub quick: bool,
    /// Measure one part only
    #[arg(long, value_enum, value_name = "PART")]
    pub only: Option<Part>,
    /// Blocks to measure [default: 20, with --quick 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    blocks: Option<u32>,
    /// Seed of the random order [default: the time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// The two parts of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// What a clock read costs.
    Read,
    /// How late sleeps end, and what they burn.
    Sleep,
}

impl Options {
    /// Blocks that are enough for the limits to count.
    pub const ENOUGH_BLOCKS: u32 = 20;

    /// Blocks to measure.
    pub fn blocks(&self) -> u32 {
        self.blocks.unwrap_or(if self.quick {
            QUICK_BLOCKS
        } else {
            Self::ENOUGH_BLOCKS
        })
    }

    /// Whether reads are measured.
    pub fn includes_read(&self) -> bool {
        self.only != Some(Part::Sleep)
    }

    /// Whether sleeps are measured.
    pub fn includes_sleep(&self) -> bool {
        self.only != Some(Part::Read)
    }
}

/// Prints help, or what is wrong with the options.
pub fn usage(error: &clap::Error) -> ExitCode {
    // Nobody is left to tell if this fails.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::from(ERROR)
    } else {
        ExitCode::SUCCESS
    }
}

/// The exit status for the verdicts on all limits.
pub fn status(options: &Options, verdicts: impl Iterator<Item = Verdict>) -> u8 {
    if options.quick {
        return 0;
    }
    match verdicts.max() {
        None | Some(Verdict::Met) => 0,
        Some(Verdict::Inconclusive) => INCONCLUSIVE,
        Some(Verdict::NotMet) => NOT_MET,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Result<Options, clap::Error> {
        Options::try_parse_from(["tompion-time-bench"].iter().chain(arguments))
    }

    #[test]
    fn the_options_are_consistent() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }

    #[test]
    fn one_block_gives_no_interval_and_is_refused() {
        let error = options(&["--blocks", "1"]).unwrap_err().to_string();
        assert!(error.contains("2..=1000"), "{error}");
        assert_eq!(options(&["--blocks", "2"]).unwrap().blocks(), 2);
        assert_eq!(options(&[]).unwrap().blocks(), 20);
    }

    #[test]
    fn not_met_outweighs_inconclusive_outweighs_met() {
        use Verdict::{Inconclusive, Met, NotMet};
        let full = options(&[]).unwrap();
        assert_eq!(status(&full, [Met, Met].into_iter()), 0);
        assert_eq!(status(&full, [Inconclusive, Met].into_iter()), INCONCLUSIVE);
        assert_eq!(
            status(&full, [NotMet, Inconclusive, Met].into_iter()),
            NOT_MET
        );
        let quick = options(&["--quick"]).unwrap();
        assert_eq!(status(&quick, [NotMet].into_iter()), 0);
    }
}
