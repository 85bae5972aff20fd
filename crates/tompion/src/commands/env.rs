//! `tompion env`: what this machine is.

use crate::cli::EnvOptions;
use crate::exit;
use crate::output::{print, print_json};

/// Carries out the command.
pub fn env(options: &EnvOptions) -> exit::Result {
    let environment = tompion_host::detect();
    if options.json {
        print_json(&environment)?;
    } else {
        print(&tompion_report::environment_text(&environment))?;
    }
    Ok(0)
}
