//! What one loop has brought, and the causes found for it.

use std::collections::VecDeque;

use tompion_cause::{Access, Counters, Evidence, Part, Span, Totals, attribute};
use tompion_model::{Observation, Recorder, StallPart, Stalls, Storage, stall_parts};
use tompion_observe::events;
use tompion_probe::Outcome;
use tompion_probe::stalls::{Row, StallsOutcome};
use tompion_stats::Bins;
use tompion_time::os::{self, ClockId};

use super::spans::Spans;
use crate::totals::by_cause;

/// Parts of stalls that are kept one by one; of more, those of the longest stalls.
const MOST_PARTS: usize = 1 << 18;

/// Below this length the growth of counters is noise.
const SHORTEST_COUNTED_NS: u64 = 10_000;

/// How long a stall waits for counters that are read later.
const LATER_NS: u64 = 300_000_000;

/// Counters of a stall that were read some time after it.
enum Later {
    Told { after: Counters, elsewhere_ns: u64 },
    NotYet,
    NotNeeded,
}

/// One loop's trial.
pub struct Measured {
    pub outcome: Outcome,
    pub stalls: Stalls,
    pub observation: Observation,
}

/// The rows of one loop, and the causes found for them.
pub struct Gathered {
    /// Stalls whose events have not all been seen.
    pub waiting: VecDeque<Row>,
    /// End and length of the latest stalls told, in nanoseconds.
    recent: VecDeque<(u64, u64)>,
    spans: Spans,
    overlapping: Vec<Span>,
    rows: Recorder,
    rows_limit: usize,
    /// All rows, to tell those that were lost from those that were not.
    row_bins: Bins,
    /// Parts, with the beginning of their stall in nanoseconds of
    /// `CLOCK_MONOTONIC`.
    parts: Vec<StallPart>,
    totals: Totals,
    /// Stalls with a row, added up, but for those in the loop's own work.
    within_loop_ps: u128,
}

