//! A source that a daemon follows.

use tompion_model::TimeSource;

/// One source.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Its address; what a reference clock is called.
    pub name: String,
    pub is_reference_clock: bool,
    pub state: &'static str,
}

impl From<Source> for TimeSource {
    fn from(source: Source) -> Self {
        let kind = match source.is_reference_clock {
            true => "reference clock",
            false => "server",
        };
        Self {
            name: source.name,
            kind: kind.to_owned(),
            state: source.state.to_owned(),
        }
    }
}
