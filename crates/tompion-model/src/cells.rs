//! Trials of the same cell brought together, block by block.

use std::collections::{BTreeMap, HashMap};

use tompion_stats::{Distribution, MANY_DISTINCT};

use crate::filled::EXACT;
use crate::{
    Block, Blocks, CpuUse, Factors, LoadEvidence, Measurement, Summary, Trial, TrialData,
    TrialDraft, View,
};

/// Distinct values that all distributions of a run keep together, about: 128 MiB.
const MOST_KEPT: usize = 1 << 23;

/// Of a run of few bytes these may be kept, and so many more for each byte: values of a run that
/// was measured, which differ, take some bytes each.
const LEAST_ROOM: u64 = 1 << 20;
const ROOM_PER_BYTE: u64 = 4;

/// Distinct values that each may keep all the same.
const LEAST_EACH: usize = 1 << 12;

/// Of more distributions than there is room for each keeps so many, by their ranks.
const LEAST_SHARE: usize = 1 << 6;

/// Missed periods of a run that stand for a value each; those of later trials are counted in bins.
const MOST_EXACT: u64 = 1 << 25;

/// Values of a block that are kept in their order, for what asks how late ones follow one another.
/// Of more the distribution says enough, and so long trials do not take the room of others.
const MOST_IN_ORDER: usize = 1 << 15;

/// Of all cells together: 32 MiB.
const MOST_IN_ORDER_OF_ALL: usize = 1 << 22;

/// Everything a run knows about one cell. Where a block, or all of them together, have very
/// many distinct values, those within 2^-12 of one another are kept as their mean
/// ([`Distribution::bounded`]).
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// The cell's key.
    pub factors: Factors,
    /// Values of single operations as measured, one distribution a block, in
    /// picoseconds, without warm-up.
    pub blocks: Blocks,
    /// The same without disturbed samples.
    pub undisturbed_blocks: Blocks,
    /// The same with missed periods filled in; empty without a grid.
    pub filled_blocks: Blocks,
    /// Values of operations timed in batches; empty where none were taken.
    pub batched_blocks: Blocks,
    /// At rest, values with missed periods filled in (where there is a grid) without the samples that other programs held
    /// up; empty beside a load, whose own programs do that.
    pub quiet_blocks: Blocks,
    /// Grid periods missed before samples that count, over all blocks; absent without a grid.
    pub missed_periods: Option<u64>,
    /// How the values came about, one entry a block.
    pub measurements: Vec<Measurement>,
    /// Proof that the load ran, one entry a block; empty at rest.
    pub loads: Vec<LoadEvidence>,
    /// The block in which it was measured first.
    pub first_block: usize,
    /// How long was measured, one entry a block, in nanoseconds.
    pub durations_ns: Vec<u64>,
    /// CPU time of other programs meanwhile; absent where nobody looked.
    pub cpu_use: Option<CpuUse>,
    /// Whether something watched, in every block, what held samples up.
    pub watched: bool,
}

impl Cell {
    /// Summary over all blocks, each of which weighs the same; `None` when no sample was taken.
    pub fn summary(&self) -> Option<Summary> {
        self.blocks.summary()
    }

    /// Summary without the samples that something disturbed.
    pub fn undisturbed_summary(&self) -> Option<Summary> {
        self.undisturbed_blocks.summary()
    }

    /// Summary with missed periods filled in; `None` without a grid.
    pub fn filled_summary(&self) -> Option<Summary> {
        self.filled_blocks.summary()
    }

    /// Summary of the operations timed in batches; `None` where there are none.
    pub fn batched_summary(&self) -> Option<Summary> {
        self.batched_blocks.summary()
    }

    /// CPU time per operation, averaged over blocks, in nanoseconds.
    pub fn cpu_per_operation_ns(&self) -> Option<f64> {
        mean(
            self.measurements
                .iter()
                .filter_map(|m| m.cpu_per_operation_ns),
        )
    }

    /// The probe's own cost, averaged over blocks, in nanoseconds.
    pub fn floor_ns(&self) -> Option<f64> {
        mean(self.measurements.iter().filter_map(|m| m.floor_ns))
    }

    fn empty(factors: Factors) -> Self {
        Self {
            factors,
            first_block: usize::MAX,
            watched: true,
            ..Self::default()
        }
    }

    /// Whether its load is none.
    pub fn is_at_rest(&self) -> bool {
        self.factors.is_at_rest()
    }

