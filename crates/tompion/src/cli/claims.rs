//! Options of `tompion claims`.

use std::path::PathBuf;

use clap::Args;

/// Print the register of claims.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion claims                                the register and its coverage
  tompion claims kirova-2019                    one paper
  tompion claims kirova-2019/capacity-120-gbps  one claim with its evidence
  tompion claims --json > claims.json           machine-readable
  tompion claims --decide kirova                claims decided by run `kirova`
  tompion claims --decide kirova --write found  the same, written as evidence

A claim that rests on published figures is checked against the papers' own
numbers. Only what a measurement supports is called reproduced. Emulation
alone never decides a claim about the speed of hardware: what --decide finds
on emulated platforms is left out. A claim that it cannot decide keeps its
status.")]
pub struct ClaimsOptions {
    /// A paper, such as kirova-2019, or a claim, PAPER/NAME [default: all papers]
    #[arg(value_name = "PAPER")]
    pub name: Option<String>,

    /// Print which claims the run in this directory decides, by fixed rules
    #[arg(long, value_name = "RUN", conflicts_with = "name")]
    pub decide: Option<PathBuf>,

    /// Write the findings into this directory as evidence, one file per paper
    #[arg(long, value_name = "DIR", requires = "decide")]
    pub write: Option<PathBuf>,

    /// What else a reader must know about the machine; added to each finding
    #[arg(long, value_name = "TEXT", requires = "decide")]
    pub beside: Option<String>,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
