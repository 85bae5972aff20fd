//! Which options of the command line name a file or a directory, for the tests of what is
//! written where: one without an expectation there fails.

use clap::{Arg, Command};

use crate::{cli, exit, output};

/// The argument by which they are asked for.
pub const ASKED: &str = "__places";

/// Words for values that are paths, whatever type the value has.
const NAMES: [&str; 3] = ["FILE", "DIR", "PATH"];

/// Prints a line for each, `measure stalls --hlog` or `report DIR`.
pub fn print() -> exit::Result {
    let mut all = cli::command();
    all.build();
    let mut lines = Vec::new();
    of_command(&all, "", &mut lines);
    output::print(&(lines.join("\n") + "\n"))?;
    Ok(0)
}

fn of_command(command: &Command, name: &str, lines: &mut Vec<String>) {
    for arg in command.get_arguments().filter(|arg| is_path(arg)) {
        let value = arg.get_value_names().unwrap_or_default().join(" ");
        let option = arg.get_long().map_or(value, |long| format!("--{long}"));
        lines.push(format!("{name}{option}"));
    }
    for below in command.get_subcommands() {
        of_command(below, &format!("{name}{} ", below.get_name()), lines);
    }
}

/// The last word of `NAME=FILE`.
fn place_of(name: &str) -> &str {
    name.rsplit_once('=').map_or(name, |(_, place)| place)
}

fn is_path(arg: &Arg) -> bool {
    let path = clap::value_parser!(std::path::PathBuf);
    let names = arg.get_value_names().unwrap_or_default();
    arg.get_value_parser().type_id() == path.type_id()
        || names.iter().any(|name| NAMES.contains(&place_of(name)))
}
