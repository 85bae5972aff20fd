//! The platforms of a lab for machines.

use serde_json::{Value, json};
use tompion_assess::compare::{PairRatio, PlatformMaxima, PlatformSummary};
use tompion_stats::{GrowthVerdict, Interval};

use crate::forms::JSON_VERSION;

/// The platforms of a lab as one JSON object. Times are in nanoseconds, ratios bear no
/// unit; absent values are null.
pub fn platforms_json(summary: &PlatformSummary) -> Value {
    json!({
        "schema_version": JSON_VERSION,
        "kind": "tompion-lab-summary",
        "reference": summary.reference,
        "level": summary.level,
        "absent": summary.absent.iter().map(|(platform, why)| json!({
            "platform": platform,
            "why": why,
        })).collect::<Vec<_>>(),
        "cautions": summary.cautions,
        "cells": summary.groups.iter().map(|g| json!({
            "cell": g.cell.to_string(),
            "factors": g.cell,
            "platforms": g.platforms.iter().map(platform).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "ratios": summary.ratios.iter().map(ratio).collect::<Vec<_>>(),
    })
}

fn platform(p: &PlatformMaxima) -> Value {
    let m = &p.maxima;
    json!({
        "platform": p.platform,
        "emulated": p.emulated,
        "rank_best": p.rank.best,
        "rank_worst": p.rank.worst,
        "replicates": m.replicates,
        "least_max_ns": m.least,
        "median_max_ns": m.median,
        "median_max_interval_ns": m.interval.map(interval),
        "greatest_max_ns": m.greatest,
        "next_exceeds_probability": m.next_exceeds(),
        "added_greatest_ns": p.added.map(|a| a.greatest),
        "added_shift_ns": p.added.and_then(|a| a.shift).map(|s| s.0),
        "added_shift_interval_ns": p.added.and_then(|a| a.shift).map(|s| interval(s.1)),
        "added_p_adjusted": p.added.and_then(|a| a.shift).map(|s| s.2),
        "growth_per_doubling": m.growth.ratio,
        "growth_interval": m.growth.interval.map(interval),
        "growth_from_replicates": m.growth.from,
        "bounded": match m.growth.verdict {
            GrowthVerdict::LevelsOff => "as-far-as-seen",
            GrowthVerdict::Grows => "still-grows",
            GrowthVerdict::Undecided => "not-decided",
            GrowthVerdict::TooFew => "too-few-replicates",
        },
    })
}

fn ratio(r: &PairRatio) -> Value {
    json!({
        "over": r.wish.over,
        "under": r.wish.under,
        "cell": r.cell.to_string(),
        "of_added": r.of_added,
        "of_maxima": r.of_maxima.map(|m| m.0),
        "of_maxima_interval": r.of_maxima.map(|m| interval(m.1)),
    })
}

fn interval(i: Interval) -> Value {
    json!({ "low": i.low, "high": i.high, "confidence": i.level })
}
