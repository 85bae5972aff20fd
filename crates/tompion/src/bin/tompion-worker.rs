//! `tompion-worker`: the part of Tompion that enters an instance of a lab. It measures one
//! cell and writes the result to standard output, is a neighbour of a cell, or guards one.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    // Caught, so that a file larger than `ulimit -f` allows is an error that can be
    // reported, not a death without a word.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let arguments: Vec<String> = std::env::args_os()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    if arguments
        .get(1)
        .is_some_and(|a| a == tompion_load::WORKER_ARG)
    {
        return tompion_load::worker_main(&arguments[2..]);
    }
    let tool = concat!("tompion ", env!("CARGO_PKG_VERSION"));
    match tompion_lab::worker_main(&arguments[1..], tool) {
        Some(Ok(status)) => ExitCode::from(status),
        Some(Err(why)) => {
            eprintln!("tompion: {why}");
            ExitCode::FAILURE
        }
        None if arguments.get(1).is_some_and(|a| a == "--version") => {
            println!("{tool}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("tompion-worker: this is how a lab calls itself; see `tompion lab --help`");
            ExitCode::FAILURE
        }
    }
}
