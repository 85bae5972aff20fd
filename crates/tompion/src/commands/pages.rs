//! `tompion man`, from the option definitions.

use tompion_store::Directory;

use crate::cli::{self, ManOptions};
use crate::exit;

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
