//! Loads as real processes. This program is its own worker, so it has its own
//! `main` instead of the usual test harness.

use std::process::ExitCode;

use tompion_load::{WORKER_ARG, worker_main};

mod support;

mod built_in;
mod driven;
mod interrupts;
mod known_truth;
mod parent_killed;
mod refused;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some(WORKER_ARG) => return worker_main(&args[2..]),
        Some(support::PARENT_ROLE) => return support::be_parent(&args[2..]),
        Some(interrupts::GUARDED_ROLE) => return interrupts::be_guarded_parent(&args[2..]),
        _ => {}
    }
    let mut options = libtest_mimic::Arguments::from_args();
    // One at a time: loads disturb each other.
    options.test_threads = Some(1);
    let tests = [
        built_in::tests(),
        driven::tests(),
        interrupts::tests(),
        known_truth::tests(),
        parent_killed::tests(),
        refused::tests(),
    ];
    libtest_mimic::run(&options, tests.into_iter().flatten().collect()).exit_code()
}
