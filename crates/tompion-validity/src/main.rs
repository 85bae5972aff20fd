//! `make bench-validity`: tables of how often intervals, verdicts and comparisons are right.

use clap::Parser;
use tompion_model::Blocks;
use tompion_validity::comparison_tables;
use tompion_validity::comparisons::SHORT;
use tompion_validity::decision_tables;
use tompion_validity::decisions::Looking;
use tompion_validity::intervals::{Counting, Row};
use tompion_validity::percentile_bootstrap;
use tompion_validity::table::{Bound, Counted};
use tompion_validity::truth::{Shape, Truth};
use tompion_validity::verdicts::{Outcomes, is_to_decide, verdict};

/// How often intervals, verdicts and comparisons are right, over series whose truth is known.
#[derive(Parser)]
struct Options {
    /// Series drawn for each row.
    #[arg(long, default_value_t = 1000)]
    draws: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Only rows whose name has this in it.
    #[arg(long, default_value = "")]
    only: String,
    /// Shapes: blocks x samples.
    #[arg(long, value_delimiter = ',', value_parser = shape,
        default_value = "6x1000,6x4000,8x1000,8x4000,20x1000,20x4000")]
    shapes: Vec<Shape>,
    /// Only these tables; `old` has the intervals that were printed before, `peeking` limits that are
    /// looked at again and again as if each look were the only one.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "intervals,comparisons,looks"
    )]
    tables: Vec<Tables>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Tables {
    Intervals,
    Comparisons,
    Looks,
    Old,
    Peeking,
}

fn shape(text: &str) -> Result<Shape, String> {
    let shape = text.split_once('x').and_then(|(blocks, samples)| {
        let (blocks, samples) = (blocks.parse().ok()?, samples.parse().ok()?);
        Some(Shape { blocks, samples })
    });
    shape.ok_or_else(|| format!("`{text}` is not like 8x4000"))
}

