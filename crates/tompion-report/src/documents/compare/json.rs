//! A comparison of runs for machines.

use serde_json::{Value, json};
use tompion_assess::compare::{
    Basis, Beside, Comparison, Drift, Estimator, Found, Judged, Judgement, Row, Undecided, Verdict,
};
use tompion_stats::Interval;

use super::{CompareView, words};
use crate::forms::JSON_VERSION;

/// A comparison as one JSON object. Times are in nanoseconds, shares of 1 bear no
/// unit; absent values are null.
pub fn compare_json(view: &CompareView) -> Value {
    let all = view.comparison.as_ref();
    json!({
        "schema_version": JSON_VERSION,
        "kind": "tompion-comparison",
        "by": view.by,
        "sides": all.map(|c| &c.sides),
        "level": all.map(|c| c.level),
        "paired": all.map(|c| c.paired),
        "remarks": view.remarks.iter().map(|(run, remark)| json!({
            "run": run,
            "remark": remark,
        })).collect::<Vec<_>>(),
        "environment_differences": view.environment.iter().map(|d| json!({
            "what": d.what,
            "values": d.values,
        })).collect::<Vec<_>>(),
        "parameter_mismatches": view.mismatches.iter().map(|m| json!({
            "cell": m.cell.to_string(),
            "what": m.what,
            "sides": [m.sides.0, m.sides.1],
            "values": [m.values.0, m.values.1],
        })).collect::<Vec<_>>(),
        "cells_not_on_all_sides": all.map(|c| c.partial.iter().map(|(cell, sides)| json!({
            "cell": cell.to_string(),
            "sides": sides,
        })).collect::<Vec<_>>()),
        "comparisons": all.map(|c| c.rows.iter().map(|r| row(c, r)).collect::<Vec<_>>()),
        "gates": view.gates.iter().map(|g| gate(all, g)).collect::<Vec<_>>(),
        "published": view.beside.iter().map(beside).collect::<Vec<_>>(),
    })
}

fn row(all: &Comparison, row: &Row) -> Value {
    let mut value = json!({
        "cell": row.cell.to_string(),
        "factors": row.cell,
        "figure": row.figure.name(),
        "unit": if row.figure.is_share() { "share" } else { "ns" },
        "sides": [all.sides[row.sides.0], all.sides[row.sides.1]],
        "values": [row.values.0, row.values.1],
        "trials": [row.trials.0, row.trials.1],
        "sentence": words::sentence(all, row),
    });
    let more = match &row.verdict {
        Verdict::Found(f) => {
            let outcome = match row.differs(all.level) {
                true => "differs",
                false => "no-difference-found",
            };
            found(outcome, f)
        }
        Verdict::Drifts(why, f) => {
            let mut value = found("not-decidable", f);
            value["drift"] = drift(*why);
            value
        }
        Verdict::TooFew {
            basis: b,
            have,
            need,
            instead,
        } => json!({
            "outcome": "not-decidable",
            "basis": basis(*b),
            "have": have.0.min(have.1),
            "have_on_each_side": [have.0, have.1],
            "need": need,
            "instead": instead.map(|i| json!({ "trials": i.trials, "seconds": i.seconds })),
        }),
        Verdict::NoFigure => json!({ "outcome": "no-figure" }),
    };
    let (Some(value_fields), Value::Object(more)) = (value.as_object_mut(), more) else {
        return value;
    };
    value_fields.extend(more);
    value
}

fn found(outcome: &str, f: &Found) -> Value {
    json!({
        "outcome": outcome,
        "shift": f.shift,
        "shift_interval": interval(f.interval),
        "ratio": f.ratio.map(|r| r.0),
        "ratio_interval": f.ratio.map(|r| interval(r.1)),
        "vargha_delaney_a": f.a_hat,
        "p": f.p,
        "p_beside_drift": f.drift.map(|d| d.p),
        "p_adjusted": f.p_adjusted,
        "family": f.family,
        "basis": basis(f.basis),
        "replicates": [f.replicates.0, f.replicates.1],
        "detectable_shift": f.detectable,
        "detectable_ratio": f.detectable_ratio,
    })
}

fn drift(why: Drift) -> Value {
    match why {
        Drift::Within => json!({ "kind": "within-blocks" }),
        Drift::Across { step, ratio } => json!({
            "kind": "across-replicates",
            "step": step,
            "step_ratio": ratio,
        }),
    }
}

fn interval(i: Interval) -> [f64; 2] {
    [i.low, i.high]
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Trials => "trials",
        Basis::Runs => "runs",
        Basis::Stretches => "stretches",
    }
}

fn gate(all: Option<&Comparison>, judged: &Judged) -> Value {
    json!({
        "fail_if": (!judged.is_required).then_some(&judged.gate),
        "fail_unless": judged.is_required.then_some(&judged.gate),
        "cell": judged.cell.to_string(),
        "figure": judged.figure.name(),
        "side": all.map(|c| &c.sides[judged.side]),
        "judgement": match judged.judgement {
            Judgement::Pass => "pass",
            Judgement::Inconclusive => "inconclusive",
            Judgement::Fail => "fail",
        },
        "relative": judged.relative,
        "change": judged.change.map(|c| c.0),
        "change_interval": judged.change.map(|c| [c.1, c.2]),
        "confidence": judged.estimate.map(|e| e.confidence),
        "estimator": judged.estimate.map(|e| match e.estimator {
            Estimator::HodgesLehmann => "hodges-lehmann",
            Estimator::GeometricMeans => "ratio-of-geometric-means",
        }),
        "replicates": match &judged.verdict {
            Verdict::Found(f) | Verdict::Drifts(_, f) => Some([f.replicates.0, f.replicates.1]),
            Verdict::TooFew { .. } | Verdict::NoFigure => None,
        },
        "undecided": judged.undecided.map(|why| match why {
            Undecided::OneRun => "one-run-a-side",
            Undecided::Drift(_) => "drift",
        }),
        "replicates_needed": judged.needed,
    })
}

fn beside(beside: &Beside) -> Value {
    json!({
        "run": beside.run,
        "published": beside.published,
        "citation": beside.citation,
        "caveats": beside.caveats,
        "rows": beside.rows.iter().map(|r| json!({
            "cell": r.cell.to_string(),
            "factors": r.cell,
            "statistic": r.statistic,
            "own_ns": r.own_ns,
            "notes": r.notes,
            "published": r.published.iter().map(|p| json!({
                "source": p.source,
                "label": p.label,
                "value_ns": p.ns,
                "same_function_and_load": p.same,
                "marked": p.marked,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}
