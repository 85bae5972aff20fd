//! The papers' figures as data, and their counterparts in a run.

mod agreement;
mod counterparts;
mod splits;
mod tables;
