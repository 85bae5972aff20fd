//! What a load's process and its parent agree on.

/// First argument of the executable that makes it a worker.
pub const WORKER_ARG: &str = "__load";

/// In place of the measured CPU's number.
pub(crate) const NO_CPU: &str = "-";

/// Between the operation and the notes of a worker that is ready.
pub(crate) const SEPARATOR: &str = "\t";
