//! All results on sleeps.

use serde::Serialize;

use super::cell::Cell;
use super::hogs::CpusUsed;
use super::judge::Claim;
use crate::paired::Comparison;

/// All results on sleeps.
#[derive(Clone, Debug, Serialize)]
pub struct Sleep {
    /// CPUs that the program may use.
    pub cpus: usize,
    /// Who kept the CPUs busy under each load.
    pub cpus_used: Vec<CpusUsed>,
    /// Every load, target and method.
    pub cells: Vec<Cell>,
    /// The limits at 1 ms under as many hogs as CPUs, with their A/A rows.
    pub limits: Vec<Comparison>,
    /// HighPerTimer's claim on CPU use, tested; not a limit of ours.
    pub claims: Vec<Claim>,
}
