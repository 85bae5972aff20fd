//! Stalls, disturbances and evidence for machines.

use serde_json::{Value, json};
use tompion_record::CauseTotal;

use crate::data::Shown;
use crate::disturbed::Disturbed;
use crate::evidence::Evidence;
use crate::stalls::{Mode, Periodic, StallsView};

/// Null for other probes.
pub(super) fn stalls(s: &Shown<'_>) -> Value {
    let Some(v) = &s.view.stalls else {
        return Value::Null;
    };
    let t = &v.total;
    json!({
        "cpu": t.cpu,
        "trials": v.traces.len(),
        "threshold_ns": t.threshold_ns,
        "iterations": t.iterations,
        "loop_period_ns": t.loop_period_ns,
        "wall_ns": t.wall_ns,
        "observed_ns": t.observed_ns,
        "own_ns": t.own_ns,
        "coverage": v.coverage(),
        "stalls": t.stalls,
        "lost_ns": t.lost_ns,
        "lost_share": v.lost_share(),
        "longest_ns": (t.stalls > 0).then_some(v.longest_ns),
        "rows_lost": t.rows_lost,
        "without_cause_ns": v.without_cause_ns(),
        "causes": v.causes.iter().map(|c| cause(v, c)).collect::<Vec<_>>(),
        "structure": {
            "periodic": v.structure.periodic.iter().map(periodic).collect::<Vec<_>>(),
            "stall_length_modes": v.structure.lengths.iter().map(mode).collect::<Vec<_>>(),
            "run_length_modes": v.structure.runs.iter().map(mode).collect::<Vec<_>>(),
        },
        "bins": bins(s),
        "evidence": evidence(&v.evidence),
    })
}

fn cause(v: &StallsView, c: &CauseTotal) -> Value {
    json!({
        "cause": c.cause,
        "by": c.by,
        "lost_ns": c.ns,
        "share_of_lost": v.share_of_lost(c.ns),
        "parts": c.parts,
        "longest_ns": c.longest_ns,
    })
}

fn periodic(p: &Periodic) -> Value {
    json!({
        "trials": p.trials,
        "period_ns": p.period_ns,
        "period_low_ns": p.low_ns,
        "period_high_ns": p.high_ns,
        "ticks": p.ticks,
        "phases": p.phases,
        "events": p.events,
        "expected": p.expected,
        "median_length_ns": p.cost_ns,
        "median_length_least_ns": p.costs_ns.0,
        "median_length_greatest_ns": p.costs_ns.1,
        "time_share": p.time_share,
    })
}

fn mode(m: &Mode) -> Value {
    json!({
        "trials": m.trials,
        "at_ns": m.at_ns,
        "low_ns": m.low_ns,
        "high_ns": m.high_ns,
        "count": m.count,
    })
}

/// Lengths of iterations in two-level binary bins.
fn bins(s: &Shown<'_>) -> Vec<Value> {
    let all = s.view.bins.iter();
    all.map(|b| json!({ "low_ns": b.low_ns, "high_ns": b.high_ns, "count": b.count }))
        .collect()
}

/// What evidence of disturbances there was; null where none was recorded.
pub(super) fn evidence(e: &Evidence) -> Value {
    if e.trials == 0 {
        return Value::Null;
    }
    json!({
        "trials": e.trials,
        "trials_with_steal_accounted": e.steal_accounted,
        "had": e.had(),
        "missing": e.missing(),
        "observer_cpu_share": e.own_cpu_share(),
    })
}

/// Disturbed samples by reason; null where nobody looked.
pub(super) fn marked_by_reason(d: &Disturbed) -> Value {
    if !d.observed {
        return Value::Null;
    }
    let reasons = d.reasons().into_iter();
    reasons
        .map(|r| json!({ "cause": r.cause, "known_by": r.source, "samples": r.samples }))
        .collect()
}
