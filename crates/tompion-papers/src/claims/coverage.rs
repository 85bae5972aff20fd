//! Which sections of a paper make which claims.

use crate::claims::{Claim, Paper};

/// One section with what it claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Covered<'a> {
    /// The section's name.
    pub section: &'a str,
    /// Its claims in the register's order; empty where it makes none.
    pub claims: Vec<&'a Claim>,
}

/// Every section of a paper, in the paper's order.
pub fn coverage(paper: &Paper) -> Vec<Covered<'_>> {
    let of_section = |section: &String| {
        let made_here = |c: &&Claim| c.places.contains(section);
        paper.claims.iter().filter(made_here).collect()
    };
    paper
        .sections
        .iter()
        .map(|section| Covered {
            section,
            claims: of_section(section),
        })
        .collect()
}
