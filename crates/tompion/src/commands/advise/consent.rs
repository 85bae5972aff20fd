//! A yes to changes that reach beyond this process.

use std::io::{IsTerminal, Write};

use tompion_advise::Candidate;

use crate::cli::AdviseOptions;

/// Asks the person at the terminal about what touches the system; no where there is
/// nobody to ask, or nothing to ask about.
pub fn given(all: &[Candidate], options: &AdviseOptions) -> anyhow::Result<bool> {
    let asked: Vec<&Candidate> = all.iter().filter(|c| c.needs_consent()).collect();
    if asked.is_empty() || options.output.quiet || !is_interactive() {
        return Ok(false);
    }
    let mut text = "These remedies touch other programs, too:\n".to_owned();
    for candidate in asked {
        text += &format!("  {:<22} {}\n", candidate.name(), candidate.title());
    }
    text += "Each is on for fractions of a second at a time, and is put back.\n";
    ask(&text, "Try them, too?")
}

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
