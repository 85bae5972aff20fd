//! `tompion published`: the published results as data.

use tompion_papers::published::{tables, tables_of};
use tompion_report::{published_json, published_list, published_list_json, published_table};

use crate::cli::PublishedOptions;
use crate::exit;
use crate::output::{print, print_json, terminal_width, wants_color};

/// Carries out the command.
pub fn published(options: &PublishedOptions) -> exit::Result {
    let width = terminal_width();
    let color = wants_color();
    let Some(name) = &options.table else {
        match options.json {
            true => print_json(&published_list_json())?,
            false => print(&published_list(width, color))?,
        }
        return Ok(0);
    };
    let found = tables_of(name);
    if found.is_empty() {
        let known: Vec<&str> = tables().iter().map(|t| t.id.as_str()).collect();
        anyhow::bail!(
            "there is no published table `{name}`; there are {}",
            known.join(", ")
        );
    }
    if options.json {
        print_json(&published_json(&found))?;
    } else {
        let texts: Vec<String> = found
            .into_iter()
            .map(|t| published_table(t, width, color))
            .collect();
        print(&texts.join("\n\n"))?;
    }
    Ok(0)
}
