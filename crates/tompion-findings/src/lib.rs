//! What the published figures say about the claims, paper by paper: the evidence in
//! `claims/evidence` that rests on them.
#![forbid(unsafe_code)]

mod adamczyk;
mod book;
mod grid;
mod kirova;
mod korniichuk;
mod perneel;
mod whiteaker;

use tompion_papers::claims::Evidence;

/// All findings, one evidence file a paper.
pub fn all() -> Vec<Evidence> {
    vec![
        whiteaker::evidence(),
        perneel::evidence(),
        adamczyk::evidence(),
        korniichuk::evidence(),
        kirova::evidence(),
    ]
}
