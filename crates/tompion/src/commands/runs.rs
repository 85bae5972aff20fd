//! `tompion runs`: the runs that were kept.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use console::truncate_str;
use serde::Serialize;
use tompion_model::{Status, printable};
use tompion_store::{Error, RUN_FILE, Run, UserRuns, bytes_of};

use super::ask::{ask, is_interactive};
use crate::cli::RunsOptions;
use crate::exit;
use crate::output::{place, print, print_json, terminal_width};

/// A run that was kept.
#[derive(Debug, Serialize)]
struct Kept {
    /// What it is named by, from the newest on.
    name: String,
    path: PathBuf,
    bytes: u64,
    /// Start in UTC; absent where the run cannot be read, as all that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trials: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Whether it is nothing of this version's: a directory without a run, or a run of a newer format.
    #[serde(skip)]
    is_foreign: bool,
    #[serde(skip)]
    began: SystemTime,
}

impl Kept {
    fn of(number: usize, path: &Path) -> Self {
        let written = std::fs::metadata(path).and_then(|found| found.modified());
        let unread = Self {
            name: format!("@{number}"),
            path: path.to_path_buf(),
            bytes: bytes_of(path),
            started_at: None,
            status: None,
            trials: None,
            command: None,
            problem: None,
            is_foreign: false,
            began: written.unwrap_or_else(|_| SystemTime::now()),
        };
        match Run::open(path) {
            Ok(run) => {
                let (record, header) = (run.record(), &run.record().header);
                let words = header.command_line.get(1..).unwrap_or_default().join(" ");
                Self {
                    started_at: Some(printable(&header.started_at).into_owned()),
                    status: Some(match UserRuns::is_being_written(path) {
                        true => Status::Running,
                        false => record.status,
                    }),
                    trials: Some(record.trials.len()),
                    command: Some(printable(&words).into_owned()),
                    began: header.started().unwrap_or(unread.began),
                    ..unread
                }
            }
            Err(why) => Self {
                problem: Some(why.to_string()),
                is_foreign: matches!(why, Error::NewerVersion { .. })
                    // Through no link: what a link leads to is no run of this directory.
                    || !std::fs::symlink_metadata(path.join(RUN_FILE)).is_ok_and(|file| file.is_file()),
                ..unread
            },
        }
    }

    fn is_older_than(&self, age: Duration) -> bool {
        self.began.elapsed().is_ok_and(|elapsed| elapsed >= age)
    }
}

/// Carries out the command.
pub fn runs(options: &RunsOptions) -> exit::Result {
    if options.names {
        return print(&names()).map(|()| 0);
    }
    let kept = UserRuns::find()?;
    if options.prune {
        anyhow::ensure!(
            options.keep.is_some() || options.older_than.is_some(),
            "--prune removes the runs that are listed: choose them with --keep N or --older-than TIME"
        );
        kept.remove_leftovers()?;
    }
    let all = kept.list()?;
    let numbered = all.iter().zip(1..).skip(options.keep.unwrap_or(0));
    let mut listed: Vec<Kept> = numbered.map(|(path, n)| Kept::of(n, path)).collect();
    listed.retain(|run| options.older_than.is_none_or(|age| run.is_older_than(age)));
    if !options.prune {
        match options.json {
            true => print_json(&serde_json::json!({ "directory": kept.path(), "runs": listed }))?,
            false => print(&table(&listed, all.len(), kept.path()))?,
        }
        return Ok(0);
    }
    // Whose it is nobody knows here.
    let (foreign, listed): (Vec<Kept>, Vec<Kept>) = listed.into_iter().partition(|k| k.is_foreign);
    for left in &foreign {
        let why = left.problem.as_deref().unwrap_or_default();
        exit::complain(&format!("{}: left as it is ({why})", left.path.display()));
    }
    prune(&kept, &listed, options)
}

/// Runs that a shell offers, at most.
const OFFERED: usize = 30;

/// What a shell offers: a name and when the run began, a line each. Both come from the names of directories
/// that are ours, digits and dashes; no run is opened. Where there is nothing to offer, nobody is told why.
fn names() -> String {
    let all = UserRuns::find().and_then(|kept| kept.list());
    let all = all.unwrap_or_default().into_iter().zip(1..).take(OFFERED);
    let line = |(path, number): (PathBuf, usize)| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (day, time) = name.split_once('-')?;
        let part = |text: &str, range: std::ops::Range<usize>| text.get(range).map(str::to_owned);
        let day = [part(day, 0..4)?, part(day, 4..6)?, part(day, 6..8)?].join("-");
        let time = [part(time, 0..2)?, part(time, 2..4)?, part(time, 4..6)?].join(":");
        Some(format!("@{number}\t{day} {time} UTC\n"))
    };
    all.filter_map(line).collect()
}

