//! Exit statuses and the one line that an error gets.

mod options;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use tompion_assess::verdict::Outcome;
use tompion_model::printable;

use crate::output::terminal_width;

/// Any error, usage errors included.
pub const ERROR: u8 = 1;
/// A required profile failed.
pub const FAILED: u8 = 2;
/// A required profile could not be decided.
pub const INCONCLUSIVE: u8 = 3;
/// Ended by a signal, as shells tell it (128 + SIGINT).
pub const INTERRUPTED: u8 = 130;

/// What a command came to.
pub type Result = anyhow::Result<u8>;

/// The status for the worst of several outcomes.
pub fn of_outcomes(outcomes: impl IntoIterator<Item = Outcome>) -> u8 {
    match outcomes.into_iter().max() {
        Some(Outcome::Fail) => FAILED,
        Some(Outcome::NearLimit | Outcome::Inconclusive | Outcome::NotMeasured) => INCONCLUSIVE,
        Some(Outcome::Pass | Outcome::WithRemedy) | None => 0,
    }
}

/// Writes one line to standard error, where that is possible: it may lie on the
/// very disk that is full. What would control the terminal becomes a space.
pub fn complain(text: &str) {
    let line = format!("tompion: {}", printable(text));
    let line = match std::io::stderr().is_terminal() {
        true => {
            let options = textwrap::Options::new(terminal_width()).subsequent_indent("  ");
            let wrapped = textwrap::fill(&line, options);
            ROWS.fetch_add(wrapped.lines().count(), Ordering::Relaxed);
            wrapped
        }
        false => line,
    };
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Lines that a terminal has of that.
static ROWS: AtomicUsize = AtomicUsize::new(0);

/// So many lines of a terminal are taken by what was complained of.
pub fn rows_told() -> usize {
    ROWS.load(Ordering::Relaxed)
}

/// Prints an error as one line.
pub fn code(result: Result) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            complain(&in_one_line(&error));
            ExitCode::from(ERROR)
        }
    }
}

/// An error with its causes, each told once: many errors name their cause
/// themselves. Options are named that it is about.
fn in_one_line(error: &anyhow::Error) -> String {
    let (before, after) = options::around(error);
    let told = error.chain().fold(String::new(), |told, cause| {
        let cause = cause.to_string();
        if told.is_empty() {
            cause
        } else if told.contains(&cause) {
            told
        } else {
            format!("{told}: {cause}")
        }
    });
    format!("{before}{told}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_outweighs_undecided_outweighs_passing() {
        use Outcome::{Fail, Inconclusive, Pass};
        assert_eq!(of_outcomes([]), 0);
        assert_eq!(of_outcomes([Pass, Pass]), 0);
        assert_eq!(of_outcomes([Pass, Inconclusive]), INCONCLUSIVE);
        assert_eq!(of_outcomes([Inconclusive, Fail, Pass]), FAILED);
    }

    #[test]
    fn libraries_name_no_options_and_the_command_line_does() {
        let path = || "there".into();
        let taken = tompion_store::Error::Taken { path: path() };
        let full = tompion_store::Error::NotEmpty { path: path() };
        let cpus = tompion_run::Error::Cpus {
            why: "CPU 9 does not exist".into(),
            several: false,
        };
        for (error, want) in [
            (
                anyhow::Error::from(taken),
                "there: another process writes a run there; wait for it, or choose another --out",
            ),
            (
                tompion_run::Error::from(full).into(),
                "there: exists and is not empty; choose another --out",
            ),
            (cpus.into(), "--cpu: CPU 9 does not exist"),
        ] {
            assert_eq!(in_one_line(&error), want);
            assert!(!error.to_string().contains("--"), "{error}");
        }
    }

    #[test]
    fn a_cause_is_told_once() {
        use anyhow::Context;
        let error = tompion_run::Error::from(tompion_store::Error::Io {
            path: "run.json".into(),
            action: "opening",
            source: std::io::Error::other("out of ink"),
        });
        let error = anyhow::Error::from(error);
        assert_eq!(in_one_line(&error), "run.json: opening failed: out of ink");
        let source = std::io::Error::other("out of ink");
        let error = Err::<(), _>(source).context("writing").unwrap_err();
        assert_eq!(in_one_line(&error), "writing: out of ink");
    }
}
