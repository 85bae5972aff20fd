//! Options of `tompion published`.

use clap::Args;

/// Print the published results that Tompion is compared with.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion published                       a list of all tables
  tompion published kirova-2019/table-1   a table, with its caveats and marks
  tompion published perneel-2015          all tables of a paper
  tompion published kirova-2019 --json | jq '.tables[0].rows[0]'

A number marked [1] is doubtful: our copy of the source is damaged there,
another passage contradicts it, or it cannot be what it is said to be.")]
pub struct PublishedOptions {
    /// A table such as kirova-2019/table-1, or a paper such as kirova-2019
    /// [default: a list of all]
    #[arg(value_name = "TABLE")]
    pub table: Option<String>,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
