//! From a recorded run to what people read: a terminal summary, one HTML file
//! that needs no network, and a summary for machines.
//!
//! [`ReportData::gather`] reads the samples once and keeps only what is drawn;
//! [`terminal`], [`html`] and [`json`] are pure functions of it. What the run
//! means comes from `tompion-verdict`; nothing is judged here.
#![forbid(unsafe_code)]

mod among;
mod answer;
mod blocks;
mod causes;
mod ccdf;
mod changes;
mod clock_right;
mod data;
mod dependence;
mod disturbed;
mod documents;
mod environment;
mod evidence;
mod factors;
mod figures;
mod forms;
mod grid;
mod holds;
mod interval_log;
mod limitations;
mod loads;
mod over_blocks;
mod packet_budget;
mod packet_delay;
mod platforms;
mod plot;
mod precision;
mod redact;
mod remarks;
mod screen;
mod sections;
mod series;
mod side_by_side;
mod stalls;
mod summary;
mod tails;
mod time_lost;
mod timer_events;
mod verdicts;

pub use answer::{LINES, answer};
pub use data::ReportData;
pub use documents::*;
pub use environment::environment_text;
pub use forms::{
    FORMS, Form, JSON_VERSION, Make, PlotError, PlotFile, Plots, csv, html, json, markdown,
    verdict_schema,
};
pub use interval_log::{IntervalLogError, interval_log};
pub use redact::{Vocabulary, redacted};
pub use screen::terminal;

/// Name of the page inside a run's directory.
pub const REPORT_FILE: &str = "report.html";
