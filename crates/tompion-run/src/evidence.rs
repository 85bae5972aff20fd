//! Which evidence there was, for the record.

use tompion_model::Observation;
use tompion_observe::{events, steal};

/// What `recorder` and the counters of a thread had to tell, over the whole time.
pub fn of(recorder: &events::Recorder, counted: Vec<(String, Result<(), String>)>) -> Observation {
    let mut access = recorder.access();
    let stolen = steal::accounting().map(drop).map_err(str::to_owned);
    access
        .items
        .push(("accounting of stolen time".to_owned(), stolen));
    access.items.extend(counted);
    Observation::of_access(&access)
}
