//! What recorded runs mean: [`verdict`] judges one run by fitness profiles, says what hurts and
//! what would help; [`compare`] sets runs side by side, or a run beside published figures; [`factors`]
//! says which factors make a difference; [`wall_clock`] says whether the wall clock is in step, and what would
//! bring it there; [`parts`] says who takes the time: clock, host, kernel, or what else runs here; [`blame`] says whose
//! fault it is that uses fail.
//!
//! Nothing is measured here. What is said is a pure function of the runs read.
#![forbid(unsafe_code)]

pub mod blame;
pub mod compare;
pub mod factors;
pub mod parts;
pub mod verdict;
pub mod wall_clock;
