//! Whether the clock is right.

use serde_json::{Map, Value, json};

use super::{Machine, Question, Section};
use crate::blocks::{Block, Content, Media};
use crate::clock_right::{CounterRate, clocks};
use crate::data::ReportData;

pub(super) static ENTRY: Section = Section {
    name: "clock",
    title: "Is the clock right?",
    question: Some(Question::Clock),
    probe: None,
    blocks,
    machine: Machine::Keys(keys),
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let clocks = clocks(data);
    let rows: Vec<(String, String)> = clocks
        .rows()
        .into_iter()
        .map(|(label, value)| (label.to_owned(), value))
        .collect();
    let mut blocks: Vec<Block<'_>> = vec![Content::Text(clocks.answer()).into()];
    if !rows.is_empty() {
        blocks.push(Content::Pairs(rows).into());
    }
    if let Some(remedy) = clocks.wall_clock.as_ref().and_then(|c| c.remedy.as_ref()) {
        blocks.push(Content::Text(format!("What would help: {}.", remedy.what)).into());
        blocks.push(Content::List(remedy.steps.clone()).into());
    }
    blocks.push(
        Content::Note(
            "The clocks were read side by side when the run began, after each block and at its end. NTP slews MONOTONIC and the wall clock alike and leaves MONOTONIC_RAW alone, \
             so that the first difference is what it corrects, and a change of the last is a step; one that was set back within a block does not show. \
             Where the kernel keeps time by the same counter, MONOTONIC_RAW cannot tell whether that counter is right."
                .to_owned(),
        )
        .on(Media::PAGE),
    );
    blocks
}

fn keys(data: &ReportData, keys: &mut Map<String, Value>) {
    let c = clocks(data);
    let rate = |r: Option<CounterRate>| {
        r.map(|r| {
            json!({
                "rate_hz": r.hz,
                "unevenness_ns": r.unevenness_ns,
                "read_within_ns": r.read_within_ns,
            })
        })
    };
    let value = json!({
        "answer": c.answer(),
        "wall_clock": c.wall_clock,
        "synchronisation": c.synchronisation,
        "watched_ns": c.watched_ns,
        "readings": c.readings,
        "monotonic_against_raw": c.monotonic_by_raw.map(|d| json!({
            "drift_ppm": d.ppm,
            "plus_minus_ppm": d.plus_minus_ppm,
        })),
        "counter_against_raw": rate(c.counter_by_raw),
        "counter_against_monotonic": rate(c.counter_by_monotonic),
        "counter_against_stated_rate_ppm": c.stated_ppm,
        "steps": c.steps.iter().map(|s| json!({
            "step_ns": s.ns,
            "after_ns": s.between_ns.0,
            "before_ns": s.between_ns.1,
        })).collect::<Vec<_>>(),
    });
    keys.insert("clock".to_owned(), value);
}
