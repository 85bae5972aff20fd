//! Figures of timer events for machines.

use serde_json::{Value, json};

use crate::data::Shown;
use crate::sections::{FORM, REARMED};
use crate::timer_events::{LEVEL, interrupts_per_second, missed_share};

/// Null for other probes and where no trial has figures.
pub(super) fn timer_events(s: &Shown<'_>) -> Value {
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
        "form": s.cell.factors.get(FORM).unwrap_or(if t.rearmed { REARMED } else { "grid" }),
        "trials": t.trials,
        "trials_without_figures": t.without,
        "events": t.events,
        "intervals": differences.len(),
        "mean_interval_ns": t.mean_ns(),
        "mean_interval_confidence": t.mean_interval_ns().map(|(low_ns, high_ns)| json!({
            "level": LEVEL,
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
