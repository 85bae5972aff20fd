//! What a run directory keeps, refuses, and survives.

mod golden;
mod kills;
mod run_directory;
mod swapped;
mod sweep;
