//! The machine and its settings, as a run found them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What this machine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Host name.
    pub hostname: String,
}
