//! The figures of the sources.

use serde::Serialize;

use super::sources::{Role, Source};
use crate::paired::Comparison;

/// The results of sources that give the same kind of thing.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Heading.
    pub title: &'static str,
    /// Every source of the section.
    pub sources: Vec<Measured>,
    /// What the limits say.
    pub comparisons: Vec<Comparison>,
}

/// One source's figures.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// What is called.
    pub name: &'static str,
    /// What the caller gets.
    pub gives: &'static str,
    /// Its part in the comparison.
    pub role: Role,
    /// Nanoseconds a read in a row, the median batch of each block.
    pub block_ns: Vec<f64>,
    /// The same where each read has its result before the next begins, the fence
    /// between them included.
    pub block_completed_ns: Vec<f64>,
    /// CPU time a read in nanoseconds over an unbroken run of reads, for each
    /// block: renewals are in it, time that others had the CPU is not.
    pub block_sustained_ns: Vec<f64>,
}

impl Measured {
    /// A place for the figures of a source.
    pub fn of(source: &Source) -> Self {
        Self {
            name: source.name,
            gives: source.gives,
            role: source.role,
            block_ns: Vec::new(),
            block_completed_ns: Vec::new(),
            block_sustained_ns: Vec::new(),
        }
    }
}
