//! One cell for machines.

use serde_json::{Map, Value, json};
use tompion_model::{CauseTotal, Granularity, Summary, factor};
use tompion_stats::Extrapolation;

use crate::data::Shown;
use crate::disturbed::Disturbed;
use crate::evidence::Evidence;
use crate::figures::supported;
use crate::over_blocks::{OverBlocks, QUANTILES};
use crate::packet_delay::PacketsView;
use crate::precision::LEVEL;
use crate::stalls::{Mode, Periodic, StallsView};
use crate::tails::Tail;
use crate::timer_events::{self, REARMED, interrupts_per_second, missed_share};

/// One cell with all that was found of it.
pub(super) fn cell(s: &Shown<'_>) -> Value {
    let (cell, view) = (s.cell, s.view);
    let steps = || cell.measurements.iter().filter_map(|m| m.granularity);
    let mut told = json!({
        "name": cell.factors.to_string(),
        "factors": cell.factors,
        "blocks": cell.blocks.len(),
        "measured": summary(view.measured.as_ref(), (!view.plots_batches()).then_some(&view.over_blocks)),
        "undisturbed": summary(view.undisturbed.as_ref(), None),
        "missed_filled": summary(view.filled.as_ref(), Some(&view.filled_over_blocks)),
        "batched": summary(view.batched.as_ref(), Some(&view.batched_over_blocks)),
        "median_interval": view.median_interval.map(|i| json!({
            "of": if view.plots_batches() { "batched" } else { "measured" },
            "level": LEVEL,
            "low_ns": i.low,
            "high_ns": i.high,
        })),
        "no_median_interval": view.no_median_interval,
        "tail": view.tail.as_ref().map(tail),
        "dependence": view.dependence.time().map(|time| json!({
            "autocorrelation_time_samples": time,
            "effective_samples": view.dependence.effective_samples(),
        })),
        "missed_periods": cell.missed_periods,
        "marked_samples": view.left_out + view.disturbed.marked(),
        "disturbed_samples": view.disturbed.observed.then(|| view.disturbed.marked()),
        "marked_by_reason": marked_by_reason(&view.disturbed),
        "not_positive_samples": view.not_positive,
        "trials_with_binned_samples": view.tail_trials,
        "trials_ended_by_time": cell.measurements.iter().filter(|m| m.ended_by_time).count(),
        "cpu_per_operation_ns": cell.cpu_per_operation_ns(),
        "floor_ns": cell.floor_ns(),
        "granularity": steps().reduce(|a, b| Granularity {
            smallest_step_ns: a.smallest_step_ns.min(b.smallest_step_ns),
            common_step_ns: a.common_step_ns.min(b.common_step_ns),
            zero_steps: a.zero_steps.max(b.zero_steps),
            backward_steps: a.backward_steps + b.backward_steps,
        }),
        "timer_events": timer_events(s),
        "stalls": stalls(s),
        "load": cell.loads,
    });
    if let Some(packets) = &view.packets {
        told["round_trips"] = round_trips(packets);
    }
    told
}

/// What became of probes; and of the cell that has the table of their stamps, what these tell.
fn round_trips(v: &PacketsView) -> Value {
    let times = v.times.iter().map(|times| {
        let all = times.distribution();
        json!({
            "name": times.name,
            "probes": all.len(),
            "min_ns": all.min(),
            "median_ns": all.median(),
            "p99_ns": all.quantile(0.99),
            "max_ns": all.max(),
        })
    });
    json!({
        "probes": v.probes,
        "lost_share": v.lost_share(),
        "longest_loss": v.longest_loss,
        "followed_up": v.followed_up,
        "between": times.collect::<Vec<_>>(),
        "unread_tables": v.unread.as_ref().map(|u| u.0),
    })
}

