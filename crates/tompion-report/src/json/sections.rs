//! Clock, packet budget, time lost and published machines.

use serde_json::{Value, json};

use crate::clock_right::{Clocks, CounterRate, clocks};
use crate::data::ReportData;
use crate::ladder::ladder;
use crate::packet_budget::{Measured, RATES, READS_PER_PACKET, budgets};
use crate::time_lost::ranked;

/// Whether the clock is right.
pub(super) fn clock(data: &ReportData) -> Value {
    let c: Clocks = clocks(data);
    let rate = |r: Option<CounterRate>| {
        r.map(|r| {
            json!({
                "rate_hz": r.hz,
                "unevenness_ns": r.unevenness_ns,
                "read_within_ns": r.read_within_ns,
            })
        })
    };
    json!({
        "answer": c.answer(),
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
    })
}

fn measured(m: Measured) -> Value {
    json!({
        "value": m.value,
        "low": m.interval.map(|i| i.low),
        "high": m.interval.map(|i| i.high),
    })
}

/// What a packet may cost.
pub(super) fn budget(data: &ReportData) -> Value {
    let budget = |b: &crate::packet_budget::Budget| {
        json!({
            "platform": b.platform,
            "load": b.load,
            "way": b.way,
            "clock": b.clock,
            "sleep": b.sleep,
            "read_cost_ns": measured(b.read_ns),
            "wake_up_latency_ns": b.late_ns.map(measured),
            "packets_per_second": b.packets_per_second().map(measured),
            "rates": RATES.iter().map(|(rate, ns)| json!({
                "rate": rate,
                "packet_ns": ns,
                "reads_that_fit": measured(b.reads_that_fit(*ns)),
                "packets_per_sleep": b.packets_per_sleep(*ns).map(measured),
            })).collect::<Vec<_>>(),
        })
    };
    json!({
        "reads_per_packet": READS_PER_PACKET,
        "budgets": budgets(data).iter().map(budget).collect::<Vec<_>>(),
    })
}

/// What took time, the greatest share first.
pub(super) fn time_lost(data: &ReportData) -> Vec<Value> {
    let line = |l: &crate::time_lost::Lost| {
        json!({
            "while": l.kind.word(),
            "share": l.share,
            "taken_by": l.what,
            "load": l.load,
            "longest_ns": l.longest_ns,
            "watched_ns": l.watched_ns,
        })
    };
    ranked(data).iter().map(line).collect()
}

/// This machine among the published ones; null where nothing corresponds.
pub(super) fn among_published(data: &ReportData) -> Value {
    let Some(ladder) = ladder(data) else {
        return Value::Null;
    };
    json!({
        "citation": ladder.citation,
        "caveats": ladder.caveats,
        "panels": ladder.panels.iter().map(|p| json!({
            "function": p.function,
            "load": p.load,
            "place": p.place,
            "rungs": p.rungs.iter().map(|r| json!({
                "platform": r.label,
                "this_machine": r.own,
                "median_ns": r.median_ns,
                "p99_ns": r.p99_ns,
                "max_ns": r.max_ns,
                "marked": r.marked,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}
