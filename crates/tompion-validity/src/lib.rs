//! How often what Tompion prints is right: intervals, verdicts, comparisons and change points over series
//! whose truth is known, drawn again and again.
//!
//! `make bench-validity` makes the tables of `docs/validity.md`; a small part of them is a test.
#![forbid(unsafe_code)]

pub mod change_tables;
pub mod comparison_tables;
pub mod comparisons;
pub mod decision_tables;
pub mod decisions;
pub mod due;
pub mod interval_tables;
pub mod intervals;
#[path = "../../tompion-stats/src/test_noise.rs"]
#[allow(dead_code)]
mod noise;
pub mod percentile_bootstrap;
pub mod table;
pub mod theory;
pub mod truth;
pub mod verdicts;
#[path = "../../tompion-stats/src/test_wander.rs"]
mod wander;

// What both of these files are part of calls it so.
use noise as test_noise;