    /// Whether values of a block were taken together.
    pub fn is_coarse(&self) -> bool {
        let lists = [
            &self.blocks,
            &self.undisturbed_blocks,
            &self.filled_blocks,
            &self.batched_blocks,
            &self.quiet_blocks,
        ];
        lists.into_iter().flatten().any(Distribution::is_coarse)
    }

    /// Takes in a trial, each distribution bounded to `most` distinct values; says how many
    /// that adds.
    fn add(
        &mut self,
        data: &TrialData,
        measurement: &Measurement,
        most: usize,
        most_exact: u64,
        most_in_order: usize,
    ) -> Kept {
        let mut kept = Kept::default();
        let mut of = |view, most_in_order| {
            // How values follow one another is said by them all.
            let block = data.block(view, most_exact, most_in_order);
            let distribution = block.distribution.bounded(most);
            kept.distinct += distribution.pairs().len();
            kept.in_order += block.in_order.as_ref().map_or(0, |values| values.len());
            Block {
                distribution,
                ..block
            }
        };
        let fills = measurement.period_ns.filter(|_| data.misses_periods());
        // What is judged is kept in its order: with missed periods filled in, where there are any.
        let measured = of(
            View::Measured,
            if fills.is_some() { 0 } else { most_in_order },
        );
        // What is the same is neither counted nor kept twice.
        self.undisturbed_blocks.push(match data.is_disturbed() {
            true => of(View::Undisturbed, 0),
            false => measured.clone(),
        });
        let period_ps = measurement.period_ns.map(|period| period as i64 * 1000);
        let filled = period_ps.map(|period_ps| match fills {
            Some(_) => of(View::Filled { period_ps }, most_in_order),
            None => measured.clone(),
        });
        if self.is_at_rest() {
            self.quiet_blocks.push(match data.is_held_up_by_others() {
                true => of(View::Quiet { period_ps }, most_in_order),
                false => filled.as_ref().unwrap_or(&measured).clone(),
            });
        }
        if let Some(filled) = filled {
            self.filled_blocks.push(filled);
        }
        self.blocks.push(measured);
        let batched = of(View::Batched, 0);
        if !batched.distribution.is_empty() {
            self.batched_blocks.push(batched);
        }
        self.measurements.push(measurement.clone());
        kept
    }

    /// How many distributions it has.
    fn distributions(&self) -> usize {
        let lists = [
            &self.blocks,
            &self.undisturbed_blocks,
            &self.filled_blocks,
            &self.batched_blocks,
            &self.quiet_blocks,
        ];
        lists.into_iter().map(|list| list.len()).sum()
    }

    /// Has each of its distributions bounded; says how many distinct values that leaves.
    fn bound(&mut self, bounded_to: &dyn Fn(&Distribution) -> Distribution) -> usize {
        let bounded: Vec<Distribution> = self.blocks.iter().map(bounded_to).collect();
        let mut kept: usize = bounded.iter().map(|b| b.pairs().len()).sum();
        let whole = self.blocks.replace(bounded);
        // By where each lay: as long as it is kept nothing else lies there.
        let mut known: HashMap<usize, (Distribution, Distribution)> = HashMap::new();
        for (old, bounded) in whole.into_iter().zip(self.blocks.iter().cloned()) {
            known.insert(old.address(), (old, bounded));
        }
        for list in [
            &mut self.undisturbed_blocks,
            &mut self.filled_blocks,
            &mut self.batched_blocks,
            &mut self.quiet_blocks,
        ] {
            for one in list.distributions_mut() {
                if let Some((_, bounded)) = known.get(&one.address()) {
                    *one = bounded.clone();
                } else {
                    let bounded = bounded_to(one);
                    kept += bounded.pairs().len();
                    let old = std::mem::replace(one, bounded.clone());
                    known.insert(old.address(), (old, bounded));
                }
            }
        }
        kept
    }
}

/// What is known of a trial besides its samples.
struct Meanwhile<'a> {
    block: u32,
    load: Option<&'a LoadEvidence>,
    duration_ns: u64,
    cpu_use: Option<&'a CpuUse>,
    is_watched: bool,
    missed_periods: Option<u64>,
}

/// Of a [`Trial`] or a [`TrialDraft`]: all but the missed periods has the same name in both.
macro_rules! meanwhile {
    ($trial:expr, $missed_periods:expr) => {
        Meanwhile {
            block: $trial.block,
            load: $trial.load.as_ref(),
            duration_ns: $trial.duration_ns,
            cpu_use: $trial.cpu_use.as_ref(),
            is_watched: $trial.observation.is_some(),
            missed_periods: $missed_periods,
        }
    };
}

