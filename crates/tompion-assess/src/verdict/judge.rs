//! One cell's quantile compared with one limit.
//!
//! Where the samples are there in their order, the number beyond the limit decides, looked at after each
//! block ([`LimitTest`], [`LimitWatch`]); of runs that kept bins alone, the interval over blocks.

use tompion_model::{Blocks, Cell, factor, format_ns, grouped};
use tompion_stats::{
    BlockQuantile, Distribution, Limit, LimitTest, LimitWatch, NoInterval, Outlook,
    interval_samples_needed, share_by_chance,
};

use crate::verdict::basis::{self, LEVEL};
use crate::verdict::others::{Others, others};
use crate::verdict::profile::quantile_name;
use crate::verdict::{LoadVerdict, Outcome};

/// How often each of the two answers may be wrong: that a limit is kept, that it is exceeded.
pub const ERROR: f64 = 0.025;

/// The number of late samples decides from this quantile on: where more of them may be late, they do not fall into
/// clusters that could be counted.
const LEAST_QUANTILE: f64 = 0.8;

/// A quantile that is shown to lie within this factor of the limit, either way, is near it.
const NEAR: f64 = 1.25;

/// Which blocks are judged, and at what error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Blocks of the run.
    pub planned: usize,
    /// Those at the beginning by which it was chosen what is judged.
    pub skipped: usize,
    /// How often each answer may be wrong.
    pub error: f64,
}

impl Part {
    /// All of `planned` blocks.
    pub fn whole(planned: usize) -> Self {
        Self {
            planned,
            skipped: 0,
            error: ERROR,
        }
    }
}

/// What was seen for less than this in one stretch alone is no more than a moment, of which no answer is given: nobody
/// knows what the next one is like.
const MOMENT_NS: u64 = 1_000_000_000;

/// Holds the `quantile` of a cell against `limit_ns`; `None` when it has no samples.
pub(super) fn judge(cell: &Cell, quantile: f64, limit_ns: f64, part: Part) -> Option<LoadVerdict> {
    let found = judge_so_far(cell, quantile, limit_ns, part)?;
    Some(by_several_moments(cell, found, limit_ns, part))
}

/// What was found of a cell by the samples alone, which one moment alone does not decide.
pub(super) fn by_several_moments(
    cell: &Cell,
    found: LoadVerdict,
    limit_ns: f64,
    part: Part,
) -> LoadVerdict {
    let what = match found.outcome {
        Outcome::Pass => "it was seen",
        Outcome::Fail => "it was late",
        _ => return found,
    };
    let limit = whole(limit_ns * 1e3);
    let blocks = basis::blocks(cell);
    let counts = |block: &Distribution| match found.outcome {
        Outcome::Fail => block.count_above(limit) > 0,
        _ => !block.is_empty(),
    };
    let stretches = blocks.iter().zip(&cell.durations_ns).skip(part.skipped);
    let mut stretches = stretches.filter_map(|(block, ns)| counts(block).then_some(*ns));
    match (stretches.next(), stretches.next()) {
        (Some(alone_ns), None) if alone_ns < MOMENT_NS => {
            let reason = format!(
                "{what} at one moment alone, of {}",
                format_ns(alone_ns as f64)
            );
            LoadVerdict {
                outcome: Outcome::Inconclusive,
                as_it_is: Outcome::Inconclusive,
                reason: Some(reason),
                ..found
            }
        }
        _ => found,
    }
}

