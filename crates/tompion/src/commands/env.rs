//! `tompion env`: what this machine is.

use std::io::Write;

use crate::cli::EnvOptions;
use crate::exit;

/// Carries out the command.
pub fn env(options: &EnvOptions) -> exit::Result {
    let environment = tompion_platform::detect();
    let mut out = std::io::stdout().lock();
    if options.json {
        serde_json::to_writer_pretty(&mut out, &environment)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", tompion_report::environment_text(&environment))?;
    }
    Ok(0)
}
