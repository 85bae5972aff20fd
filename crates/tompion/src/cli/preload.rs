//! Options of `tompion preload`.

use std::ffi::OsString;
use std::path::PathBuf;
use tompion_model::InvalidValue;

use clap::Args;
use tompion_time::Policy;
use tompion_time::sleep::Budget;

/// Run a program, unmodified, with Tompion's clock and sleeps.
#[derive(Args, Debug)]
#[command(
    override_usage = "tompion preload [OPTIONS] -- COMMAND [ARGUMENTS]...",
    after_help = "\
Examples:
  tompion preload -- python3 server.py
  tompion preload --explain -- ./program --its-own option
  tompion preload --policy tsc -- ./reads-the-clock-often
  tompion preload --policy hybrid --budget 5% -- ./sleeps-precisely
  tompion preload --explain          (what it changes and what it cannot)

Programs that an LD_PRELOAD library cannot reach (static, Go, built for
another C library, set-user-ID) are refused.

Exit status:
  1      the program was not started
  other  that of the program itself"
)]
pub struct PreloadOptions {
    /// Comma-separated: one of auto, tsc, kernel for clocks, and hybrid for sleeps
    ///
    /// auto: clocks are read from the CPU's time-stamp counter (TSC) if the kernel itself
    /// uses it as its clocksource and reading it directly is faster. tsc: also if the
    /// kernel only lists it as available, provided that the counters of all CPUs agree.
    /// kernel: clocks are always the kernel's. hybrid: sleeps wake early and spin until
    /// their deadline; without it they are the C library's own.
    /// [default: auto]
    #[arg(long, value_name = "POLICY", value_delimiter = ',')]
    pub policy: Vec<PreloadPolicy>,

    /// Maximum share of one CPU that each thread may spend spinning in hybrid sleeps, over
    /// any second, such as 0.05 or 5%
    /// [default: 10%]
    #[arg(long, value_name = "SHARE", value_parser = budget, allow_negative_numbers = true)]
    pub budget: Option<Budget>,

    /// Use the counter even if the kernel's clock is as fast, for tests
    #[arg(long)]
    pub always: bool,

    /// Print on standard error what is replaced and what is not; the library adds one line
    /// at the start and one at the exit of each process
    #[arg(long)]
    pub explain: bool,

    /// The LD_PRELOAD library [default: libtompion_preload.so in the directory of this
    /// program, or in ../lib or ../lib/tompion]
    #[arg(long = "library", value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// The program and its arguments
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        required_unless_present = "explain"
    )]
    pub command: Vec<OsString>,
}

/// One word of `--policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreloadPolicy {
    /// For clocks.
    Clock(Policy),
    /// Sleeps that spin over their last part.
    Hybrid,
}

impl std::str::FromStr for PreloadPolicy {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "hybrid" => Ok(Self::Hybrid),
            _ => text
                .parse()
                .map(Self::Clock)
                .map_err(|_| format!("`{text}` is none of auto, tsc, kernel, hybrid").into()),
        }
    }
}

/// A share of one CPU: `0.05` or `5%`.
fn budget(text: &str) -> Result<Budget, InvalidValue> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    number
        .trim()
        .parse::<f64>()
        .ok()
        .map(|n| n / whole)
        .filter(|share| *share > 0.0)
        .and_then(|share| Budget::share(share).ok())
        .filter(|budget| budget.as_nanoseconds_per_second() > 0)
        .ok_or_else(|| "write a share above 0 and up to 1, such as 0.05 or 5%".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    use crate::cli::{Cli, Command};

    fn parse(arguments: &[&str]) -> PreloadOptions {
        let all = ["tompion", "preload"].iter().chain(arguments);
        match Cli::try_parse_from(all).unwrap().command {
            Command::Preload(options) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_follows_the_command_is_its_own() {
        let want = ["ls", "--explain", "-h", "--", "--policy"];
        assert_eq!(
            parse(&["ls", "--explain", "-h", "--", "--policy"]).command,
            want
        );
        let dashed = parse(&[
            "--policy",
            "tsc",
            "--",
            "ls",
            "--explain",
            "-h",
            "--",
            "--policy",
        ]);
        assert_eq!(dashed.command, want);
        assert!(!dashed.explain);
        assert_eq!(parse(&["--", "-x", "--help"]).command, ["-x", "--help"]);
        assert!(parse(&["--explain"]).command.is_empty());
    }

    #[test]
    fn policies_are_gathered_from_lists_and_repetition() {
        let want = [PreloadPolicy::Clock(Policy::Tsc), PreloadPolicy::Hybrid];
        assert_eq!(parse(&["--policy", "tsc,hybrid", "ls"]).policy, want);
        let twice = ["--policy", "tsc", "--policy", "hybrid", "ls"];
        assert_eq!(parse(&twice).policy, want);
    }

    #[test]
    fn shares_are_numbers_or_per_cents() {
        for (text, share) in [("0.05", 0.05), ("5%", 0.05), ("1", 1.0), ("0.1 %", 0.001)] {
            assert_eq!(budget(text).unwrap().as_share(), share, "{text}");
        }
        // As the help says.
        assert_eq!(budget("10%"), Ok(Budget::DEFAULT));
    }
}
