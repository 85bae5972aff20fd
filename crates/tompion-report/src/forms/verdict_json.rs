//! `verdict-json`: the answer for machines, small enough to be kept with each deployment.

use schemars::JsonSchema;
use serde::Serialize;
use tompion_assess::parts::{Seen, parts};
use tompion_assess::verdict::{Outcome, lateness};
use tompion_model::Status;

use super::{Form, Make};
use crate::answer;
use crate::data::ReportData;
use crate::figures::plain;

pub(super) static ENTRY: Form = Form {
    name: "verdict-json",
    about: "The answer alone, machine-readable, in less than 10 kB",
    make: Make::Text(|data| {
        let text = serde_json::to_string_pretty(&VerdictJson::of(data));
        text.expect("plain data") + "\n"
    }),
};

/// Version of the form; raised when a reader of the old form would misread the new one.
const VERSION: u64 = 1;

/// The most uses that are listed; those of a lab with many platforms are in `json`.
const MOST_USES: usize = 40;

/// The JSON Schema of the form; checked in as `schema/verdict.schema.json`.
pub fn verdict_schema() -> String {
    let schema = schemars::schema_for!(VerdictJson);
    serde_json::to_string_pretty(&schema).expect("a schema is plain data") + "\n"
}

/// What a run says of its machine.
#[derive(Debug, Serialize, JsonSchema)]
struct VerdictJson {
    /// `tompion-verdict`.
    kind: &'static str,
    /// Version of this form.
    schema_version: u64,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    /// What measured.
    tool: String,
    /// When it began, in UTC.
    started_at: String,
    /// Whether everything planned was measured.
    complete: bool,
    /// `YES`, `PARTLY`, `NO` or `NOT KNOWN`.
    trusted: &'static str,
    /// Why, in a sentence.
    why: String,
    /// Whose fault it is, in a sentence, with the step of the screen that mends it; empty where nothing tells.
    cause: String,
    /// Clock, host, kernel, and what else ran; empty for a run of several platforms.
    parts: Vec<PartJson>,
    /// Each use.
    uses: Vec<UseJson>,
    /// How many more uses there are.
    uses_left_out: usize,
    /// How late sleeps are; absent where none has a period.
    lateness: Option<LatenessJson>,
}

/// One part of the machine.
#[derive(Debug, Serialize, JsonSchema)]
struct PartJson {
    /// `Clock`, `Host`, `Kernel` or `Here`.
    name: &'static str,
    /// `ok`, `warn`, `fail` or `not measured`.
    state: String,
    /// Why.
    sentence: String,
}

/// One use.
#[derive(Debug, Serialize, JsonSchema)]
struct UseJson {
    /// Its name for `--require`.
    name: String,
    /// Where, of several platforms or placements.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// The worst outcome over the loads.
    outcome: &'static str,
    /// The same without remedies.
    as_it_is: &'static str,
    /// Under each load.
    by_load: Vec<UnderJson>,
}

/// One use under one load.
#[derive(Debug, Serialize, JsonSchema)]
struct UnderJson {
    /// The load.
    load: String,
    /// `pass`, `with-remedy`, `near-limit`, `inconclusive`, `not-measured` or `fail`.
    outcome: &'static str,
    /// The remedy that passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// The quantile that is judged, 0 to 1.
    quantile: f64,
    /// Its value as it is, in nanoseconds.
    late_ns: f64,
    /// What it may be, in nanoseconds.
    limit_ns: f64,
    /// Samples as it is.
    samples: u64,
    /// Of a use that passes, as it is or with its remedy: for how long that was measured, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    watched_ns: Option<u64>,
    /// By how many samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    watched_samples: Option<u64>,
}

/// How late sleeps are at one period.
#[derive(Debug, Serialize, JsonSchema)]
struct LatenessJson {
    /// The period, in nanoseconds.
    period_ns: u64,
    /// Which quantile, 0 to 1.
    quantile: f64,
    /// The loads.
    loads: Vec<String>,
    /// The sleep as it is, then remedies.
    rows: Vec<LateJson>,
}

/// One way of sleeping.
#[derive(Debug, Serialize, JsonSchema)]
struct LateJson {
    /// `as it is`, or the remedy.
    name: String,
    /// Under each load, in nanoseconds; null where that is not known.
    late_ns: Vec<Option<f64>>,
    /// Whether it is shown to be better by a fifth and more.
    helps: Vec<bool>,
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::WithRemedy => "with-remedy",
        Outcome::NearLimit => "near-limit",
        Outcome::Inconclusive => "inconclusive",
        Outcome::NotMeasured => "not-measured",
        Outcome::Fail => "fail",
    }
}

impl VerdictJson {
    fn of(data: &ReportData) -> Self {
        let record = data.record();
        let header = &record.header;
        let (trusted, why) = answer::verdict(data);
        let seen = Seen::of_run(record);
        let parts = seen.iter().flat_map(parts).map(|part| PartJson {
            name: part.name,
            state: part.state.word().to_lowercase(),
            sentence: plain(&part.sentence),
        });
        let all = &data.assessment().profiles;
        let uses = all.iter().take(MOST_USES).map(|p| UseJson {
            name: p.name.clone(),
            place: Some(p.place().trim().to_owned()).filter(|place| !place.is_empty()),
            outcome: word(p.outcome),
            as_it_is: word(p.as_it_is),
            by_load: p
                .by_load
                .iter()
                .map(|l| UnderJson {
                    load: l.load.clone(),
                    outcome: word(l.outcome),
                    remedy: l
                        .remedy
                        .as_ref()
                        .filter(|_| l.outcome == Outcome::WithRemedy)
                        .map(|r| r.name.clone()),
                    quantile: l.quantile,
                    late_ns: l.estimate_ns,
                    limit_ns: l.limit_ns,
                    samples: l.samples,
                    watched_ns: l.passed_over().map(|(ns, _)| ns),
                    watched_samples: l.passed_over().map(|(_, samples)| samples),
                })
                .collect(),
        });
        let lateness = lateness(data.cells()).filter(|_| record.platforms.is_empty());
        Self {
            kind: "tompion-verdict",
            schema_version: VERSION,
            run_id: record.run_id.clone(),
            tool: header.tool.clone(),
            started_at: header.started_at.clone(),
            complete: record.status == Status::Complete,
            trusted,
            why,
            cause: answer::cause(data),
            parts: parts.collect(),
            uses: uses.collect(),
            uses_left_out: all.len().saturating_sub(MOST_USES),
            lateness: lateness.map(|found| LatenessJson {
                period_ns: found.period_ns,
                quantile: found.quantile,
                loads: found.loads,
                rows: found
                    .rows
                    .into_iter()
                    .map(|row| LateJson {
                        name: row.name,
                        late_ns: row.by_load.iter().map(|u| u.as_ref()?.late_ns).collect(),
                        helps: row
                            .by_load
                            .iter()
                            .map(|u| u.is_some_and(|u| u.helps))
                            .collect(),
                    })
                    .collect(),
            }),
        }
    }
}
