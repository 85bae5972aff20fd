//! What a load may use.

use std::path::PathBuf;
use std::time::Duration;

/// What a load may use.
#[derive(Clone, Debug)]
pub struct LoadConfig {
    /// This program, which is started again with [`WORKER_ARG`](crate::WORKER_ARG); its `main` must
    /// call [`worker_main`](crate::worker_main) then.
    pub executable: PathBuf,
    /// Existing directory for the files of loads, and for temporary ones of driver
    /// programs.
    pub directory: PathBuf,
    /// What this load may write to files over its whole life, in bytes. Driver
    /// programs are not held to it; their options that write are refused.
    pub write_budget_bytes: u64,
    /// How long the load will be on in all; writes are paced to last that long.
    pub planned_load_time: Duration,
    /// CPU to which the measurement is pinned, for `cpus=measured`, `cpus=others`
    /// and `irq=measured`; absent where it is not.
    pub measured_cpu: Option<u32>,
}
