//! `tompion man` and `tompion completions`, from the option definitions.

use std::path::Path;

use anyhow::Context;

use crate::cli::{self, CompletionOptions, ManOptions};
use crate::exit;
use crate::output::print;

/// Writes one man page a command.
pub fn man(options: &ManOptions) -> exit::Result {
    let out: &Path = &options.out;
    let context = || format!("{}: writing man pages", out.display());
    std::fs::create_dir_all(out).with_context(context)?;
    clap_mangen::generate_to(cli::command(), out).with_context(context)?;
    Ok(0)
}

/// Prints the completions of one shell.
pub fn completions(options: &CompletionOptions) -> exit::Result {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut cli::command(), "tompion", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
