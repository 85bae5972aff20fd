//! Tompion's data model and its files.
//!
//! A *run* holds *trials*. A trial measures one *cell*, a map from factor to
//! level ([`Factors`]), in one *block*; its core is a time-ordered table of
//! [`Sample`]s. Everything else (distributions, summaries, plots) is derived
//! from that table.
//!
//! On disk a run is one directory: `run.json`, described by a checked-in JSON
//! Schema, and one Parquet file a trial under `samples/`. See [`RunWriter`] and
//! [`Run`].
#![forbid(unsafe_code)]

mod cells;
mod clock_reading;
mod environment;
mod error;
mod factors;
mod observation;
mod program;
mod quantity;
mod recorder;
mod run;
mod sample;
mod stalls;
mod store;
mod summary;
mod trial;

pub use cells::Cell;
pub use clock_reading::ClockReading;
pub use environment::*;
pub use error::{Error, Result};
pub use factors::{Factors, factor};
pub use observation::{EvidenceItem, Observation, ObservedReason};
pub use program::{ProgramStall, ProgramStalls, ProgramThread};
pub use quantity::{format_duration, format_ns, level_in_words, parse_duration_ns};
pub use recorder::Recorder;
pub use run::{
    Design, Hold, HoldAttempt, PlatformRecord, RunHeader, RunRecord, SCHEMA_VERSION, Status,
    Throttling, json_schema, now_utc,
};
pub use sample::{Mark, Sample};
pub use stalls::{CauseTotal, StallPart, Stalls};
pub use store::{Run, RunWriter, write_whole};
pub use summary::{Summary, TrialSummary};
pub use trial::{
    Granularity, LoadEvidence, Measurement, Storage, Trial, TrialData, TrialDraft, View,
};