/// The same by the samples alone, however short the time they are of: what a check plans the rest of its time by.
pub(super) fn judge_so_far(
    cell: &Cell,
    quantile: f64,
    limit_ns: f64,
    part: Part,
) -> Option<LoadVerdict> {
    let limit_ps = limit_ns * 1e3;
    let counted = |blocks: &[Distribution]| {
        let counted = blocks.iter().skip(part.skipped);
        counted.map(Distribution::len).sum()
    };
    let samples = counted(&cell.blocks);
    let blocks = basis::blocks(cell).after(part.skipped);
    let (found, decision) = decide(&blocks, quantile, limit_ps, part, samples)?;
    let mut fails_beside_others = false;
    let decision = match decision.outcome {
        Outcome::Fail => {
            let quiet = || {
                let blocks = cell.quiet_blocks.after(part.skipped);
                let samples = counted(&cell.quiet_blocks);
                let decided = decide(&blocks, quantile, limit_ps, part, samples);
                decided.map(|(_, decision)| decision.outcome)
            };
            match others(cell, quiet) {
                Others::Nothing => decision,
                Others::Unseen(reason) => Decision {
                    reason: Some(reason),
                    ..decision
                },
                Others::Alone(reason) => {
                    fails_beside_others = true;
                    Decision {
                        outcome: Outcome::Inconclusive,
                        missing: 0,
                        reason: Some(reason),
                    }
                }
            }
        }
        _ => decision,
    };
    let interval_ns = found.interval.ok().map(|i| i.scaled(1e-3));
    Some(LoadVerdict {
        load: cell.factors.level(factor::LOAD).to_owned(),
        outcome: decision.outcome,
        as_it_is: decision.outcome,
        remedy: None,
        limit_ns,
        quantile,
        estimate_ns: found.value / 1e3,
        low_ns: interval_ns.map(|i| i.low),
        high_ns: interval_ns.map(|i| i.high),
        blocks_low_ns: found.range.map(|r| r.low / 1e3),
        blocks_high_ns: found.range.map(|r| r.high / 1e3),
        late_share: basis::late_share(&blocks, whole(limit_ps)),
        samples,
        watched_ns: cell.durations_ns.iter().skip(part.skipped).sum(),
        samples_missing: decision.missing,
        reason: decision.reason,
        fails_beside_others,
    })
}

/// The quantile of blocks, of which `samples` were taken, and what it is decided to be; `None` without samples.
fn decide(
    blocks: &Blocks,
    quantile: f64,
    limit_ps: f64,
    part: Part,
    samples: u64,
) -> Option<(BlockQuantile, Decision)> {
    let found = blocks.quantile(quantile, LEVEL)?;
    let ordered = blocks.in_order().filter(|_| quantile >= LEAST_QUANTILE);
    let decision = ordered
        .and_then(|values| by_number(&values, quantile, limit_ps, part, samples))
        .unwrap_or_else(|| by_interval(blocks, &found, quantile, limit_ps, part.error, samples));
    // Blocks of many samples must not outvote the others, which the printed figure heeds.
    let agrees = match decision.outcome {
        Outcome::Pass => found.value <= limit_ps,
        Outcome::Fail => found.value > limit_ps,
        _ => true,
    };
    let decision = match agrees {
        true => decision,
        false => Decision {
            outcome: Outcome::Inconclusive,
            missing: 0,
            reason: Some("blocks with few samples say otherwise than those with many".to_owned()),
        },
    };
    Some((found, decision))
}

/// How many samples more it takes to judge a cell, and what is likely to come of it: that the limit is kept, that it is
/// exceeded. `None` where the order of the samples is not known.
pub(super) fn outlook(
    cell: &Cell,
    quantile: f64,
    limit_ns: f64,
    part: Part,
) -> Option<(u64, Outlook)> {
    let values = basis::blocks(cell).in_order()?;
    let test = LimitTest::of(&values.concat(), whole(limit_ns * 1e3), quantile)?;
    let found = test.outlook(part.error);
    // Of the block that chose, too, is known how often samples are late.
    let judged: usize = values.iter().skip(part.skipped).map(|b| b.len()).sum();
    let more = found.samples.saturating_sub(judged as u64);
    // Filled in values are none that are taken.
    let taken = basis::samples(cell) as f64 / test.samples as f64;
    Some(((more as f64 * taken).ceil() as u64, found))
}

/// The share of the values of the first block that lie beyond a limit in nanoseconds.
pub(super) fn late_at_first(cell: &Cell, limit_ns: f64) -> Option<f64> {
    let first = basis::blocks(cell).first().filter(|b| !b.is_empty())?;
    Some(first.count_above(whole(limit_ns * 1e3)) as f64 / first.len() as f64)
}

struct Decision {
    outcome: Outcome,
    missing: u64,
    reason: Option<String>,
}

impl Decision {
    fn clear(outcome: Outcome) -> Self {
        Self {
            outcome,
            missing: 0,
            reason: None,
        }
    }
}

/// Looks at blocks that were measured; fewer leave an error smaller than what is asked for.
const MOST_LOOKS: usize = 256;

/// The largest whole number of picoseconds that keeps a limit.
fn whole(limit_ps: f64) -> i64 {
    limit_ps.floor().clamp(i64::MIN as f64, i64::MAX as f64) as i64
}

