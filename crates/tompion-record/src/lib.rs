//! Tompion's data model and its files.
//!
//! A *run* holds *trials*. A trial measures one *cell*, a map from factor to
//! level ([`Factors`]), in one *block*; its core is a time-ordered table of
//! [`Sample`]s. Everything else (distributions, summaries, plots) is derived
//! from that table.
//!
//! On disk a run is one directory: `run.json`, described by a checked-in JSON
//! Schema, and Parquet files: one a trial while the run is measured, one a probe
//! when it is finished. See [`RunWriter`] and [`Run`]; docs/run-format.md has the
//! format to the byte.
#![forbid(unsafe_code)]

mod cells;
mod clock_reading;
mod entries;
mod environment;
mod error;
mod factors;
mod method;
mod note;
mod observation;
mod program;
mod quantity;
mod recorder;
mod run;
mod sample;
mod side_table;
mod stalls;
mod store;
mod summary;
mod table_ref;
mod trial;

pub use cells::Cell;
pub use clock_reading::ClockReading;
pub use environment::*;
pub use error::{Error, Result};
pub use factors::{Factors, factor};
pub use method::{InCheck, MethodRow, Way};
pub use note::{Note, note_kind};
pub use observation::{EvidenceItem, Observation, ObservedReason};
pub use program::{ProgramStall, ProgramStalls, ProgramThread};
pub use quantity::{format_duration, format_ns, level_in_words, parse_duration_ns};
pub use recorder::Recorder;
pub use run::{
    Design, Hold, HoldAttempt, PlatformRecord, RunHeader, RunRecord, SCHEMA_VERSION, Status,
    Throttling, json_schema, now_utc, utc_of_unix_ns,
};
pub use sample::{Mark, Sample};
pub use side_table::{Column, SideTable, SideTableError, SideTables, Values};
pub use stalls::{CauseTotal, StallPart, Stalls, stall_parts};
pub use store::{Run, RunWriter, remove_leftovers, write_whole};
pub use summary::{Summary, TrialSummary};
pub use table_ref::{FileRef, TableRef, TableRefs, table};
pub use trial::{
    Findings, Granularity, LoadEvidence, Measurement, Storage, Trial, TrialData, TrialDraft, View,
};
