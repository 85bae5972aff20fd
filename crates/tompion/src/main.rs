//! `tompion`: can I trust time in this VM, container or cloud instance?
//!
//! This program parses, calls and prints; the work is done by the crates below.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod exit;
mod machine;
mod output;
mod stop;

use std::process::ExitCode;
use std::sync::Arc;

use cli::Command;

fn main() -> ExitCode {
    // Caught, so that a file larger than `ulimit -f` allows is an error that
    // can be told, not a death without a word.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    // A copy of this program runs each load; it takes no other options.
    let arguments: Vec<String> = std::env::args_os()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    if arguments
        .get(1)
        .is_some_and(|a| a == tompion_load::WORKER_ARG)
    {
        return tompion_load::worker_main(&arguments[2..]);
    }
    // And where no worker lies beside it, a copy of it measures each cell of a lab.
    let tool = concat!("tompion ", env!("CARGO_PKG_VERSION"));
    if let Some(done) = tompion_lab::worker_main(&arguments[1.min(arguments.len())..], tool) {
        return exit::code(done.map_err(anyhow::Error::from));
    }
    if !tompion_host::has_random_numbers() {
        let why = "random numbers, which every program needs, cannot be had: getrandom(2) fails, and /dev/urandom \
                   is not there, or not asked after such a failure";
        return exit::code(Err(anyhow::anyhow!(why)));
    }
    let options = match cli::parse() {
        Ok(options) => options,
        Err(code) => return code,
    };
    let result = match options.command {
        Command::Check(check) => commands::check(&check),
        Command::Advise(advise) => commands::advise(&advise),
        Command::Measure(measure) => commands::measure(&measure),
        Command::Watch(watch) => commands::watch(&watch),
        Command::Report(report) => commands::report(&report),
        Command::Runs(runs) => commands::runs(&runs),
        Command::Compare(compare) => commands::compare(&compare),
        Command::Lab(lab) => commands::lab(&lab),
        Command::Env(env) => commands::env(&env),
        Command::List(list) => commands::list(&list),
        Command::Claims(claims) => commands::claims(&claims),
        Command::Published(published) => commands::published(&published),
        Command::Preload(preload) => commands::preload(&preload),
        Command::Load(load) => commands::load(&load),
        Command::Peer(peer) => commands::peer(&peer),
        Command::Ping(ping) => commands::ping(&ping),
        Command::Bandwidth(bandwidth) => commands::bandwidth(&bandwidth),
        Command::Reflect(reflect) => commands::reflect(&reflect),
        Command::Tap(tap) => commands::tap(&tap),
        Command::Join(join) => commands::join(&join),
        Command::Testbed(testbed) => commands::testbed(&testbed),
        Command::Man(man) => commands::man(&man),
        Command::Completions(completions) => commands::completions(&completions),
    };
    exit::code(result)
}
