//! The register of claims: what the five papers say in abstract, results, discussion
//! and conclusion, in our words, one falsifiable sentence or number an entry; what would
//! decide each, and how it stands. No I/O, no clock.
//!
//! The entries are data: `claims/PAPER.toml`, one file a paper, and `claims/evidence/`, one
//! JSON file for each execution that decided some of them ([`Evidence`]). Both are compiled
//! in; [`register`] gives them, checked. [`Register::parse`] says everything that is
//! wrong with a register, one line a mistake.
//!
//! A claim that rests on published figures is *supported* when the paper's own numbers
//! say so; that is consistency, no confirmation. *Reproduced* is said only of what a
//! measurement supports ([`Claim::standing`]).

mod claim;
mod coverage;
mod decide;
mod evidence;
mod mistake;
mod paper;
mod reading;
mod register;
mod validate;

pub use claim::{Basis, Claim, Decides, Kind, Probe, Standing, Status};
pub use coverage::{Covered, coverage};
pub use decide::{decidable, decide, plan, source};
pub use evidence::{
    Effect, Evidence, Finding, Interval, Machine, Outcome, RecordedRun, SCHEMA_VERSION, Source,
    json_schema, rounded,
};
pub use mistake::Mistake;
pub use paper::Paper;
pub use reading::{Text, register};
pub use register::Register;
