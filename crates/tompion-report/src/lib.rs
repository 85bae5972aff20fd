//! From a recorded run to what people read: a terminal summary, one HTML file
//! that needs no network, and a summary for machines.
//!
//! [`ReportData::gather`] reads the samples once and keeps only what is drawn;
//! [`terminal`], [`html`] and [`json`] are pure functions of it. What the run
//! means comes from `tompion-verdict`; nothing is judged here.
#![forbid(unsafe_code)]

mod causes;
mod ccdf;
mod claims;
mod clock_right;
mod compare;
mod data;
mod dependence;
mod disturbed;
mod environment;
mod evidence;
mod export;
mod figures;
mod forms;
mod holds;
mod html;
mod interval_log;
mod json;
mod ladder;
mod limitations;
mod loads;
mod opening;
mod packet_budget;
mod platforms;
mod plot;
mod precision;
mod program;
mod redact;
mod sections;
mod series;
mod side_by_side;
mod stalls;
mod terminal;
mod time_lost;
mod timer_events;
mod verdicts;

pub use claims::{
    CLAIMS_JSON_VERSION, claim_json, claim_text, claims_json, claims_text, findings_text,
};
pub use compare::CompareView;
pub use data::ReportData;
pub use environment::environment_text;
pub use export::{csv, markdown};
pub use forms::{FORMS, Form, Make, PlotError, PlotFile, Plots};
pub use html::html;
pub use interval_log::{IntervalLogError, interval_log};
pub use json::{
    JSON_VERSION, compare_json, json, platforms_json, published_json, published_list_json,
};
pub use program::program_text;
pub use redact::redact;
pub use terminal::{compare_text, platforms_text, published_list, published_table, terminal};

/// Name of the page inside a run's directory.
pub const REPORT_FILE: &str = "report.html";
