//! Probes with the values that a check gives them.

use tompion_model::InvalidValue;
use tompion_run::probes::{Place, Probe, Selection};

/// The period of the timer events that a check looks at.
pub const EVENT_PERIOD: &str = "100us";
/// As many over all blocks as Adamczyk 2015 took.
pub const EVENT_COUNT: u64 = 4_500;

/// Iterations of the busy loop that count as stalls.
pub const STALL: &str = "1us";

/// A probe with these values on the command line.
pub fn selection<const N: usize>(
    probe: &str,
    given: [(&str, Vec<String>); N],
) -> Result<Selection, InvalidValue> {
    Selection::new(Probe::named(probe), Place::CommandLine, given)
}

/// Values as they are typed.
pub fn texts(values: &[impl ToString]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}
