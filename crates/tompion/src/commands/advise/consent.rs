//! A yes to changes that reach beyond this process.

use tompion_advise::Candidate;

use crate::cli::AdviseOptions;
use crate::commands::ask::{ask, is_interactive};

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
