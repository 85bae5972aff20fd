//! Everything measured, as text and as JSON.

use std::fmt;

use serde::Serialize;

use crate::head::Head;
use crate::paired::{Comparison, Verdict};
use crate::read::{self, Read};
use crate::sleep::{self, Sleep};

/// Raised when a reader of the old form would misread the new one.
const SCHEMA_VERSION: u32 = 1;

/// The result of a run. Units are in the names; absent values are null.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    kind: &'static str,
    schema_version: u32,
    head: Head,
    /// What tompion-time's clock says of itself after the run.
    clock_at_end: String,
    read: Option<Read>,
    sleep: Option<Sleep>,
}

impl Report {
    /// Gathers the parts.
    pub fn new(head: Head, read: Option<Read>, sleep: Option<Sleep>) -> Self {
        Self {
            kind: "tompion-time-bench",
            schema_version: SCHEMA_VERSION,
            head,
            clock_at_end: tompion_time::Clock::report().to_string(),
            read,
            sleep,
        }
    }

    /// The verdicts on all limits.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> + '_ {
        let read = self.read.iter().flat_map(|read| &read.sections);
        let sleep = self.sleep.iter().flat_map(|sleep| &sleep.limits);
        read.flat_map(|section| &section.comparisons)
            .chain(sleep)
            .filter_map(|c: &Comparison| c.verdict)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(read) = &self.read {
            for section in &read.sections {
                f.write_str(&read::table(section))?;
            }
            f.write_str(read::LEGEND)?;
        }
        if let Some(sleep) = &self.sleep {
            f.write_str(&sleep::tables(sleep))?;
        }
        if let Some(ms) = self.head.stolen_ms {
            writeln!(
                f,
                "stolen by the hypervisor during the run: {ms} ms of CPU time"
            )?;
        }
        let count = |verdict| self.verdicts().filter(|v| *v == verdict).count();
        writeln!(
            f,
            "limits: {} met, {} inconclusive, {} NOT met",
            count(Verdict::Met),
            count(Verdict::Inconclusive),
            count(Verdict::NotMet)
        )
    }
}
