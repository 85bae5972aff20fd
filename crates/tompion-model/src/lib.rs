//! Tompion's data model: what was measured, how, under which load and where, and how what
//! can be measured describes itself. No files, no clock.
//!
//! A *run* holds *trials*. A trial measures one *cell*, a map from factor to
//! level ([`Factors`]), in one *block*; its core is a time-ordered table of
//! [`Sample`]s. Everything else (distributions, summaries, plots) is derived
//! from that table.
#![forbid(unsafe_code)]

mod blocks;
mod cells;
mod clock_reading;
mod cpu_use;
mod entries;
mod environment;
mod factors;
mod filled;
mod method;
mod names;
mod note;
mod observation;
mod own_profile;
mod printable;
mod problem;
mod program;
mod quantity;
mod recorder;
mod round_trips;
mod run;
mod sample;
mod side_table;
mod stalls;
mod summary;
mod table_ref;
mod time_keeping;
mod trial;

pub use blocks::{Block, Blocks, range_in_words};
pub use cells::{Cell, Cells};
pub use clock_reading::ClockReading;
pub use cpu_use::{CpuUse, ProgramUse};
pub use environment::*;
pub use factors::{AT_REST, Factors, factor};
pub use filled::filling_work;
pub use method::{InCheck, MethodRow, Way};
pub use names::{nearest, unknown_name};
pub use note::{Note, note_kind};
pub use observation::{EvidenceItem, Observation, ObservedReason};
pub use own_profile::OwnProfile;
pub use printable::{is_printable, printable, shortened, shortened_to};
pub use problem::{InvalidValue, Unavailable};
pub use program::{ProgramStall, ProgramStalls, ProgramThread};
pub use quantity::{
    format_bits_per_second, format_bytes, format_duration, format_ns, grouped, level_in_words,
    parse_bits_per_second, parse_duration_ns, parse_with_suffix,
};
pub use recorder::Recorder;
pub use round_trips::{MissingStamps, RoundTrips};
pub use run::{
    Design, Hold, HoldAttempt, PlatformRecord, RunHeader, RunRecord, SCHEMA_VERSION, Status,
    Throttling, json_schema, now_utc, utc_of_text, utc_of_unix_ns,
};
pub use sample::{Mark, Sample};
pub use side_table::{Column, SideTable, SideTableError, SideTables, Values};
pub use stalls::{CauseTotal, StallPart, Stalls, stall_parts};
pub use summary::{Order, Summary, TrialSummary};
pub use table_ref::{FileRef, TableRef, TableRefs, table};
pub use time_keeping::{TimeKeeper, TimeKeeping, TimeReference, TimeSource};
pub use trial::{
    Findings, Granularity, LoadEvidence, Measurement, Storage, Trial, TrialData, TrialDraft, View,
};
