//! The run: everything that `run.json` holds.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, SecondsFormat, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ClockReading, CpuUse, Environment, Factors, FileRef, Note, OwnProfile, Trial};

/// Version of the format written; readers take older ones and refuse newer ones.
pub const SCHEMA_VERSION: u64 = 2;

/// How far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Still being written, or its process died.
    Running,
    /// Ended before its plan did, by a signal, an error or the end of its process.
    Interrupted,
    /// Ended in order before its plan did, because its time was up.
    TimeLimit,
    /// Ended in order, without parts of its plan that failed; its notes say which and why.
    Incomplete,
    /// All of the plan was carried out.
    Complete,
}

/// How the trials were ordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Design {
    /// In words, for example `cells in random order within each block`.
    #[schemars(extend("privacy" = "harmless"))]
    pub order: String,
    /// Seed of the random order.
    pub seed: u64,
    /// Blocks planned.
    pub blocks: u32,
    /// Cells in each block.
    pub cells: u32,
}

/// What is known when a run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeader {
    /// Command that produced the run.
    #[schemars(extend("privacy" = "secret"))]
    pub command_line: Vec<String>,
    /// Name and version of the program, for example `tompion 0.1.0`.
    #[schemars(extend("privacy" = "harmless"))]
    pub tool: String,
    /// Start in UTC, RFC 3339.
    #[schemars(extend("privacy" = "time"))]
    pub started_at: String,
    /// How the trials were ordered.
    pub design: Design,
    /// The machine and its settings.
    pub environment: Environment,
    /// What protected the measurement, for example locked memory.
    #[schemars(extend("privacy" = "harmless"))]
    pub guards: Vec<String>,
    /// What it is judged by where that is not what comes with Tompion; else nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<OwnProfile>,
}

impl RunHeader {
    /// The start as the system's time; absent where it cannot be read.
    pub fn started(&self) -> Option<std::time::SystemTime> {
        let moment = DateTime::parse_from_rfc3339(&self.started_at).ok()?;
        Some(moment.into())
    }
}

impl RunRecord {
    /// What whoever wrote the run got wrong, though it can be read: times of day that are none, trials that bear
    /// the place of another. A sentence each.
    pub fn mistakes(&self) -> Vec<String> {
        let is_none =
            |at: Option<&str>| at.is_some_and(|at| DateTime::parse_from_rfc3339(at).is_err());
        let mut found = Vec::new();
        let mut wrong = |key: &str, what: &str| {
            found.push(format!(
                "{what} is not known: {key} is no time by RFC 3339, such as 2026-01-02T03:04:05Z."
            ));
        };
        if self.header.started().is_none() {
            wrong("`started_at`", "When the run began");
        }
        if is_none(self.finished_at.as_deref()) {
            wrong("`finished_at`", "When the run ended");
        }
        let mut trials = self.trials.iter();
        if let Some(trial) = trials.find(|t| is_none(t.started_at.as_deref())) {
            wrong(
                "its `started_at`",
                &format!("When trial {} began", trial.id),
            );
        }
        let mut levels = BTreeSet::new();
        let mut platforms = self.platforms.iter();
        if let Some(again) = platforms.find(|p| !levels.insert(p.level.as_str())) {
            found.push(format!(
                "Platform {} is listed more than once: what is told of it is of the first.",
                again.level
            ));
        }
        let mut taken = BTreeSet::new();
        let mut twice = Vec::new();
        for trial in &self.trials {
            if !taken.insert((&trial.factors, trial.block)) {
                twice.push(trial);
            }
        }
        if let Some(first) = twice.first() {
            found.push(format!(
                "Trial {} is of the cell and the block of one before it ({}, block {}){}: a report takes each for a \
                 block of its own, what is paired by block takes one of them.",
                first.id,
                first.factors,
                first.block,
                match twice.len() {
                    1 => String::new(),
                    n => format!(", and so are {} more", n - 1),
                }
            ));
        }
        found
    }
}

/// What a CPU quota did to this process's control group while the run went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Throttling {
    /// Periods of the quota that the run went through.
    pub periods: u64,
    /// Periods among them in which the group ran out of its quota and stood still.
    pub throttled_periods: u64,
    /// How long its threads stood still, added up, in nanoseconds.
    pub throttled_ns: u64,
}

/// The smallest period of timer events that a mechanism holds, found by search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    /// The mechanism, its form and its surroundings.
    #[schemars(extend("privacy" = "levels"))]
    pub factors: Factors,
    /// The smallest period held, in nanoseconds; absent where none was.
    pub smallest_ns: Option<u64>,
    /// The largest period below it that was not held, in nanoseconds; absent where
    /// even the smallest tried was.
    pub not_held_ns: Option<u64>,
    /// Largest share of missed periods in a run that holds, 0 to 1.
    pub most_missed: f64,
    /// Every period in the order in which it was tried.
    pub attempts: Vec<HoldAttempt>,
    /// Whether the search ended before it was done.
    pub ended_early: bool,
}

