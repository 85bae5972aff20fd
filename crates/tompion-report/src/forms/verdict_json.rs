//! `verdict-json`: the answer for machines, small enough to be kept with each deployment.

use schemars::JsonSchema;
use serde::Serialize;
use tompion_assess::parts::{Seen, parts};
use tompion_assess::verdict::{LateUnder, Lateness, LatenessRow, LoadVerdict, Outcome, lateness};
use tompion_model::{Status, shortened_to};

use super::{Form, Make};
use crate::answer::Said;
use crate::data::ReportData;
use crate::figures::plain;

pub(super) static ENTRY: Form = Form {
    name: "verdict-json",
    about: "The answer alone, machine-readable, in less than 10 kB",
    make: Make::Text(|data| VerdictJson::of(data).text()),
};

/// Version of the form; raised when a reader of the old form would misread the new one.
const VERSION: u64 = 1;

/// The most uses that are listed; those of a lab with many platforms are in `json`.
const MOST_USES: usize = 40;

/// The same of loads under each.
const MOST_LOADS: usize = 16;

/// The same of ways to sleep.
const MOST_ROWS: usize = 16;

/// The same of what to do.
const MOST_STEPS: usize = 6;

/// Bytes that it has less than, whatever is called how: so much the help promises.
const MOST_BYTES: usize = 10_000;

/// Characters of a name, and of a sentence, at most: names of loads and platforms may have a thousand.
const NAME: usize = 64;
const SENTENCE: usize = 400;

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
    /// What is at fault, in a sentence, with the step of the screen that mends it; empty where nothing tells.
    cause: String,
    /// Clock, host, kernel, and what else ran; empty for a run of several platforms.
    parts: Vec<PartJson>,
    /// What to do: the first is step 1.
    steps: Vec<StepJson>,
    /// Each use.
    uses: Vec<UseJson>,
    /// How many more uses there are.
    uses_left_out: usize,
    /// How many loads more there are: of each use its worst are listed.
    loads_left_out: usize,
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

/// Something to do.
#[derive(Debug, Serialize, JsonSchema)]
struct StepJson {
    /// What, with commands where there are some.
    what: String,
    /// What it was shown to do, and what it costs.
    effect: String,
}

/// One use.
#[derive(Debug, Serialize, JsonSchema)]
struct UseJson {
    /// Its name for `--require`.
    name: String,
    /// Where, of several platforms or placements.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// What it requires: which quantile of what, and its limit.
    requires: String,
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
    /// The quantile's value with that remedy, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy_late_ns: Option<f64>,
    /// The quantile that is judged, 0 to 1.
    quantile: f64,
    /// Its value as it is, in nanoseconds; null where the samples do not support it.
    late_ns: Option<f64>,
    /// Where blocks disagree, the least and the largest of theirs, in nanoseconds: the value stands for none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    range_ns: Option<[f64; 2]>,
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
    /// Where blocks of any disagree: under each load the least and the largest of theirs, in nanoseconds; null where they
    /// agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    range_ns: Option<Vec<Option<[f64; 2]>>>,
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

fn name(text: &str) -> String {
    shortened_to(text, NAME)
}

fn sentence(text: &str) -> String {
    shortened_to(text, SENTENCE)
}

/// What is at fault, without the word for it, which the key is.
fn cause(told: &str) -> &str {
    told.strip_prefix("Cause: ").unwrap_or(told)
}

impl VerdictJson {
    fn of(data: &ReportData) -> Self {
        let record = data.record();
        let header = &record.header;
        let said = Said::of(data);
        let seen = Seen::of_run(record);
        let parts = seen.iter().flat_map(parts).map(|part| PartJson {
            name: part.name,
            state: part.state.word().to_lowercase(),
            sentence: shortened_to(&plain(&part.sentence), 2 * NAME),
        });
        let all = &data.assessment().profiles;
        let steps = said.steps.into_iter().take(MOST_STEPS).map(|s| StepJson {
            what: shortened_to(&plain(&s.what), 4 * NAME),
            effect: shortened_to(&plain(&s.effect), 4 * NAME),
        });
        let uses = all.iter().take(MOST_USES).map(|p| UseJson {
            name: name(&p.name),
            place: Some(name(p.place().trim())).filter(|place| !place.is_empty()),
            requires: shortened_to(&plain(&p.requirement), 2 * NAME),
            outcome: word(p.outcome),
            as_it_is: word(p.as_it_is),
            by_load: worst(&p.by_load, MOST_LOADS)
                .into_iter()
                .map(UnderJson::of)
                .collect(),
        });
        let lateness = lateness(data.cells()).filter(|_| record.platforms.is_empty());
        let of_lateness = lateness.as_ref().map(|found| found.loads.len());
        let loads = all.iter().map(|p| p.by_load.len()).chain(of_lateness).max();
        Self {
            kind: "tompion-verdict",
            schema_version: VERSION,
            run_id: record.run_id.as_deref().map(name),
            tool: name(&header.tool),
            started_at: name(&header.started_at),
            complete: record.status == Status::Complete,
            trusted: said.verdict,
            why: sentence(&said.why),
            cause: sentence(cause(&said.cause)),
            parts: parts.collect(),
            steps: steps.collect(),
            uses: uses.collect(),
            uses_left_out: all.len().saturating_sub(MOST_USES),
            loads_left_out: loads.unwrap_or(0).saturating_sub(MOST_LOADS),
            lateness: lateness.map(LatenessJson::of),
        }
    }

