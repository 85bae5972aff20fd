//! What comes back from a guest.

use std::borrow::Cow;
use std::process::ExitStatus;

use super::Accel;

/// Lines of the console that an error shows.
const TAIL_LINES: usize = 15;

/// How the command of a guest ended, and what it printed.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How the command ended: exit status or signal.
    pub status: ExitStatus,
    /// All it wrote to standard output.
    pub stdout: Vec<u8>,
    /// All it wrote to standard error.
    pub stderr: Vec<u8>,
    /// The serial console from boot to power-off (the last MiB of it).
    pub console: String,
    /// Wall time on the host from the start of QEMU to its end, in seconds.
    pub seconds: f64,
    /// What executed the guest's instructions: belongs beside every number that
    /// comes out of it.
    pub accel: Accel,
}

impl Outcome {
    /// Standard output as text.
    pub fn stdout_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// Standard error as text.
    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }
}

/// The console's bytes as text: no carriage returns, no terminal sequences.
pub fn console_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .filter(|c| *c == '\n' || *c == '\t' || !c.is_control())
        .collect()
}

/// The end of the console, as an error shows it below its one line.
pub fn tail(console: &str) -> String {
    let lines: Vec<_> = console.lines().filter(|l| !l.trim().is_empty()).collect();
    if lines.is_empty() {
        return "; its console is empty".to_owned();
    }
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    format!("; the end of its console:\n  | {}", last.join("\n  | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_keeps_the_last_lines_and_says_when_there_are_none() {
        let console: String = (0..40).map(|n| format!("line {n}\r\n\r\n")).collect();
        let shown = tail(&console_text(console.as_bytes()));
        assert!(shown.ends_with("  | line 39"), "{shown}");
        assert!(shown.contains("| line 25\n") && !shown.contains("line 24"));
        assert_eq!(tail(" \n\n"), "; its console is empty");
    }

    #[test]
    fn console_loses_control_characters_only() {
        assert_eq!(console_text(b"a\x1bc\r\nb\t\xff"), "ac\nb\t\u{fffd}");
    }
}
