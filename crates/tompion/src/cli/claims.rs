//! Options of `tompion claims`.

use clap::Args;

/// Print the register of claims.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion claims                                the whole register and its coverage
  tompion claims kirova-2019                    one paper
  tompion claims kirova-2019/capacity-120-gbps  one claim with its evidence
  tompion claims --json > claims.json           for machines

A claim that rests on published figures is held against the papers' own numbers. Only what
a measurement supports is called reproduced, and emulation alone never decides a claim
about the speed of hardware.")]
pub struct ClaimsOptions {
    /// A paper, such as kirova-2019, or a claim, PAPER/NAME [default: all papers]
    #[arg(value_name = "PAPER")]
    pub name: Option<String>,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
