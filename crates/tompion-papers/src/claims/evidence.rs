//! What decided claims: the files in `claims/evidence`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claims::Status;

/// Version of the format written; readers refuse others.
pub const SCHEMA_VERSION: u64 = 1;

/// One execution, and what it found about claims of one paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Version of this format.
    pub schema_version: u64,
    /// The paper's name.
    pub paper: String,
    /// Version of Tompion that found it.
    pub tompion_version: String,
    /// The command that finds it again.
    pub command: String,
    /// What it was found in.
    pub source: Source,
    /// What was found, one entry a claim.
    pub findings: Vec<Finding>,
}

/// What findings were found in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Source {
    /// Published figures: any machine computes the same from them, and a test does.
    Published {
        /// Names of the tables in Tompion's published data, and other places of the
        /// papers whose figures enter.
        tables: Vec<String>,
    },
    /// Runs on a machine.
    Runs {
        /// The machine.
        machine: Machine,
        /// Whether the machine was emulated, so that its speed says nothing of hardware.
        emulated: bool,
        /// The runs.
        #[schemars(length(min = 1))]
        runs: Vec<RecordedRun>,
    },
}

/// What a machine was, in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Model of the CPU, and how many.
    pub cpu: String,
    /// Hypervisor, container or `none`.
    pub virtualization: String,
    /// Version of the kernel.
    pub kernel: String,
    /// The kernel's clocksource.
    pub clocksource: String,
}

/// One recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedRun {
    /// When it began, in UTC, RFC 3339.
    pub started_at: String,
    /// SHA-256 of its `run.json`, 64 hexadecimal digits.
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub run_json_sha256: String,
}

/// What was found about one claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The claim's name.
    pub claim: String,
    /// What came out.
    pub outcome: Outcome,
    /// Why, in a sentence with the figures that count.
    pub because: String,
    /// The figures, the telling one first.
    #[schemars(length(min = 1))]
    pub effects: Vec<Effect>,
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// For the claim.
    Supported,
    /// Against it.
    Contradicted,
    /// Neither: what there is cannot decide it.
    NotDecidable,
}

impl Outcome {
    /// The status of a claim with this outcome.
    pub fn status(self) -> Status {
        match self {
            Self::Supported => Status::Supported,
            Self::Contradicted => Status::Contradicted,
            Self::NotDecidable => Status::NotDecidableHere,
        }
    }
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// What it is.
    pub what: String,
    /// Its size.
    pub value: f64,
    /// Unit of the size; `1` for ratios, counts and test statistics.
    pub unit: String,
    /// Its interval, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Probability of a figure as large by chance alone, where a test was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub p: Option<f64>,
    /// The test or method, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
}

/// An interval of confidence, in the effect's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence, 0 to 1.
    pub confidence: f64,
}

/// A number with six significant digits, as evidence is written: the same on machines
/// whose mathematics differ in the last bit.
pub fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

/// The JSON Schema of evidence; checked in as `schema/claim-evidence.schema.json`.
pub fn json_schema() -> String {
    let schema = schemars::schema_for!(Evidence);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is plain JSON");
    text.push('\n');
    text
}
