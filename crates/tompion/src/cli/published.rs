//! Options of `tompion published`.

use clap::Args;

/// Print the published results that Tompion is compared with.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion published                       what there is
  tompion published kirova-2019/table-1   one table, with its caveats and marks
  tompion published perneel-2015          all tables of a paper
  tompion published kirova-2019 --json | jq '.tables[0].rows[0]'

A figure is marked [1] where our text of the source is damaged, or where another place of
the sources says otherwise.")]
pub struct PublishedOptions {
    /// A table such as kirova-2019/table-1, or a paper such as kirova-2019
    /// [default: a list of all]
    #[arg(value_name = "TABLE")]
    pub table: Option<String>,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