/// What a trial adds to the memory of a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    /// Distinct values of all distributions.
    distinct: usize,
    /// Values kept in their order.
    in_order: usize,
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0u32), |(s, n), v| (s + v, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

/// Trials gathered by cell, in the order of the cells' keys.
#[derive(Debug)]
pub struct Cells {
    cells: BTreeMap<Factors, Cell>,
    /// Distinct values of all distributions.
    kept: usize,
    /// How many there may be.
    room: usize,
    /// How many one distribution may have.
    most: usize,
    /// Missed periods that still stand for a value each.
    exact: u64,
    /// Values that may still be kept in their order.
    in_order: usize,
}

impl Default for Cells {
    fn default() -> Self {
        Self {
            cells: BTreeMap::new(),
            kept: 0,
            room: MOST_KEPT,
            most: MANY_DISTINCT,
            exact: MOST_EXACT,
            in_order: MOST_IN_ORDER_OF_ALL,
        }
    }
}

impl Cells {
    /// None yet, which may keep so many distinct values, within bounds: as a file of that many bytes
    /// may hold.
    pub fn of_bytes(bytes: u64) -> Self {
        let room = bytes
            .saturating_mul(ROOM_PER_BYTE)
            .saturating_add(LEAST_ROOM);
        Self {
            room: usize::try_from(room).unwrap_or(MOST_KEPT).min(MOST_KEPT),
            ..Self::default()
        }
    }

    /// Adds a trial with its samples; trials are added in the order of execution.
    pub fn add(&mut self, trial: &Trial, data: &TrialData) {
        let meanwhile = meanwhile!(trial, trial.summary.missed_periods);
        self.add_one(&trial.factors, &trial.measurement, meanwhile, data);
    }

    /// The same of a trial that is being saved.
    pub fn add_draft(&mut self, trial: &TrialDraft, data: &TrialData) {
        let meanwhile = meanwhile!(trial, trial.missed_periods);
        self.add_one(&trial.factors, &trial.measurement, meanwhile, data);
    }

    fn add_one(
        &mut self,
        factors: &Factors,
        measurement: &Measurement,
        meanwhile: Meanwhile<'_>,
        data: &TrialData,
    ) {
        let cell = self.take(factors, data, measurement);
        cell.loads.extend(meanwhile.load.cloned());
        cell.first_block = cell.first_block.min(meanwhile.block as usize);
        cell.durations_ns.push(meanwhile.duration_ns);
        cell.watched &= meanwhile.is_watched;
        if let Some(found) = meanwhile.cpu_use {
            cell.cpu_use.get_or_insert_default().add(found);
        }
        if let Some(missed) = meanwhile.missed_periods {
            *cell.missed_periods.get_or_insert(0) += missed;
        }
        while self.kept > self.room && self.most > LEAST_EACH {
            self.most /= 2;
            let cells = self.cells.values_mut();
            self.kept = cells.map(|c| c.bound(&|d| d.bounded(self.most))).sum();
        }
        // Values over the whole range that there is have as many bins as that has.
        let distributions: usize = self.cells.values().map(Cell::distributions).sum();
        if self.kept > self.room && self.kept > 2 * LEAST_SHARE * distributions {
            let each = (self.room / distributions.max(1)).max(LEAST_SHARE);
            let cells = self.cells.values_mut();
            self.kept = cells.map(|c| c.bound(&|d| d.clustered(each / 2))).sum();
        }
    }

    fn take(&mut self, key: &Factors, data: &TrialData, measurement: &Measurement) -> &mut Cell {
        let cell = self.cells.entry(key.clone());
        let cell = cell.or_insert_with(|| Cell::empty(key.clone()));
        let most_in_order = MOST_IN_ORDER.min(self.in_order);
        let kept = cell.add(data, measurement, self.most, self.exact, most_in_order);
        self.kept += kept.distinct;
        self.in_order -= kept.in_order;
        let missed = data.missed_periods();
        if missed <= EXACT {
            self.exact = self.exact.saturating_sub(missed);
        }
        cell
    }

    /// All cells so far.
    pub fn so_far(&self) -> Vec<Cell> {
        self.cells.values().cloned().collect()
    }

    /// All cells.
    pub fn into_vec(self) -> Vec<Cell> {
        self.cells.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use tompion_cause::{Cause, Source};

    use super::*;
    use crate::{Mark, Sample, Storage, TrialSummary, factor};

    /// A trial of as many distinct values, every tenth of them disturbed where asked for.
    fn trial(cells: &mut Cells, block: u32, values: i64, disturbed: bool) {
        let samples = (0..values).map(|i| Sample {
            at_ns: i as u64,
            value_ps: 50_000_000 + 7 * i,
            n: 1,
            missed: 0,
            mark: match disturbed && i % 10 == 0 {
                true => Mark::Disturbed(Cause::Tick, Source::Event),
                false => Mark::None,
            },
        });
        let data = TrialData {
            samples: samples.collect(),
            ..TrialData::default()
        };
        let trial = Trial {
            id: block,
            factors: Factors::default(),
            block,
            started_ns: 0,
            duration_ns: 1,
            started_at: None,
            storage: Storage::Complete,
            tables: Default::default(),
            measurement: Measurement {
                period_ns: Some(100_000),
                ..Measurement::default()
            },
            load: None,
            findings: Default::default(),
            observation: None,
            cpu_use: None,
            summary: TrialSummary::default(),
        };
        cells.add(&trial, &data);
    }

    #[test]
    fn many_distinct_values_are_kept_as_few() {
        let mut cells = Cells::default();
        trial(&mut cells, 0, 300_000, false);
        trial(&mut cells, 1, 1_000, false);
        let [cell] = &cells.into_vec()[..] else {
            panic!("one cell")
        };
        assert!(cell.is_coarse() && cell.blocks[0].is_coarse() && !cell.blocks[1].is_coarse());
        assert_eq!(cell.blocks[0].len(), 300_000);
        assert!(cell.blocks[0].pairs().len() < 1_000);
        assert!(cell.filled_blocks[0].shares_memory(&cell.blocks[0]));
        assert_eq!(cell.blocks[1].pairs().len(), 1_000);
    }

    #[test]
    fn what_others_held_up_is_left_out_of_the_quiet_blocks_with_the_periods_it_missed() {
        let preempted = Mark::Disturbed(Cause::Preempted, Source::Event);
        let sample = |value_ps, missed, mark| Sample {
            value_ps,
            n: 1,
            missed,
            mark,
            ..Sample::default()
        };
        let data = TrialData {
            samples: vec![
                sample(5, 0, Mark::WarmUp),
                sample(10, 0, Mark::None),
                sample(1_000_100, 1, Mark::Disturbed(Cause::Tick, Source::Event)),
                sample(3_000_000, 2, preempted),
            ],
            ..TrialData::default()
        };
        let quiet = |load: &str, period_ns| {
            let mut cells = Cells::default();
            let trial = TrialDraft {
                factors: Factors::new().with(factor::LOAD, load),
                duration_ns: 7,
                measurement: Measurement {
                    period_ns,
                    ..Measurement::default()
                },
                ..TrialDraft::default()
            };
            cells.add_draft(&trial, &data);
            cells.add_draft(&trial, &data);
            let [cell] = &cells.into_vec()[..] else {
                panic!("one cell")
            };
            assert_eq!((&cell.durations_ns[..], cell.watched), (&[7, 7][..], false));
            let in_order = cell.quiet_blocks.in_order().unwrap();
            in_order.first().map(|values| values.to_vec())
        };
        assert_eq!(quiet("idle", Some(1_000)).unwrap(), [10, 1_000_100, 100]);
        assert_eq!(quiet("idle", None).unwrap(), [10, 1_000_100]);
        assert_eq!(quiet("cpu", Some(1_000)), None);
    }

    #[test]
    fn many_trials_together_are_kept_in_the_room_there_is() {
        let mut cells = Cells {
            room: 20_000,
            ..Cells::default()
        };
        for block in 0..3 {
            trial(&mut cells, block, 6_000, false);
        }
        assert_eq!((cells.kept, cells.most), (18_000, MANY_DISTINCT));
        for block in 3..8 {
            trial(&mut cells, block, 6_000, block == 5);
        }
        assert_eq!(cells.most, LEAST_EACH);
        assert!(cells.kept < 20_000);
        let [cell] = &cells.into_vec()[..] else {
            panic!("one cell")
        };
        assert!(
            cell.blocks
                .iter()
                .all(|b| b.len() == 6_000 && b.pairs().len() < 1_000)
        );
        for i in 0..8 {
            let shared = cell.undisturbed_blocks[i].shares_memory(&cell.blocks[i]);
            assert_eq!(shared, i != 5);
            assert!(cell.filled_blocks[i].shares_memory(&cell.blocks[i]));
        }
        assert_eq!(cell.undisturbed_blocks[5].len(), 5_400);
    }
}
