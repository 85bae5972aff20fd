//! The methods of all probes.

use tompion_model::MethodRow;

use crate::{read_cost, timer_events, wake_up};

pub use crate::listed::{Listed, Method};

/// What all methods say of themselves, each probe's in the order in which they are shown.
pub fn rows() -> impl Iterator<Item = &'static MethodRow> {
    let reads = read_cost::Method::all().map(Method::row);
    let wake_ups = wake_up::Method::all().map(Method::row);
    let events = timer_events::Method::all().map(Method::row);
    reads.chain(wake_ups).chain(events)
}

/// What the method of that name says of itself, by its name on any architecture; `None`
/// where this version does not know it.
pub fn row(probe: &str, name: &str) -> Option<&'static MethodRow> {
    rows().find(|row| row.probe == probe && (row.name == name || row.elsewhere == Some(name)))
}