/// By the samples beyond the limit, looked at after each block; values are those of the blocks to judge by. `None`
/// without any.
fn by_number(
    values: &[&[i64]],
    quantile: f64,
    limit_ps: f64,
    part: Part,
    taken: u64,
) -> Option<Decision> {
    let planned = part.planned.saturating_sub(part.skipped).max(1);
    let all: Vec<i64> = values.concat();
    let limit = whole(limit_ps);
    let mut watch = LimitWatch::new(part.error, 1.0);
    let mut seen = 0;
    // Of very many blocks not each is looked at: a look goes through all that came before.
    let step = values.len().div_ceil(MOST_LOOKS).max(1);
    for (i, block) in values.iter().enumerate() {
        seen += block.len();
        if (i + 1) % step != 0 && i + 1 < values.len() {
            continue;
        }
        let done = (i + 1) as f64 / planned as f64;
        // While no more are late than may be, only the last look can tell anything.
        let may_decide = done >= 1.0 - 1e-9 || has_many_late(&all[..seen], limit, quantile);
        let test = may_decide.then(|| LimitTest::of(&all[..seen], limit, quantile));
        match test.flatten().map(|test| watch.look(&test, done)) {
            Some(Limit::Kept) => return Some(Decision::clear(Outcome::Pass)),
            Some(Limit::Exceeded) => return Some(Decision::clear(Outcome::Fail)),
            Some(Limit::Open) | None => {}
        }
    }
    let test = LimitTest::of(&all, limit, quantile)?;
    let exceeds = |times: f64| LimitTest::of(&all, whole(limit_ps * times), quantile);
    let near = exceeds(1.0 / NEAR).is_some_and(|t| t.p_exceeded() <= part.error)
        && exceeds(NEAR).is_some_and(|t| t.p_kept() <= part.error);
    if near {
        let [low, high] = [limit_ps / NEAR, limit_ps * NEAR].map(|ps| format_ns(ps / 1e3));
        return Some(Decision {
            outcome: Outcome::NearLimit,
            missing: 0,
            reason: Some(format!("between {low} and {high}")),
        });
    }
    let name = quantile_name(quantile);
    // Filled in values are none that were taken.
    let missing = test.samples_needed(part.error).map_or(0, |needed| {
        let in_all = (u128::from(taken) * u128::from(needed)).div_ceil(u128::from(test.samples));
        u64::try_from(in_all).map_or(u64::MAX, |n| n.saturating_sub(taken).max(1))
    });
    let reason = match missing {
        0 => format!("these samples do not decide on which side of the limit the {name} lies"),
        1 => format!("too few samples: {name} needs 1 more sample"),
        n => format!("too few samples: {name} needs {} more samples", grouped(n)),
    };
    Some(Decision {
        outcome: Outcome::Inconclusive,
        missing,
        reason: Some(reason),
    })
}

fn has_many_late(values: &[i64], limit: i64, quantile: f64) -> bool {
    let late = values.iter().filter(|v| **v > limit).count();
    late as f64 > (1.0 - quantile) * values.len() as f64
}

/// By the interval over blocks, of runs whose samples are known by number alone.
fn by_interval(
    blocks: &Blocks,
    found: &BlockQuantile,
    quantile: f64,
    limit: f64,
    error: f64,
    samples: u64,
) -> Decision {
    // Fewer samples will do to fail than to pass: those that came late were seen.
    if found.low.is_some_and(|low| low > limit) {
        return Decision::clear(Outcome::Fail);
    }
    // Dependence and missing samples keep an interval back, but not this.
    let late = basis::late_share(blocks, whole(limit));
    if found.interval.is_err() && share_by_chance(late, 1.0 - quantile) <= error {
        return Decision::clear(Outcome::Fail);
    }
    let missing = interval_samples_needed(quantile).saturating_sub(samples);
    let upper = blocks.quantile(quantile, 1.0 - 2.0 * error);
    let upper = upper.map_or(found.interval, |found| found.interval);
    let reason = match (found.interval, upper) {
        (Err(why @ NoInterval::Blocks { .. }), _) => why.to_string(),
        _ if missing > 0 => {
            let name = quantile_name(quantile);
            let more = if missing == 1 { "sample" } else { "samples" };
            format!(
                "too few samples: {name} needs {} more {more}",
                grouped(missing)
            )
        }
        (Err(why), _) | (Ok(_), Err(why)) => why.to_string(),
        (Ok(_), Ok(upper)) if upper.high <= limit => return Decision::clear(Outcome::Pass),
        (Ok(interval), Ok(_)) if interval.high > limit => {
            "the 95 % interval spans the limit".to_owned()
        }
        _ => "so close to the limit that one of several remedies may pass by chance".to_owned(),
    };
    Decision {
        outcome: Outcome::Inconclusive,
        missing,
        reason: Some(reason),
    }
}

#[cfg(test)]
mod tests;