    /// As much as there is room for: without line breaks where it needs them, then with fewer loads,
    /// whose worst is told by the use, then with fewer uses.
    fn text(mut self) -> String {
        let pretty = serde_json::to_string_pretty(&self).expect("plain data");
        if pretty.len() + 1 < MOST_BYTES {
            return pretty + "\n";
        }
        loop {
            let text = serde_json::to_string(&self).expect("plain data");
            let fewer =
                text.len() + 1 >= MOST_BYTES && (self.without_a_load() || self.without_a_use());
            if !fewer {
                return text + "\n";
            }
        }
    }

    /// The same with one load less under the uses with the most; whether there was one.
    fn without_a_load(&mut self) -> bool {
        let of_uses = self.uses.iter().map(|u| u.by_load.len());
        let of_lateness = self.lateness.iter().map(|l| l.loads.len());
        let most = of_uses.chain(of_lateness).max().unwrap_or(0);
        if most <= 1 {
            return false;
        }
        for of_use in &mut self.uses {
            of_use.keep(most - 1);
        }
        if let Some(lateness) = &mut self.lateness {
            lateness.keep(most - 1);
        }
        self.loads_left_out += 1;
        true
    }

    /// The same with one use less; whether there was one.
    fn without_a_use(&mut self) -> bool {
        let is_one = self.uses.pop().is_some();
        self.uses_left_out += usize::from(is_one);
        is_one
    }
}

/// The worst of some verdicts, in their order.
fn worst(all: &[LoadVerdict], most: usize) -> Vec<&LoadVerdict> {
    let mut by_outcome: Vec<usize> = (0..all.len()).collect();
    by_outcome.sort_by_key(|i| std::cmp::Reverse(all[*i].outcome));
    by_outcome.truncate(most);
    by_outcome.sort_unstable();
    by_outcome.into_iter().map(|i| &all[i]).collect()
}

impl UseJson {
    /// The same with the worst of so many loads.
    fn keep(&mut self, most: usize) {
        while self.by_load.len() > most {
            let least =
                |(i, under): &(usize, &UnderJson)| (rank(under.outcome), std::cmp::Reverse(*i));
            let least = self.by_load.iter().enumerate().min_by_key(least);
            let at = least.map_or(0, |(i, _)| i);
            self.by_load.remove(at);
        }
    }
}

/// The place of an outcome by its word, the better first.
fn rank(outcome: &str) -> Option<usize> {
    Outcome::ALL.iter().position(|o| word(*o) == outcome)
}

impl UnderJson {
    fn of(l: &LoadVerdict) -> Self {
        let remedy = l.remedy.as_ref();
        let remedy = remedy.filter(|_| l.outcome == Outcome::WithRemedy);
        Self {
            load: name(&l.load),
            outcome: word(l.outcome),
            remedy: remedy.map(|r| r.name.clone()),
            remedy_late_ns: remedy.map(|r| r.estimate_ns),
            quantile: l.quantile,
            late_ns: l.supported_estimate_ns(),
            range_ns: l
                .supported_estimate_ns()
                .and(l.blocks_low_ns.zip(l.blocks_high_ns))
                .map(<[f64; 2]>::from),
            limit_ns: l.limit_ns,
            samples: l.samples,
            watched_ns: l.passed_over().map(|(ns, _)| ns),
            watched_samples: l.passed_over().map(|(_, samples)| samples),
        }
    }
}

impl LatenessJson {
    fn of(found: Lateness) -> Self {
        let ranges = |row: &LatenessRow| {
            let range = |u: &Option<LateUnder>| u.filter(LateUnder::is_range)?.range_ns;
            let ranges: Vec<_> = row.by_load.iter().map(range).collect();
            ranges.iter().any(Option::is_some).then_some(ranges)
        };
        let row = |row: LatenessRow| LateJson {
            range_ns: ranges(&row),
            name: row.name,
            late_ns: row.by_load.iter().map(|u| u.as_ref()?.late_ns).collect(),
            helps: row
                .by_load
                .iter()
                .map(|u| u.is_some_and(|u| u.helps))
                .collect(),
        };
        let mut all = Self {
            period_ns: found.period_ns,
            quantile: found.quantile,
            loads: found.loads.iter().map(|load| name(load)).collect(),
            rows: found.rows.into_iter().take(MOST_ROWS).map(row).collect(),
        };
        all.keep(MOST_LOADS);
        all
    }

    /// The same with the first loads.
    fn keep(&mut self, most: usize) {
        self.loads.truncate(most);
        for row in &mut self.rows {
            row.late_ns.truncate(most);
            if let Some(ranges) = &mut row.range_ns {
                ranges.truncate(most);
            }
            row.helps.truncate(most);
        }
    }
}

#[cfg(test)]
mod tests;