/// One period as it was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HoldAttempt {
    /// The period in nanoseconds.
    pub period_ns: u64,
    /// Whether each run held it.
    pub held: bool,
    /// Periods of each run.
    pub periods: Vec<u64>,
    /// Periods missed in each run.
    pub missed: Vec<u64>,
}

/// The content of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Version of this format.
    pub schema_version: u64,
    /// A random name of the run, a UUID, by which it is known wherever it is copied to;
    /// absent in runs of format version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("privacy" = "uuid"))]
    pub run_id: Option<String>,
    /// How far the run got.
    pub status: Status,
    /// End in UTC, RFC 3339; absent while running.
    #[schemars(extend("privacy" = "time"))]
    pub finished_at: Option<String>,
    /// Why the run ended early, and other remarks of the run itself.
    pub notes: Vec<Note>,
    /// What a CPU quota did during the run; absent without one, and in a run
    /// that was not ended in order.
    pub throttling: Option<Throttling>,
    /// Who else used the CPUs right before the first trial; absent where nobody looked, and in
    /// runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_use_before: Option<CpuUse>,
    /// What was known at the start.
    #[serde(flatten)]
    pub header: RunHeader,
    /// The Parquet files of a finished run; empty while each trial has its own, which its
    /// `tables` name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("privacy" = "exact"))]
    pub files: Vec<FileRef>,
    /// Trials in the order of execution.
    pub trials: Vec<Trial>,
    /// The clocks side by side: when the run began, after each block, and at its end;
    /// empty in runs of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("privacy" = "harmless"))]
    pub clock_readings: Vec<ClockReading>,
    /// The smallest periods that mechanisms of timer events hold, where they were
    /// searched for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<Hold>,
    /// The platforms of a lab, absent ones included; empty in other runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<PlatformRecord>,
}

/// A platform on which a lab measured, or would have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlatformRecord {
    /// Level of the factor `platform`.
    #[schemars(extend("privacy" = "platform"))]
    pub level: String,
    /// What it is: `host`, `oci`, `qemu`.
    #[schemars(extend("privacy" = "platform"))]
    pub kind: String,
    /// How it was set up, beside what is usual there.
    #[schemars(extend("privacy" = "text"))]
    pub settings: Vec<String>,
    /// Programs that ran it, with their versions.
    #[schemars(extend("privacy" = "harmless"))]
    pub versions: Vec<String>,
    /// The software that imitates its processor; absent on real ones. What was
    /// measured there is never evidence about hardware.
    #[schemars(extend("privacy" = "harmless"))]
    pub emulated: Option<String>,
    /// Why nothing could be measured there; absent where it could.
    #[schemars(extend("privacy" = "text"))]
    pub absent: Option<String>,
    /// The machine as its first instance saw it.
    pub environment: Option<Environment>,
}

/// The JSON Schema of `run.json`; checked in as `schema/run.schema.json`.
pub fn json_schema() -> String {
    let mut schema = schemars::schema_for!(RunRecord);
    // No part of the record: it is that of the record's text.
    if let Some(properties) = schema.get_mut("properties") {
        properties["crc32"] = serde_json::json!({
            "description": "CRC-32 of all bytes of the file before this key's line; the last key.",
            "type": "string",
        });
    }
    if let Some(required) = schema.get_mut("required").and_then(|r| r.as_array_mut()) {
        required.push("crc32".into());
    }
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is plain JSON");
    text.push('\n');
    text
}

/// A moment in UTC, RFC 3339, to the nanosecond, from the nanoseconds since 1970 that
/// the system clock showed; absent where no date can be made of it.
pub fn utc_of_unix_ns(ns: u64) -> Option<String> {
    const SECOND: u64 = 1_000_000_000;
    let moment = DateTime::from_timestamp((ns / SECOND) as i64, (ns % SECOND) as u32)?;
    Some(moment.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

/// A moment as RFC 3339 has it, written anew in UTC; `None` of any other text.
pub fn utc_of_text(text: &str) -> Option<String> {
    let moment = DateTime::parse_from_rfc3339(text).ok()?;
    let utc = moment.with_timezone(&Utc);
    // RFC 3339 has years of four digits.
    if !(0..=9999).contains(&utc.year()) {
        return None;
    }
    Some(utc.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

/// The present time in UTC, RFC 3339, to the second.
pub fn now_utc() -> String {
    // Rounded, not cut off.
    let moment = Utc::now() + TimeDelta::milliseconds(500);
    moment.to_rfc3339_opts(SecondsFormat::Secs, true)
}
