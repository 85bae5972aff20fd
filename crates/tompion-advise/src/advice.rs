//! What trying came to.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Quantity, Reach};

/// Raised when a reader of the old form could not read the new one.
pub const SCHEMA_VERSION: u32 = 2;

/// What one run of `tompion advise` found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    /// What this is: `tompion-advice`.
    pub format: String,
    /// Version of this form.
    pub schema_version: u32,
    /// The program that measured.
    pub tool: String,
    /// When it began, UTC, RFC 3339.
    pub started_at: String,
    /// How long it measured, in seconds.
    pub seconds: f64,
    /// Whether a signal ended it early; what was measured is kept.
    pub interrupted: bool,
    /// Whether nothing was to be tried.
    pub dry_run: bool,
    /// What ran beside it; `idle` for nothing.
    pub load: String,
    /// Distance of wake-ups, in nanoseconds.
    pub target_ns: u64,
    /// Length of one trial, in nanoseconds.
    pub trial_ns: u64,
    /// The quantile that remedies are judged and ranked by: that of the use asked for, or of most uses.
    pub quantile: String,
    /// The use asked for; absent where none was.
    #[serde(rename = "use")]
    pub for_use: Option<String>,
    /// Seed of the random order.
    pub seed: u64,
    /// Confidence level of the intervals, and of the whole family of tests.
    pub level: f64,
    /// Every remedy: what helps first, the largest gain first, then what was tried in
    /// vain, then what was not tried.
    pub knobs: Vec<KnobAdvice>,
    /// Values that someone else changed meanwhile and that were left alone.
    pub left_alone: Vec<String>,
}

/// How one remedy fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It lowered the quantile of the uses, surely: the interval of the change leaves out zero, and is not
    /// within 10 %.
    Helps,
    /// It lowered that and raised the median, surely and notably.
    Mixed,
    /// The interval of the change at the quantile of the uses lies within 10 % on both sides.
    NoEffect,
    /// It raised the quantile of the uses, surely.
    Harms,
    /// Inconclusive: there were too few pairs to tell, or the interval rules out neither an effect nor none, or
    /// an effect is likely and not sure among all that was tested.
    NotDecidable,
    /// It can be tried, and nothing is tried in a dry run.
    WouldBeTried,
    /// It is missing here, and cannot be tried for a moment, as what has to be installed.
    Advised,
    /// It touches the system, and nobody said that it may.
    NotTried,
    /// The system did not allow it.
    Refused,
    /// It is so already.
    Already,
    /// This machine lacks it.
    Absent,
}

/// One remedy and how it fared.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KnobAdvice {
    /// Its name.
    pub name: String,
    /// What it is.
    pub title: String,
    /// Whom it touches.
    pub reach: Reach,
    /// What was measured.
    pub quantity: Quantity,
    /// How it fared.
    pub status: Status,
    /// Why, where it was not measured, or what would decide it.
    pub reason: Option<String>,
    /// What it changes.
    pub from: Option<String>,
    /// Into what.
    pub to: Option<String>,
    /// Pairs of trials behind the effects.
    pub pairs: usize,
    /// Pairs that it would take to decide.
    pub pairs_needed: Option<usize>,
    /// Effects on the median, and on the quantile of the uses.
    pub effects: Vec<Effect>,
    /// CPU time of one sleep or read without it, in nanoseconds.
    pub cpu_off_ns: Option<f64>,
    /// The same with it.
    pub cpu_on_ns: Option<f64>,
    /// Files of the kernel that it changes.
    pub files: Vec<PathBuf>,
    /// Those of them that did not take their value, and why: it was tried without them.
    pub left_out: Vec<String>,
    /// The command, configuration or code that applies it.
    pub apply: Vec<String>,
    /// What it costs, and whom.
    pub price: String,
    /// Who recommends it.
    pub source: String,
}

/// The effect on one quantile, in nanoseconds; lower is better.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// `median`, `p99` or `p99.9`.
    pub quantile: String,
    /// Whether the remedy is judged and ranked by it.
    pub judged: bool,
    /// Median over the trials without the remedy.
    pub off_ns: f64,
    /// Median over the trials with it.
    pub on_ns: f64,
    /// Hodges-Lehmann estimate of the change, pair by pair: of the differences between
    /// medians; of the ratios between other quantiles, applied to `off_ns`.
    pub change_ns: f64,
    /// Lower end of its interval.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
    /// The change as a share of what it was without the remedy: -0.2 is a fifth less.
    pub change_share: f64,
    /// Lower end of its interval.
    pub low_share: f64,
    /// Upper end.
    pub high_share: f64,
    /// p-value of the paired permutation test.
    pub p: f64,
    /// The same adjusted for all tests of the run (Holm).
    pub p_adjusted: f64,
    /// Whether the adjusted p-value reaches the level.
    pub sure: bool,
    /// Whether it is sure, and a sixth less or a fifth more at least.
    pub notable: bool,
}

/// The JSON Schema of `tompion advise --json`; checked in as
/// `schema/advice.schema.json`.
pub fn json_schema() -> String {
    let schema = schemars::schema_for!(Advice);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is plain JSON");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_checked_in_is_the_one_of_the_types() {
        let checked_in = include_str!("../../../schema/advice.schema.json");
        assert!(
            super::json_schema() == checked_in,
            "the types have changed: run `cargo run -p tompion-advise --example advice_schema > \
             schema/advice.schema.json`"
        );
    }
}
