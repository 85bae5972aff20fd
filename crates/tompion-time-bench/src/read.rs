//! What one clock read costs.
//!
//! A block goes through all sources in rounds, each in random order; a turn is a
//! few batches of back-to-back reads, and the block's figure is the median over
//! its batches. So a source and its peers are measured within milliseconds of
//! each other, many times a block.
//!
//! Three figures, because none tells all. *In a row* is what the limits are about.
//! It is a throughput: a CPU that starts counter reads slower than it can convert
//! them hides the conversion altogether, and clocks of unequal work come out
//! equal. *Completed* waits for each result before the next read, so that all the
//! work shows, and the fence with it. *Sustained* is CPU time over an unbroken run,
//! rare work such as renewals included, which no median batch shows.

mod figures;
mod judge;
mod sources;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use tompion_time::os::{self, ClockId};

use crate::cli::Options;
use crate::progress::Progress;
use figures::{Measured, Section};
use sources::{Loop, Source, Topic};

pub use judge::table;

/// Progress steps a block.
pub const STEPS_A_BLOCK: u64 = 1;

/// Back-to-back reads of a batch.
const BATCH_READS: u32 = 1000;
/// Batches of a turn, after one that warms up.
const TURN_BATCHES: usize = 8;

/// What the columns tell, for people.
pub const LEGEND: &str = "\
ns         reads in a row, the median batch: a throughput, and what the limits are about. Where
           the counter's instruction is the bottleneck, equal figures do not mean equal work:
           the CPU converts one reading while the next is on its way.
completed  each read waits for its result, so that all of its work shows; includes the fence
sustained  CPU time over an unbroken run: renewals included
\n";

/// How much is measured.
struct Plan {
    /// Turns of each source in a block.
    rounds: usize,
    /// Reads without a pause of each source in a block, for the sustained cost,
    /// in nanoseconds of wall time.
    sustained_ns: u64,
}

impl Plan {
    fn of(options: &Options) -> Self {
        if options.quick {
            Self {
                rounds: 3,
                sustained_ns: 2_000_000,
            }
        } else {
            Self {
                rounds: 50,
                // Several intervals at which tompion-time's clock looks at the
                // kernel's.
                sustained_ns: 25_000_000,
            }
        }
    }
}

/// All sections' results.
#[derive(Clone, Debug, Serialize)]
pub struct Read {
    /// Raw ticks, nanoseconds, ordered reads.
    pub sections: Vec<Section>,
}

/// Measures all sources, block by block.
pub fn measure(options: &Options, seed: u64, progress: &Progress) -> Read {
    let plan = Plan::of(options);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut sources = sources::all();
    let mut measured: Vec<Measured> = sources.iter().map(Measured::of).collect();
    for block in 1..=options.blocks() {
        progress.next(format!("reads, block {block}"));
        let costs = block_costs(&mut sources, &plan, &mut random);
        for (measured, cost) in measured.iter_mut().zip(costs) {
            measured.block_ns.push(cost.in_a_row_ns);
            measured.block_completed_ns.push(cost.completed_ns);
        }
        for source in shuffled(sources.len(), &mut random) {
            let ns = sustained(&mut sources[source], plan.sustained_ns);
            measured[source].block_sustained_ns.push(ns);
        }
        progress.step();
    }
    Read {
        sections: Topic::ALL
            .into_iter()
            .map(|topic| {
                let of_topic = sources.iter().zip(&measured);
                let sources: Vec<Measured> = of_topic
                    .filter(|(source, _)| source.topic == topic)
                    .map(|(_, measured)| measured.clone())
                    .collect();
                Section {
                    title: topic.title(),
                    comparisons: judge::comparisons(topic, &sources),
                    sources,
                }
            })
            .collect(),
    }
}

/// One source's median batches in one block, in nanoseconds a read.
struct Cost {
    in_a_row_ns: f64,
    completed_ns: f64,
}

/// The costs of all sources in one block.
fn block_costs(sources: &mut [Source], plan: &Plan, random: &mut ChaCha8Rng) -> Vec<Cost> {
    let batches = || Vec::with_capacity(plan.rounds * TURN_BATCHES);
    let mut in_a_row = vec![batches(); sources.len()];
    let mut completed = vec![batches(); sources.len()];
    for _ in 0..plan.rounds {
        for source in shuffled(sources.len(), random) {
            turn(&mut sources[source].in_a_row, &mut in_a_row[source]);
            turn(&mut sources[source].completed, &mut completed[source]);
        }
    }
    let per_read = |batches: &mut Vec<u64>| median(batches) / f64::from(BATCH_READS);
    in_a_row
        .iter_mut()
        .zip(&mut completed)
        .map(|(in_a_row, completed)| Cost {
            in_a_row_ns: per_read(in_a_row),
            completed_ns: per_read(completed),
        })
        .collect()
}

fn turn(run: &mut Loop, batches: &mut Vec<u64>) {
    // Brings code, data and branch predictors back.
    run(BATCH_READS / 5);
    batches.extend((0..TURN_BATCHES).map(|_| run(BATCH_READS)));
}

/// CPU time a read over `span_ns` of reads without a pause.
fn sustained(source: &mut Source, span_ns: u64) -> f64 {
    let end_ns = os::now_ns(ClockId::Monotonic) + span_ns;
    let start_cpu_ns = os::now_ns(ClockId::ThreadCpu);
    let mut reads = 0;
    while os::now_ns(ClockId::Monotonic) < end_ns {
        (source.in_a_row)(10 * BATCH_READS);
        reads += 10 * BATCH_READS;
    }
    (os::now_ns(ClockId::ThreadCpu) - start_cpu_ns) as f64 / f64::from(reads)
}

fn shuffled(n: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(random);
    order
}

/// The upper median; batches are many.
fn median(values: &mut [u64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_batch_ignores_a_lost_time_slice() {
        assert_eq!(
            median(&mut [13_000, 12_900, 4_000_000, 13_100, 12_800]),
            13_000.0
        );
    }

    #[test]
    fn every_source_costs_something_and_is_measured_once_a_block() {
        let mut sources = sources::all();
        let plan = Plan {
            rounds: 1,
            sustained_ns: 100_000,
        };
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let costs = block_costs(&mut sources, &plan, &mut random);
        assert_eq!(costs.len(), sources.len());
        for (source, cost) in sources.iter().zip(&costs) {
            assert!(cost.in_a_row_ns > 0.1, "{}", source.name);
            assert!(cost.completed_ns > 0.1, "{}", source.name);
        }
        for source in &mut sources {
            assert!(
                sustained(source, plan.sustained_ns) > 0.1,
                "{}",
                source.name
            );
        }
    }
}
