//! A use with a limit of one's own, as a run keeps it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one use demands of its wake-up latency, by whoever measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnProfile {
    /// Short name, by which it is required.
    #[schemars(extend("privacy" = "use"))]
    pub name: String,
    /// What it stands for.
    #[schemars(extend("privacy" = "use"))]
    pub title: String,
    /// The quantile that must keep the limit, 0 to 1.
    pub quantile: f64,
    /// Time between two events, in nanoseconds.
    pub period_ns: f64,
    /// The limit in nanoseconds.
    pub limit_ns: f64,
}
