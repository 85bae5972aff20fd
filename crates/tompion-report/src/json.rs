//! The summary for machines: `--json`.

mod compare;
mod platforms;
mod published;
mod sections;
mod stalls;
mod timer_events;

pub use compare::compare_json;
pub use platforms::platforms_json;
use serde_json::{Map, Value, json};
use tompion_record::{Status, Summary};

pub use published::{published_json, published_list_json};

use crate::data::{LEVEL, ReportData, Shown};
use crate::environment::emulation;
use crate::limitations::limitations;
use crate::opening::Opening;

/// Version of the summary's form; raised when a reader of the old form would
/// misread the new one.
pub const JSON_VERSION: u64 = 1;

/// The summary of a run as one JSON object. Units are in the names; absent
/// values are null.
pub fn json(data: &ReportData) -> Value {
    let record = data.record();
    let header = &record.header;
    json!({
        "schema_version": JSON_VERSION,
        "kind": "tompion-summary",
        "status": record.status,
        "complete": record.status == Status::Complete,
        "tool": header.tool,
        "command_line": header.command_line,
        "started_at": header.started_at,
        "finished_at": record.finished_at,
        "design": header.design,
        "trials": record.trials.len(),
        "notes": record.notes.iter().map(|n| &n.text).collect::<Vec<_>>(),
        "assessment": assessment(data),
        "environment": header.environment,
        "emulation": emulation(&header.environment),
        "guards": header.guards,
        "evidence": stalls::evidence(data.evidence()),
        "limitations": limitations(data),
        "holds": record.holds,
        "clock": sections::clock(data),
        "packet_budget": sections::budget(data),
        "time_lost": sections::time_lost(data),
        "among_published": sections::among_published(data),
        "cells": data.shown().map(|s| cell(&s)).collect::<Vec<_>>(),
    })
}

/// What the run means; its headline is what every form of the report opens with.
fn assessment(data: &ReportData) -> Value {
    let mut value = json!(data.assessment());
    value["headline"] = json!(Opening::of(data).text());
    value
}

fn cell(s: &Shown<'_>) -> Value {
    let (cell, view) = (s.cell, s.view);
    let steps = || cell.measurements.iter().filter_map(|m| m.granularity);
    json!({
        "name": cell.factors.to_string(),
        "factors": cell.factors,
        "blocks": cell.blocks.len(),
        "measured": summary(view.measured.as_ref()),
        "undisturbed": summary(view.undisturbed.as_ref()),
        "missed_filled": summary(view.filled.as_ref()),
        "batched": summary(view.batched.as_ref()),
        "median_interval": view.median_interval.map(|i| json!({
            "of": if view.plots_batches() { "batched" } else { "measured" },
            "level": LEVEL,
            "low_ns": i.low,
            "high_ns": i.high,
        })),
        "dependence": view.dependence.time().map(|time| json!({
            "autocorrelation_time_samples": time,
            "effective_samples": view.dependence.effective_samples(),
        })),
        "missed_periods": cell.missed_periods,
        "marked_samples": view.left_out + view.disturbed.marked(),
        "disturbed_samples": view.disturbed.observed.then(|| view.disturbed.marked()),
        "marked_by_reason": stalls::marked_by_reason(&view.disturbed),
        "not_positive_samples": view.not_positive,
        "trials_with_binned_samples": view.tail_trials,
        "trials_ended_by_time": cell.measurements.iter().filter(|m| m.ended_by_time).count(),
        "cpu_per_operation_ns": cell.cpu_per_operation_ns(),
        "floor_ns": cell.floor_ns(),
        "granularity": steps().reduce(|a, b| tompion_record::Granularity {
            smallest_step_ns: a.smallest_step_ns.min(b.smallest_step_ns),
            common_step_ns: a.common_step_ns.min(b.common_step_ns),
            zero_steps: a.zero_steps.max(b.zero_steps),
            backward_steps: a.backward_steps + b.backward_steps,
        }),
        "timer_events": timer_events::timer_events(s),
        "stalls": stalls::stalls(s),
        "load": cell.loads,
    })
}

/// All statistics; quantiles with less than one sample beyond them are listed
/// in `unsupported_quantiles`.
fn summary(summary: Option<&Summary>) -> Value {
    let Some(s) = summary else { return Value::Null };
    let mut value = serde_json::to_value(s).unwrap_or_else(|_| Value::Object(Map::new()));
    let beyond = |q: f64| crate::figures::supported(s, q, 0.0).is_none();
    let weak: Vec<&str> = [
        (0.9, "p90_ns"),
        (0.95, "p95_ns"),
        (0.99, "p99_ns"),
        (0.999, "p99_9_ns"),
        (0.9999, "p99_99_ns"),
    ]
    .into_iter()
    .filter_map(|(q, name)| beyond(q).then_some(name))
    .collect();
    value["unsupported_quantiles"] = json!(weak);
    value
}