/// Removes what is listed, if somebody says so.
fn prune(kept: &UserRuns, listed: &[Kept], options: &RunsOptions) -> exit::Result {
    if !options.yes && !listed.is_empty() {
        anyhow::ensure!(
            is_interactive(),
            "--prune asks before it removes, and there is nobody to ask; add --yes"
        );
        let question = match listed.len() {
            1 => "Remove this run?".to_owned(),
            n => format!("Remove these {n} runs?"),
        };
        if !ask(&table(listed, listed.len(), kept.path()), &question)? {
            print("Nothing is removed.\n")?;
            return Ok(0);
        }
    }
    let mut status = 0;
    let mut removed = Vec::new();
    for run in listed {
        match kept.remove(&run.path) {
            Ok(()) => removed.push(run),
            Err(why) => {
                exit::complain(&why.to_string());
                status = exit::ERROR;
            }
        }
    }
    if options.json {
        print_json(&serde_json::json!({ "directory": kept.path(), "removed": removed }))?;
    } else {
        let bytes = removed.iter().map(|run| run.bytes).sum();
        let what = match removed.len() {
            1 => "1 run".to_owned(),
            n => format!("{n} runs"),
        };
        print(&format!("removed {what}, {}\n", size(bytes)))?;
    }
    Ok(status)
}

/// The runs that are listed, of so many in this directory.
fn table(listed: &[Kept], all: usize, directory: &Path) -> String {
    let at = place(directory);
    if listed.is_empty() {
        return match all {
            0 => format!("no runs in {at}\n"),
            n => format!("none of the {n} runs in {at} matches\n"),
        };
    }
    let mut out = String::new();
    let columns = format!(
        "{:>4}  {:<20}  {:>8}  {:<11}  ",
        "run", "began (UTC)", "size", "status"
    );
    let _ = writeln!(out, "{columns}command");
    // A line of a table is one line, where somebody looks at it.
    let width = match std::io::stdout().is_terminal() {
        true => terminal_width().saturating_sub(columns.len()).max(10),
        false => usize::MAX,
    };
    for run in listed {
        let what = match (&run.problem, &run.command) {
            (Some(why), _) => why,
            (None, Some(command)) => command,
            (None, None) => "",
        };
        let _ = writeln!(
            out,
            "{:>4}  {:<20}  {:>8}  {:<11}  {}",
            run.name,
            run.started_at.as_deref().unwrap_or("unknown"),
            size(run.bytes),
            run.status.map_or("cannot be read", in_words),
            truncate_str(what, width, "…"),
        );
    }
    let total = listed.iter().map(|run| run.bytes).sum();
    let _ = match all - listed.len() {
        0 => writeln!(out, "{} in {at}", size(total)),
        _ => writeln!(
            out,
            "{} in {} of {all} runs in {at}",
            size(total),
            listed.len()
        ),
    };
    out
}

fn in_words(status: Status) -> &'static str {
    match status {
        Status::Running => "running",
        Status::Interrupted => "interrupted",
        Status::TimeLimit => "time limit",
        Status::Incomplete => "incomplete",
        Status::Complete => "complete",
    }
}

/// `12 kB`, `3.4 MB`.
fn size(bytes: u64) -> String {
    let mut units = ["B", "kB", "MB", "GB", "TB"].into_iter().peekable();
    let mut number = bytes as f64;
    while let Some(unit) = units.next() {
        if number < 999.5 || units.peek().is_none() {
            let places = usize::from(number < 9.95 && unit != "B");
            return format!("{number:.places$} {unit}");
        }
        number /= 1e3;
    }
    unreachable!("the last unit takes any number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_or_three_digits() {
        let of = [
            0,
            999,
            1_000,
            9_949,
            9_951,
            999_499,
            999_501,
            12_300_000,
            5_000_000_000_000_000,
        ];
        let of = of.map(size).join(", ");
        assert_eq!(
            of,
            "0 B, 999 B, 1.0 kB, 9.9 kB, 10 kB, 999 kB, 1.0 MB, 12 MB, 5000 TB"
        );
    }
}
