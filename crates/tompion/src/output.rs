//! Standard output: all of it or an error.

use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use clap::Args;
use tompion_model::{is_printable, printable};

/// What goes to standard output.
#[derive(Args, Clone, Copy, Debug)]
pub struct OutputOptions {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Show no progress and no summary, only errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Prints `text`. That the reader has closed the pipe is its choice, and no
/// error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("standard output"),
    }
}

/// A path as it is shown: who sends a directory gives it its name.
pub fn place(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// Prints `value` as JSON.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print(&(escaped(&serde_json::to_string_pretty(value)?) + "\n"))
}

/// The same JSON with escapes for whatever would act on a terminal: it may show names as they are.
fn escaped(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        // Between texts stand no others.
        if c == '\n' || is_printable(c) {
            safe.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(safe, "\\u{unit:04x}");
        }
    }
    safe
}

/// Columns to fill: those of the terminal, or 100 in a pipe.
pub fn terminal_width() -> usize {
    // A terminal may know its columns and not its rows.
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let columns = size.map(|size| usize::from(size.ws_col));
    let columns = columns.filter(|columns| *columns > 0);
    columns.map_or(100, |columns| columns.min(140))
}

/// Whether standard output is a terminal that shows colours, and its user wants them
/// (<https://no-color.org>).
pub fn wants_color() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !refused && !is_dumb()
}

/// Whether the terminal says that it understands no escape sequences.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_what_it_held_and_controls_no_terminal() {
        for name in [
            "plain",
            "tab\t",
            "\u{1b}[2J",
            "a\u{202e}b",
            "\u{e0041}\u{ad}",
            "日本 µ",
        ] {
            let json = serde_json::to_string_pretty(&[name]).unwrap();
            let safe = escaped(&json);
            assert!(
                safe.chars().all(|c| c == '\n' || is_printable(c)),
                "{safe:?}"
            );
            let [read]: [String; 1] = serde_json::from_str(&safe).unwrap();
            assert_eq!(read, name);
        }
    }
}