impl Gathered {
    /// Nothing yet; at most `rows` rows are kept one by one.
    pub fn new(rows: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            recent: VecDeque::new(),
            spans: Spans::default(),
            overlapping: Vec::new(),
            rows: Recorder::new(rows, None),
            rows_limit: rows,
            row_bins: Bins::new(),
            parts: Vec::new(),
            totals: Totals::new(),
            within_loop_ps: 0,
        }
    }

    /// Takes new events, and finds the causes of the stalls that had ended by
    /// `until_ns`, up to which all events are known.
    pub fn settle(&mut self, spans: &[Span], until_ns: u64, recorder: &events::Recorder) {
        self.spans.extend(spans);
        while let Some(row) = self.waiting.front().copied() {
            if row.stall.until_ns > until_ns {
                break;
            }
            let row = match self.counted_later(&row) {
                Later::Told {
                    after,
                    elsewhere_ns,
                } => Row {
                    after: Some(after),
                    elsewhere_ns,
                    ..row
                },
                Later::NotYet if until_ns.saturating_sub(row.stall.until_ns) < LATER_NS => break,
                Later::NotYet | Later::NotNeeded => row,
            };
            self.waiting.pop_front();
            self.recent
                .push_back((row.stall.until_ns, row.length_ps / 1000));
            let access = recorder.access_between(row.stall.from_ns, row.stall.until_ns);
            self.take(&row, &access);
        }
        let oldest = self.waiting.front().map(|row| row.stall.from_ns);
        self.spans.forget(oldest.unwrap_or(until_ns).min(until_ns));
        let recent_from = until_ns.saturating_sub(LATER_NS);
        self.recent.retain(|r| r.0 >= recent_from);
    }

    /// A stall too short to have its counters read right after it has those of the
    /// next reading, some milliseconds later, which the rows that follow bring along.
    /// Stalls between the two readings are known, too: what the counters did not grow
    /// by was not the reason of any of them.
    fn counted_later(&self, row: &Row) -> Later {
        let Some(before) = row.before else {
            return Later::NotNeeded;
        };
        if row.after.is_some() || row.length_ps / 1000 < SHORTEST_COUNTED_NS {
            return Later::NotNeeded;
        }
        let mut readings = self.waiting.iter().filter_map(|later| later.before);
        let Some(after) = readings.find(|r| r.at_ns >= row.stall.until_ns) else {
            return Later::NotYet;
        };
        let within = |until_ns: u64| before.at_ns < until_ns && until_ns <= after.at_ns;
        let told = self.recent.iter().filter(|r| within(r.0)).map(|r| r.1);
        let to_tell = self.waiting.iter().filter(|r| within(r.stall.until_ns));
        let lost_ns: u64 = told.sum::<u64>() + to_tell.map(|r| r.length_ps / 1000).sum::<u64>();
        Later::Told {
            after,
            elsewhere_ns: lost_ns.saturating_sub(row.length_ps / 1000),
        }
    }

    fn take(&mut self, row: &Row, access: &Access) {
        self.spans.overlapping(&row.stall, &mut self.overlapping);
        let parts = attribute(
            &row.stall,
            &Evidence {
                before: row.before,
                after: row.after,
                elsewhere_ns: row.elsewhere_ns,
                spans: &self.overlapping,
                access,
            },
        );
        self.keep(row, parts);
    }

    fn keep(&mut self, row: &Row, parts: Vec<Part>) {
        if self.rows.is_full() {
            self.rows.make_room();
        }
        self.rows.push(row.sample(0));
        // Marked, and so in no summary: its length contains our own work, and nobody
        // looked on.
        if row.own {
            return;
        }
        self.within_loop_ps += u128::from(row.length_ps);
        let length_ps = i64::try_from(row.length_ps).unwrap_or(i64::MAX);
        // Beyond the bins: counted by the loop, in no bin there either.
        let _ = self.row_bins.record(length_ps);
        self.totals.add(&parts);
        self.parts.extend(parts.into_iter().map(|part| StallPart {
            at_ns: row.stall.from_ns,
            ns: part.ns,
            cause: part.cause,
            by: part.by,
            source: part.source,
            because: part.because.to_owned(),
        }));
        if self.parts.len() > MOST_PARTS {
            self.forget_short_stalls();
        }
    }

    /// Keeps the parts of the longest eighth of the stalls.
    fn forget_short_stalls(&mut self) {
        let mut lengths: Vec<u64> = self
            .parts
            .chunk_by(|a, b| a.at_ns == b.at_ns)
            .map(|parts| parts.iter().map(|p| p.ns).sum())
            .collect();
        let keep_from = lengths.len() - lengths.len() / 8 - 1;
        let (_, &mut least_ns, _) = lengths.select_nth_unstable(keep_from);
        self.parts = self
            .parts
            .chunk_by(|a, b| a.at_ns == b.at_ns)
            .filter(|parts| parts.iter().map(|p| p.ns).sum::<u64>() >= least_ns)
            .flatten()
            .cloned()
            .collect();
    }

    /// The trial, when the loop has ended.
    pub fn finish(
        self,
        cpu: Option<u32>,
        threshold_ns: u64,
        outcome: StallsOutcome,
        observation: Observation,
    ) -> Measured {
        let with_row_ns = u64::try_from(self.within_loop_ps / 1000).unwrap_or(u64::MAX);
        // Stalls that found the ring full: known by their lengths alone.
        let without_row_ns = match outcome.lost_rows {
            0 => 0,
            _ => outcome.stalled_ns.saturating_sub(with_row_ns),
        };
        let (mut data, storage) = self.rows.finish();
        // All times count from the loop's beginning.
        for sample in &mut data.samples {
            sample.at_ns = sample.at_ns.saturating_sub(outcome.began_ns);
        }
        let mut parts = self.parts;
        for part in &mut parts {
            part.at_ns = part.at_ns.saturating_sub(outcome.began_ns);
        }
        let mut bins = outcome.below.clone();
        if let Some(binned) = &data.bins {
            bins.merge(binned);
        }
        for (low, count) in difference(&outcome.above, &self.row_bins) {
            // The same bins: nothing can be beyond them.
            let _ = bins.record_many(low, count);
        }
        data.bins = Some(bins);
        data.filled_bins = Some(Bins::new());
        let parts = stall_parts::table(&parts);
        data.tables.insert(stall_parts::NAME.to_owned(), parts);
        let threshold_ps = match storage {
            Storage::Complete => threshold_ns as i64 * 1000 - 1,
            Storage::Tail { threshold_ps, .. } => threshold_ps,
        };
        let mut measurement = outcome.measurement;
        measurement.pinned_cpu = cpu;
        Measured {
            stalls: Stalls {
                cpu,
                threshold_ns,
                iterations: outcome.iterations,
                loop_period_ns: outcome.period_ns,
                began_unix_ns: since_1970(outcome.began_ns),
                wall_ns: outcome.wall_ns,
                observed_ns: outcome.observed_ns,
                own_ns: outcome.own_ns,
                stalls: outcome.stalls,
                lost_ns: self.totals.lost_ns() + without_row_ns,
                rows_lost: outcome.lost_rows,
                causes: by_cause(&self.totals),
            },
            outcome: Outcome {
                data,
                storage: Storage::Tail {
                    limit_rows: self.rows_limit as u64,
                    threshold_ps,
                },
                measurement,
                missed_periods: None,
                began_ns: outcome.began_ns,
            },
            observation,
        }
    }
}

/// A moment of `CLOCK_MONOTONIC` by the system clock as it stands now, both in
/// nanoseconds; none before 1970.
fn since_1970(monotonic_ns: u64) -> Option<u64> {
    let ago_ns = os::now_ns(ClockId::Monotonic).saturating_sub(monotonic_ns);
    os::now_ns(ClockId::Realtime).checked_sub(ago_ns)
}

/// What `whole` counts more often than `part`, bin by bin.
fn difference(whole: &Bins, part: &Bins) -> Vec<(i64, u64)> {
    let counted: std::collections::BTreeMap<i64, u64> = part
        .occupied()
        .into_iter()
        .map(|(low, _, count)| (low, count))
        .collect();
    whole
        .occupied()
        .into_iter()
        .map(|(low, _, count)| {
            let seen = counted.get(&low).copied().unwrap_or(0);
            (low, count.saturating_sub(seen))
        })
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[cfg(test)]
mod tests;
