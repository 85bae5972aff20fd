//! What a comparison of runs says, in words that terminal and JSON share.

pub(crate) mod words;

use tompion_compare::{Beside, Comparison, Difference, Judged, Mismatch};

/// A comparison with everything that is shown of it.
#[derive(Debug)]
pub struct CompareView {
    /// What befell the runs, each with the run's name.
    pub remarks: Vec<(String, String)>,
    /// What differs in the environments.
    pub environment: Vec<Difference>,
    /// Parameters of probes that differ, where comparing was asked for all the same.
    pub mismatches: Vec<Mismatch>,
    /// The factor whose levels within one run are compared; `None` for runs.
    pub by: Option<String>,
    /// The sides cell by cell; `None` where one run stands beside published figures
    /// alone.
    pub comparison: Option<Comparison>,
    /// Gates and what they say.
    pub gates: Vec<Judged>,
    /// Runs beside published figures.
    pub beside: Vec<Beside>,
}
