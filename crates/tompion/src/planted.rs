//! `tompion` on a planted machine, for tests: what it measures takes no time and comes out
//! the same each time. All else is the program itself: options, texts, files, reports, exit
//! statuses. Never installed; `make tests-built` builds it.
#![forbid(unsafe_code)]
#![allow(
    dead_code,
    unused_imports,
    reason = "commands that measure otherwise are left out"
)]

mod cli;
mod commands;
mod exit;
#[path = "planted/machine.rs"]
mod machine;
mod output;
#[path = "planted/places.rs"]
mod places;
#[path = "planted/plants.rs"]
mod plants;
mod stop;

use std::process::ExitCode;

use cli::Command;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(places::ASKED) {
        return exit::code(places::print());
    }
    let options = match cli::parse() {
        Ok(options) => options,
        Err(code) => return code,
    };
    exit::code(match options.command {
        Command::Check(check) => commands::check(&check),
        Command::Measure(measure) => commands::measure(&measure),
        Command::Report(report) => commands::report(&report),
        Command::Runs(runs) => commands::runs(&runs),
        Command::Compare(compare) => commands::compare(&compare),
        Command::Env(env) => commands::env(&env),
        Command::List(list) => commands::list(&list),
        Command::Claims(claims) => commands::claims(&claims),
        Command::Published(published) => commands::published(&published),
        Command::Man(man) => commands::man(&man),
        Command::Completions(completions) => commands::completions(&completions),
        _ => Err(anyhow::anyhow!("nothing is planted for this command")),
    })
}
