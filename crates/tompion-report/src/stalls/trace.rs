//! Stalls over time by cause, thinned so that no extreme of any cause is hidden.

use std::collections::BTreeMap;

use tompion_cause::Cause;
use tompion_model::{StallPart, TrialData};

use crate::series::{Column, Point, columns_for, decimate};

/// One stall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TracedStall {
    /// When it began, in nanoseconds since the trial did.
    pub at_ns: u64,
    /// Its length in picoseconds.
    pub length_ps: i64,
    /// The cause of its greatest part.
    pub cause: Cause,
}

/// What is drawn of one trial.
#[derive(Clone, Debug)]
pub(crate) struct BlockTrace {
    /// The replicate.
    pub block: u32,
    /// Length of the trial, in nanoseconds.
    pub span_ns: u64,
    /// Stalls by their main cause, in time order.
    pub by_cause: BTreeMap<Cause, Vec<Column>>,
}

impl BlockTrace {
    /// Thins `stalls`; `blocks` is how many trials share the width of a plot.
    pub(super) fn of(block: u32, stalls: &[TracedStall], wall_ns: u64, blocks: usize) -> Self {
        let mut points: BTreeMap<Cause, Vec<Point>> = BTreeMap::new();
        for s in stalls {
            let own = points.entry(s.cause).or_default();
            own.push((s.at_ns, s.length_ps));
        }
        let last = stalls.last().map_or(0, |s| s.at_ns);
        let span_ns = wall_ns.max(last).max(1);
        let columns = columns_for(blocks) * 2;
        Self {
            block,
            span_ns,
            by_cause: points
                .into_iter()
                .map(|(cause, p)| (cause, decimate(&p, span_ns, columns)))
                .collect(),
        }
    }
}

/// The stalls of a trial in time order: rows above the threshold, each with the
/// cause of its greatest part.
pub(super) fn stalls(data: &TrialData, threshold_ns: u64) -> Vec<TracedStall> {
    let all = data.stall_parts();
    let mut parts: Vec<&StallPart> = all.iter().collect();
    parts.sort_by_key(|p| p.at_ns);
    let causes: Vec<(u64, Cause)> = parts
        .chunk_by(|a, b| a.at_ns == b.at_ns)
        .map(|stall| (stall[0].at_ns, main_cause(stall)))
        .collect();
    let threshold_ps = i64::try_from(threshold_ns.saturating_mul(1000)).unwrap_or(i64::MAX);
    let mut all: Vec<TracedStall> = data
        .samples
        .iter()
        .filter(|s| !s.mark.is_left_out() && s.n == 1 && s.value_ps >= threshold_ps)
        .map(|s| {
            let length_ns = (s.value_ps / 1000).unsigned_abs();
            let at_ns = s.at_ns.saturating_sub(length_ns);
            TracedStall {
                at_ns,
                length_ps: s.value_ps,
                cause: nearest(&causes, at_ns, length_ns / 2),
            }
        })
        .collect();
    all.sort_by_key(|s| s.at_ns);
    all
}

/// The cause of the stall that began at `at_ns`, but for rounding: successive
/// stalls begin at least the length of one apart.
fn nearest(causes: &[(u64, Cause)], at_ns: u64, within_ns: u64) -> Cause {
    let after = causes.partition_point(|c| c.0 < at_ns);
    let near = causes[after.saturating_sub(1)..causes.len().min(after + 1)].iter();
    near.min_by_key(|c| c.0.abs_diff(at_ns))
        .filter(|c| c.0.abs_diff(at_ns) <= within_ns)
        .map_or(Cause::Unknown, |c| c.1)
}

fn main_cause(parts: &[&StallPart]) -> Cause {
    let mut by_cause: BTreeMap<Cause, u64> = BTreeMap::new();
    for p in parts {
        *by_cause.entry(p.cause).or_default() += p.ns;
    }
    let greatest = by_cause.into_iter().rev().max_by_key(|c| c.1);
    greatest.map_or(Cause::Unknown, |c| c.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_cause::Source;
    use tompion_model::{Sample, stall_parts};

    fn part(at_ns: u64, ns: u64, cause: Cause) -> StallPart {
        StallPart {
            at_ns,
            ns,
            cause,
            by: None,
            source: Some(Source::Event),
            because: "planted".to_owned(),
        }
    }

    #[test]
    fn a_stall_has_the_cause_of_its_greatest_part() {
        let row = |at_ns, value_ps| Sample {
            at_ns,
            value_ps,
            n: 1,
            ..Sample::default()
        };
        let parts = [
            part(10_000, 2_000, Cause::Tick),
            part(10_000, 3_000, Cause::Softirq),
            part(90_000, 1_000, Cause::Preempted),
        ];
        let data = TrialData {
            samples: vec![
                row(900, 900_000),
                row(15_000, 5_000_400),
                row(40_000, 3_000_000),
            ],
            tables: [(stall_parts::NAME.to_owned(), stall_parts::table(&parts))].into(),
            ..TrialData::default()
        };
        let found: Vec<(u64, Cause)> = stalls(&data, 1_000)
            .iter()
            .map(|s| (s.at_ns, s.cause))
            .collect();
        // The first row is no stall, nobody knows the cause of the last.
        assert_eq!(found, [(10_000, Cause::Softirq), (37_000, Cause::Unknown)]);
    }
}