/// All statistics; quantiles with less than one sample beyond them are listed
/// in `unsupported_quantiles`; `over_blocks` has the interval of each other, or why there is none,
/// and the range of the blocks' own where these disagree.
fn summary(summary: Option<&Summary>, over_blocks: Option<&OverBlocks>) -> Value {
    let Some(s) = summary else { return Value::Null };
    let mut value = serde_json::to_value(s).unwrap_or_else(|_| Value::Object(Map::new()));
    let beyond = |q: f64| supported(s, q, 0.0).is_none();
    if let Some(over_blocks) = over_blocks {
        let shown = QUANTILES.into_iter().filter(|(q, _)| !beyond(*q));
        let quantiles = shown.filter_map(|(q, name)| {
            let interval = over_blocks.interval(q)?;
            let quantile = json!({
                "interval": interval.ok().map(|i| json!({ "level": i.level, "low_ns": i.low, "high_ns": i.high })),
                "no_interval": interval.err().map(|why| why.to_string()),
                "range_of_blocks": over_blocks.range(q).map(|r| json!({ "low_ns": r.low, "high_ns": r.high })),
            });
            Some((name.to_owned(), quantile))
        });
        value["over_blocks"] = Value::Object(quantiles.collect());
    }
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

/// Quantiles beyond the samples, each extrapolated or refused.
fn tail(t: &Tail) -> Value {
    let quantile = |(q, found): &(f64, Result<Extrapolation, String>)| match found {
        Ok(e) => json!({
            "quantile": q,
            "extrapolated": true,
            "value_ns": e.quantile / 1e3,
            "level": e.interval.level,
            "low_ns": e.interval.low / 1e3,
            "high_ns": e.interval.high / 1e3,
            "samples_expected_beyond": e.expected_beyond,
            "threshold_ns": e.threshold / 1e3,
            "excesses": e.excesses,
            "shape": e.shape,
            "scale_ns": e.scale / 1e3,
            "fit_p": e.fit_p,
            "extremal_index": e.extremal_index,
        }),
        Err(why) => json!({ "quantile": q, "extrapolated": false, "refused": why }),
    };
    json!({
        "missed_filled": t.filled,
        "quantiles": t.quantiles.iter().map(quantile).collect::<Vec<_>>(),
    })
}

/// Null for other probes and where no trial has figures.
fn timer_events(s: &Shown<'_>) -> Value {
    let Some(t) = &s.view.timer else {
        return Value::Null;
    };
    let differences = &t.differences;
    let curve = |points: Vec<(u64, f64)>| -> Value {
        points
            .into_iter()
            .map(|(tau_ns, value_ns)| json!({ "tau_ns": tau_ns, "value_ns": value_ns }))
            .collect()
    };
    json!({
        "period_ns": t.period_ns,
        "form": s.cell.factors.get(factor::FORM).unwrap_or(if t.rearmed { REARMED } else { "grid" }),
        "trials": t.trials,
        "trials_without_figures": t.without,
        "events": t.events,
        "intervals": differences.len(),
        "mean_interval_ns": t.mean_ns(),
        "mean_interval_confidence": t.mean_interval_ns().map(|(low_ns, high_ns)| json!({
            "level": timer_events::LEVEL,
            "low_ns": low_ns,
            "high_ns": high_ns,
        })),
        "standard_deviation_n_ns": differences.uncorrected_standard_deviation(),
        "standard_deviation_n_minus_1_ns": differences.standard_deviation(),
        "missed_periods": s.cell.missed_periods,
        "missed_share": missed_share(s),
        "largest_tie_ns": (t.trials > 0).then_some(t.largest_tie_ns),
        "mtie": curve(t.mtie()),
        "tdev": curve(t.tdev()),
        "interrupts_per_second": interrupts_per_second(s),
    })
}

/// Null for other probes.
fn stalls(s: &Shown<'_>) -> Value {
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
        "causes": v.causes().iter().map(|c| cause(v, c)).collect::<Vec<_>>(),
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
fn marked_by_reason(d: &Disturbed) -> Value {
    if !d.observed {
        return Value::Null;
    }
    let reasons = d.reasons().into_iter();
    reasons
        .map(|r| json!({ "cause": r.cause, "known_by": r.source, "samples": r.samples }))
        .collect()
}
