//! `tompion man` and `tompion completions`, from the option definitions.

use tompion_store::Directory;

use crate::cli::{self, CompletionOptions, ManOptions};
use crate::exit;
use crate::output::print;

/// Writes one man page a command.
pub fn man(options: &ManOptions) -> exit::Result {
    let out = Directory::make(&options.out)?;
    let mut all = cli::command().disable_help_subcommand(true);
    all.build();
    page(&all, &out)?;
    Ok(0)
}

/// The page of one command, and those of its own.
fn page(command: &clap::Command, out: &Directory) -> anyhow::Result<()> {
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        page(below, out)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    Ok(out.put(&page.get_filename(), &text)?)
}

/// Prints the completions of one shell.
pub fn completions(options: &CompletionOptions) -> exit::Result {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut cli::command(), "tompion", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
