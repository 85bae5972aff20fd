//! Questions to whoever is at the terminal.

use std::io::{IsTerminal, Write};

/// Whether someone is there to answer.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Puts a question; anything but a yes is a no.
pub fn ask(text: &str, question: &str) -> anyhow::Result<bool> {
    let mut err = std::io::stderr();
    write!(err, "{text}{question} [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}