const QUANTILES: [(&str, f64); 3] = [("median", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

/// True quantiles over the limit: two where a pass is wrong, one where a fail is, and two that
/// are to be decided.
const TIMES: [f64; 5] = [1.1, 1.5, 0.9, 0.5, 2.0];

/// Methods that are measured at once.
const METHODS: [usize; 2] = [1, 5];

/// One truth in one shape: intervals and verdicts of each quantile.
struct Found {
    rows: Vec<Row>,
    /// For each quantile, number of methods and limit.
    outcomes: Vec<[[Outcomes; TIMES.len()]; METHODS.len()]>,
}

fn found(truth: Truth, shape: Shape, options: &Options) -> Found {
    let mut counting = QUANTILES.map(|(_, q)| Counting::new(truth, shape, q));
    let mut outcomes = vec![[[Outcomes::default(); TIMES.len()]; METHODS.len()]; QUANTILES.len()];
    // Draws that follow one another serve as methods, each of them once.
    let mut drawn: Vec<Blocks> = Vec::new();
    let most = METHODS[METHODS.len() - 1];
    for draw in 0..options.draws {
        drawn.push(truth.draw(shape, options.seeds.wrapping_mul(1_000_003) + draw));
        counting
            .iter_mut()
            .for_each(|c| c.add(&drawn[drawn.len() - 1]));
        for (outcomes, (_, q)) in outcomes.iter_mut().zip(QUANTILES) {
            for (outcomes, methods) in outcomes.iter_mut().zip(METHODS) {
                if !drawn.len().is_multiple_of(methods) {
                    continue;
                }
                let judged = &drawn[drawn.len() - methods..];
                for (outcomes, times) in outcomes.iter_mut().zip(TIMES) {
                    outcomes.add(verdict(truth, judged, q, times));
                }
            }
        }
        if drawn.len() == most {
            drawn.clear();
        }
    }
    Found {
        rows: counting.iter().map(Counting::row).collect(),
        outcomes,
    }
}

fn width(row: &Row) -> String {
    match row.printed.times {
        0 => "-".into(),
        _ => format!("{:.2}", row.width),
    }
}

/// Prints the tables of comparisons; says how many bounds were missed.
fn comparisons(options: &Options, truths: &[Truth]) -> u32 {
    let draws = (options.draws, options.seeds.wrapping_mul(1_000_003));
    let mut missed = 0;
    // Two runs of eight blocks each, or two levels that take turns.
    for shape in options.shapes.iter().filter(|shape| shape.blocks == 8) {
        println!(
            "\n## Two runs of {} blocks of {} samples\n\n{}",
            shape.blocks,
            shape.samples,
            comparison_tables::head().trim_end()
        );
        let parts: Vec<comparison_tables::Part> = std::thread::scope(|scope| {
            let threads: Vec<_> = truths
                .iter()
                .map(|t| scope.spawn(move || comparison_tables::like_with_like(*t, *shape, draws)))
                .collect();
            threads
                .into_iter()
                .map(|t| t.join().expect("a row"))
                .collect()
        });
        for (text, of_part) in parts {
            missed += of_part;
            print!("{text}");
        }
    }
    if options.only.is_empty() && options.shapes.contains(&SHORT) {
        let (text, of_part) = comparison_tables::runs_and_power(draws);
        println!(
            "\n## Runs that scatter, and what is found: 8 blocks of 1000 samples\n\n{:42} {:>10} {:>10}\n{text}",
            "", "said", "undecided"
        );
        missed += of_part;
    }
    missed
}

fn main() {
    let options = Options::parse();
    let truths = Truth::ALL
        .into_iter()
        .filter(|t| t.name().contains(&options.only));
    let truths: Vec<Truth> = truths.collect();
    let mut missed = 0;
    println!(
        "{} draws a row, seeds {}. `!` marks a bound that is missed by more than two standard errors.",
        options.draws, options.seeds
    );
    let of = |tables| options.tables.contains(&tables);
    for shape in options.shapes.iter().filter(|_| of(Tables::Intervals)) {
        // One thread for each CPU and truth at a time is enough: rows are alike in length.
        let all: Vec<Found> = std::thread::scope(|scope| {
            let options = &options;
            let threads: Vec<_> = truths
                .iter()
                .map(|t| scope.spawn(move || found(*t, *shape, options)))
                .collect();
            threads
                .into_iter()
                .map(|t| t.join().expect("a row"))
                .collect()
        });
        println!(
            "\n## {} blocks of {} samples\n",
            shape.blocks, shape.samples
        );
        println!(
            "{:22} {:7} {:>8} {:>8} {:>7} {:>6}   refused",
            "series", "", "printed", "covers", "below", "width"
        );
        for found in &all {
            for (row, (name, _)) in found.rows.iter().zip(QUANTILES) {
                missed += u32::from(!row.is_kept());
                let refused: Vec<String> = row
                    .refused
                    .iter()
                    .map(|(why, n)| format!("{why} {n}"))
                    .collect();
                let below = Counted {
                    times: row.below,
                    of: row.covering.of,
                    bound: None,
                };
                println!(
                    "{:22} {name:7} {:>8} {:>8} {:>7} {:>6}   {}",
                    row.truth.name(),
                    row.printed,
                    row.covering,
                    below,
                    width(row),
                    refused.join(", ")
                );
            }
        }
        println!(
            "\n{:22} {:7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "verdicts", "", "methods", "pass1.1", "pass1.5", "fail0.9", "pass0.5", "fail2"
        );
        for (found, truth) in all.iter().zip(&truths) {
            for (outcomes, (name, q)) in found.outcomes.iter().zip(QUANTILES) {
                for (o, methods) in outcomes.iter().zip(METHODS) {
                    let wrong = Some(Bound::AtMost(0.025));
                    let right = is_to_decide(*truth, *shape, q).then_some(Bound::AtLeast(0.95));
                    let cells = [
                        (o[0].passed, wrong, o[0]),
                        (o[1].passed, wrong, o[1]),
                        (o[2].failed, wrong, o[2]),
                        (o[3].passed, right, o[3]),
                        (o[4].failed, right, o[4]),
                    ]
                    .map(|(times, bound, o)| Counted {
                        times,
                        of: o.draws,
                        bound,
                    });
                    missed += cells.iter().filter(|c| !c.is_kept()).count() as u32;
                    let [a, b, c, d, e] = cells;
                    println!(
                        "{:22} {name:7} {methods:>8} {a:>8} {b:>8} {c:>8} {d:>8} {e:>8}",
                        truth.name()
                    );
                }
            }
        }
    }
    if of(Tables::Comparisons) {
        missed += comparisons(&options, &truths);
    }
    let draws = (options.draws, options.seeds.wrapping_mul(1_000_003));
    for (tables, how) in [
        (Tables::Looks, Looking::Corrected),
        (Tables::Peeking, Looking::Peeking),
    ] {
        if of(tables) {
            let (text, of_part) = decision_tables::tables(draws, how);
            print!("{text}");
            missed += of_part;
        }
    }
    for shape in options.shapes.iter().filter(|_| of(Tables::Old)) {
        println!(
            "\n## {} blocks of {} samples, percentile bootstrap over blocks\n\n{}",
            shape.blocks,
            shape.samples,
            percentile_bootstrap::table(&truths, *shape, options.draws)
        );
    }
    println!("\n{missed} bounds missed.");
    std::process::exit(i32::from(missed > 0));
}
