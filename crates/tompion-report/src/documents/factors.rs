//! Which factors of runs make a difference.

use serde_json::{Value, json};
use tompion_assess::factors::{FactorAnalysis, FactorFigure, FactorGroup, OneFactor, PaperFigure};
use tompion_stats::{Effect, Factorial, KruskalWallis, PairComparison};

use crate::blocks::{Block, Content};
use crate::factors::{assumptions, blocks, partial_eta_squared};
use crate::forms::JSON_VERSION;
use crate::screen::printed;

/// Factors and what they come to, for a terminal of `width` columns (at least 40 are used).
pub fn factors_text(analysis: &FactorAnalysis, width: usize, color: bool) -> String {
    let answer = format!(
        "Trials of {} by {}",
        analysis.runs.join(", "),
        analysis.factors.join(", ")
    );
    let mut all: Vec<Block<'_>> = vec![Content::Answer(vec![answer]).into()];
    all.extend(blocks(analysis));
    printed(width, color, &all)
}

/// The same as one JSON object. Times are in nanoseconds; what there is not is null.
pub fn factors_json(analysis: &FactorAnalysis) -> Value {
    json!({
        "schema_version": JSON_VERSION,
        "kind": "tompion-factors",
        "factors": analysis.factors,
        "runs": analysis.runs,
        "level": analysis.level,
        "groups": analysis.groups.iter().map(|g| group(analysis, g)).collect::<Vec<_>>(),
        "left_out": analysis.left_out.iter().map(|(cell, figure, why)| json!({
            "cell": cell,
            "figure": figure.map(|f| f.name()),
            "why": why,
        })).collect::<Vec<_>>(),
    })
}

fn group(analysis: &FactorAnalysis, group: &FactorGroup) -> Value {
    let levels = analysis.factors.iter().zip(&group.levels);
    let levels: serde_json::Map<String, Value> = levels
        .map(|(name, levels)| (name.clone(), json!(levels)))
        .collect();
    json!({
        "common": group.common,
        "levels": levels,
        "figures": group.figures.iter().map(|f| figure(analysis, f)).collect::<Vec<_>>(),
        "papers_own_form": group.papers.iter().map(|f| paper(group, f, analysis)).collect::<Vec<_>>(),
    })
}

fn figure(analysis: &FactorAnalysis, found: &FactorFigure) -> Value {
    json!({
        "figure": found.figure.name(),
        "unit": if found.figure.is_share() { "share" } else { "ns" },
        "trials": found.aligned.assumptions.values,
        "cells": found.aligned.assumptions.cells,
        "blocks": found.blocks,
        "blocks_left_out": found.blocks_left_out,
        "one_factor": found.factors.iter().map(one_factor).collect::<Vec<_>>(),
        "aligned_ranks": factorial(&found.aligned, partial_eta_squared),
        "scheirer_ray_hare": factorial(&found.scheirer_ray_hare, |e| {
            let all = found.aligned.assumptions.values.max(2) - 1;
            Some(e.statistic / all as f64)
        }),
        "brown_forsythe": found.spread.map(|s| json!({
            "f": s.f, "df": s.df, "error_df": s.error_df, "p": s.p,
        })),
        "assumptions": assumptions(analysis, found),
    })
}

fn one_factor(one: &OneFactor) -> Value {
    let pairs = one.pairs.iter().map(|pair| {
        let above = &pair.second_above_first;
        json!({
            "levels": [one.levels[pair.dunn.first], one.levels[pair.dunn.second]],
            "dunn": test_of_pair(&pair.dunn),
            "tukey": pair.tukey.as_ref().map(test_of_pair),
            "vargha_delaney_a": above.a,
            "vargha_delaney_a_interval": [above.interval.low, above.interval.high],
            "cliffs_delta": above.cliffs_delta(),
        })
    });
    json!({
        "factor": one.name,
        "levels": one.levels,
        "middles": one.middles,
        "kruskal_wallis": kruskal_wallis(&one.test),
        "pairs": pairs.collect::<Vec<_>>(),
    })
}

fn kruskal_wallis(test: &KruskalWallis) -> Value {
    json!({
        "h": test.h, "df": test.df, "p": test.p, "epsilon_squared": test.epsilon_squared,
        "ties_share": test.ties_share,
    })
}

fn test_of_pair(pair: &PairComparison) -> Value {
    json!({
        "mean_rank_difference": pair.mean_rank_difference,
        "statistic": pair.statistic,
        "p": pair.p,
        "p_adjusted": pair.p_adjusted,
    })
}

fn factorial(found: &Factorial, eta_squared: impl Fn(&Effect) -> Option<f64>) -> Value {
    let effects = found.effects.iter().map(|e| {
        json!({
            "factors": e.factors,
            "sum_of_squares": e.sum_of_squares,
            "df": e.df,
            // JSON has no infinity.
            "statistic": e.statistic.is_finite().then_some(e.statistic),
            "p": e.p,
            "eta_squared": eta_squared(e),
            "error_sum_of_squares": e.error_sum_of_squares,
            "error_df": e.error_df,
        })
    });
    json!({
        "effects": effects.collect::<Vec<_>>(),
        "untested": found.assumptions.untested,
        "ties_share": found.assumptions.ties_share,
        "largest_aligned_f": found.assumptions.largest_aligned_f,
    })
}

fn paper(group: &FactorGroup, figure: &PaperFigure, analysis: &FactorAnalysis) -> Value {
    let factors = figure.factors.iter().map(|one| {
        let at = analysis.factors.iter().position(|name| *name == one.name);
        let levels = at.map(|at| &group.levels[at]);
        let pairs = one.pairs.iter().map(|pair| {
            json!({
                "levels": levels.map(|l| [&l[pair.first], &l[pair.second]]),
                "dunn": test_of_pair(pair),
            })
        });
        json!({
            "factor": one.name,
            "kruskal_wallis": kruskal_wallis(&one.test),
            "pairs": pairs.collect::<Vec<_>>(),
        })
    });
    json!({
        "figure": figure.name,
        "cells": figure.cells,
        "without_replicates": true,
        "one_factor": factors.collect::<Vec<_>>(),
    })
}
