//! What recorded runs mean: [`verdict`] judges one run by fitness profiles, says what hurts and
//! what would help; [`compare`] sets runs side by side, or a run beside published figures; [`factors`]
//! says which factors make a difference.
//!
//! Nothing is measured here. What is said is a pure function of the runs read.
#![forbid(unsafe_code)]

pub mod compare;
pub mod factors;
pub mod verdict;
