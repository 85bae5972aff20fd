//! Options of `tompion join`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use tompion_model::InvalidValue;

use crate::output::OutputOptions;

/// Join captures of taps with a run of round trips, as further vantage points.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion join run --tap dom0=tap.pcapng --out joined
  tompion join @1 --tap host=host.pcapng --tap router=router.pcapng --out joined

Writes the run once more, with the stamps of each tap (see `tompion tap`) beside
its own, and a trial of each tap for each of its trials. Packets are known again
by what they carry. Clocks need not agree: only stamps of one tap are compared.")]
pub struct JoinOptions {
    /// Directory of a run of `tompion measure packet-delay`; @1 is the newest run that was kept
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// A tap's name and its capture, pcapng or pcap with nanoseconds; may be given more than once,
    /// the nearest to the sender first
    #[arg(long, value_name = "NAME=FILE", required = true)]
    pub tap: Vec<NamedCapture>,

    /// Directory for the run that comes of it; must not exist or must be empty
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,

    #[command(flatten)]
    pub output: OutputOptions,
}

/// A tap: what it is called, and the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCapture {
    /// A vantage point.
    pub name: String,
    /// Its capture.
    pub file: PathBuf,
}

impl FromStr for NamedCapture {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (name, file) = text
            .split_once('=')
            .filter(|(name, file)| !name.is_empty() && !file.is_empty())
            .ok_or_else(|| format!("`{text}`: write a name and a file, such as dom0=tap.pcapng"))?;
        Ok(Self {
            name: name.to_owned(),
            file: file.into(),
        })
    }
}
