//! `tompion-time` beside its peers: what a clock read costs, and how late sleeps
//! end, in interleaved blocks with paired ratios. `make bench-time` runs it.
//!
//! This program parses, measures, judges and prints; each step is a module.
#![deny(unsafe_code)]

mod cli;
mod head;
mod paired;
mod progress;
mod read;
mod report;
mod sleep;
mod sys;
mod table;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::Options;
use crate::head::Head;
use crate::progress::Progress;
use crate::report::Report;

fn main() -> ExitCode {
    // A copy of this program runs the hogs; it takes no other options.
    let arguments: Vec<String> = std::env::args_os()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    if arguments
        .get(1)
        .is_some_and(|a| a == tompion_load::WORKER_ARG)
    {
        return tompion_load::worker_main(&arguments[2..]);
    }
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => return cli::usage(&error),
    };
    match run(&options) {
        Ok(status) => ExitCode::from(status),
        // A closed pipe is the reader's choice, not an error to report.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tompion-time-bench: {error:#}");
            ExitCode::from(cli::ERROR)
        }
    }
}

/// Steps of the progress bar.
fn steps(options: &Options) -> u64 {
    let read = u64::from(options.includes_read()) * read::STEPS_A_BLOCK;
    let sleep = u64::from(options.includes_sleep()) * sleep::steps_a_block();
    u64::from(options.blocks()) * (read + sleep)
}

fn run(options: &Options) -> anyhow::Result<u8> {
    let head = Head::of_this_machine(options);
    if !options.json {
        write!(std::io::stdout(), "{head}")?;
    }
    let progress = Progress::new(steps(options));
    let read = options
        .includes_read()
        .then(|| read::measure(options, head.seed, &progress));
    let sleep = options
        .includes_sleep()
        .then(|| sleep::measure(options, head.seed, &progress))
        .transpose()?;
    progress.finish();

    let report = Report::new(head.finished(), read, sleep);
    if options.json {
        let text = serde_json::to_string_pretty(&report)?;
        writeln!(std::io::stdout(), "{text}")?;
    } else {
        write!(std::io::stdout(), "{report}")?;
    }
    Ok(cli::status(options, report.verdicts()))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
