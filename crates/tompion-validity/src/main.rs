//! `make bench-validity`: tables of how often intervals and verdicts are right.

use clap::Parser;
use tompion_model::Blocks;
use tompion_validity::decisions::{Looking, Row as WatchedRow, TIMES as TIMES_WATCHED};
use tompion_validity::intervals::{Counting, Row};
use tompion_validity::percentile_bootstrap;
use tompion_validity::table::{Bound, Counted};
use tompion_validity::truth::{Shape, Truth};
use tompion_validity::verdicts::{Outcomes, is_to_decide, verdict};

/// How often intervals and verdicts are right, over series whose truth is known.
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
    /// Coverage of the intervals that were printed before, for comparison.
    #[arg(long)]
    old: bool,
    /// Limits that are watched while samples come in.
    #[arg(long)]
    looks: bool,
    /// The same, looked at again and again as if each look were the only one.
    #[arg(long)]
    peeking: bool,
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

/// Series that are watched.
const WATCHED: [Truth; 6] = [
    Truth::Independent,
    Truth::Heavy,
    Truth::Autoregression(0.9),
    Truth::Stalls(10),
    Truth::Stalls(50),
    Truth::Trend(0.03),
];

/// Quantiles that are watched, and samples that a check brings.
const CHECKS: [(&str, f64, usize); 4] = [
    ("p99", 0.99, 2_000),
    ("p99", 0.99, 16_000),
    ("p99.9", 0.999, 8_000),
    ("p99.9", 0.999, 64_000),
];

/// How often limits that are watched while samples come in are judged wrongly; how many bounds are missed.
fn print_looks(options: &Options) -> u32 {
    let how = match options.peeking {
        true => Looking::Peeking,
        false => Looking::Corrected,
    };
    let mut missed = 0;
    for (name, q, samples) in CHECKS {
        println!("\n## {name}, {samples} samples: kept / exceeded / open\n");
        let times: String = TIMES_WATCHED.map(|t| format!("{t:>17}")).concat();
        println!("{:14} {:>5}{times}  stopped at", "true/limit", "due");
        for truth in WATCHED {
            let seeds = options.seeds.wrapping_mul(1_000_003);
            let row = WatchedRow::of(truth, samples, q, (options.draws, seeds), how);
            missed += u32::from(!row.is_kept());
            let answers: String = row
                .answers
                .map(|a| format!("{:>17}", a.map(|c| c.to_string()).join("/")))
                .concat();
            println!(
                "{:14} {:>5.1}{answers}  {:.2}",
                truth.name(),
                row.due,
                row.stopped
            );
        }
    }
    missed
}

fn width(row: &Row) -> String {
    match row.printed.times {
        0 => "-".into(),
        _ => format!("{:.2}", row.width),
    }
}

/// What the percentile bootstrap covers, and how often it passes what is a tenth beyond the limit:
/// nothing is promised of it.
fn print_old(truths: &[Truth], options: &Options) {
    for shape in &options.shapes {
        println!(
            "\n## {} blocks of {} samples, percentile bootstrap over blocks\n\n{:22} {:>7} {:>7} {:>7}   {:>7} {:>7}",
            shape.blocks, shape.samples, "", "median", "p99", "p99.9", "pass1.1", "of five"
        );
        for truth in truths {
            let covers = |(_, q)| percentile_bootstrap::covering(*truth, *shape, q, options.draws);
            let [median, p99, p99_9] = QUANTILES.map(covers);
            let [one, five] = [1, 5].map(|methods| {
                let how = (methods, 1.1);
                percentile_bootstrap::passing(*truth, *shape, 0.999, options.draws, how)
            });
            println!(
                "{:22} {median:>7} {p99:>7} {p99_9:>7}   {one:>7} {five:>7}",
                truth.name()
            );
        }
    }
}

fn main() {
    let options = Options::parse();
    let truths = Truth::ALL
        .into_iter()
        .filter(|t| t.name().contains(&options.only));
    let truths: Vec<Truth> = truths.collect();
    if options.old {
        return print_old(&truths, &options);
    }
    if options.looks || options.peeking {
        let missed = print_looks(&options);
        println!("\n{missed} rows with a bound that is missed.");
        std::process::exit(i32::from(missed > 0));
    }
    let mut missed = 0;
    println!(
        "{} draws a row, seeds {}. `!` marks a bound that is missed by more than two standard errors.",
        options.draws, options.seeds
    );
    for shape in &options.shapes {
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
    println!("\n{missed} bounds missed.");
    std::process::exit(i32::from(missed > 0));
}
