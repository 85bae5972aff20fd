//! The list of commands in the help, by what they are for.

use std::fmt::Write;

use clap::Command;

/// Every command, in the order in which they are shown.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Everyday", &["check", "watch", "report", "compare", "runs"]),
    (
        "A closer look",
        &["measure", "advise", "lab", "load", "peer", "env"],
    ),
    (
        "Packets",
        &["ping", "bandwidth", "reflect", "tap", "join", "testbed"],
    ),
    ("In your program", &["preload"]),
    ("Research", &["claims", "published"]),
    ("Names and pages", &["list", "man", "completions", "help"]),
];

/// The command with its help's list in groups.
pub fn grouped(command: Command) -> Command {
    let text = list(&command);
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{text}\nOptions:\n{{options}}{{after-help}}"
    ))
}

fn list(command: &Command) -> String {
    let about = |name: &str| match name {
        "help" => "Print this message or the help of a command".to_owned(),
        name => {
            let found = command.find_subcommand(name).and_then(Command::get_about);
            found.map(ToString::to_string).unwrap_or_default()
        }
    };
    let mut out = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(out, "{title}:");
        for name in names {
            let _ = writeln!(out, "  {name:<12} {}", about(name));
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_one_group() {
        let command = crate::cli::Cli::command();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        all.push("help");
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.1).copied().collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(all, grouped);
        // As they stand in a terminal of 80 columns.
        for line in list(&command).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
