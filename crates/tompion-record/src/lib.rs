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
mod error;
mod store;

pub use error::{Error, Result};
pub use store::{Run, RunWriter, remove_leftovers, write_whole};
pub use tompion_model::*;
