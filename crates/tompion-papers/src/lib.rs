//! The literature that Tompion is compared with: [`published`], the papers' figures as data,
//! and [`claims`], what the papers say and how it stands. No I/O, no clock.
#![forbid(unsafe_code)]

pub mod claims;
pub mod published;
