//! `make bench-validity`: tables of how often intervals, verdicts, comparisons and change points are
//! right.

use clap::Parser;
use tompion_validity::comparisons::SHORT;
use tompion_validity::decisions::Looking;
use tompion_validity::table::Part;
use tompion_validity::truth::{Shape, Truth};
use tompion_validity::{
    change_tables, comparison_tables, decision_tables, interval_tables, percentile_bootstrap,
};

/// How often intervals, verdicts, comparisons and change points are right, over series whose truth is
/// known.
#[derive(Parser)]
struct Options {
    /// Series drawn for each row, from each set of seeds.
    #[arg(long, default_value_t = 1000)]
    draws: u64,
    /// Sets of seeds; what each brings stands side by side.
    #[arg(long, value_delimiter = ',', default_value = "2,3")]
    seeds: Vec<u64>,
    /// Only rows whose name has this in it.
    #[arg(long, default_value = "")]
    only: String,
    /// Shapes: blocks x samples.
    #[arg(long, value_delimiter = ',', value_parser = shape,
        default_value = "6x1000,6x4000,8x1000,8x4000,20x1000,20x4000")]
    shapes: Vec<Shape>,
    /// Only these tables; `old` has the intervals that were printed before, `peeking` limits that are
    /// looked at again and again as if each look were the only one, and `needed` the samples until nine of ten limits are
    /// answered rightly.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "intervals,comparisons,changes,looks"
    )]
    tables: Vec<Tables>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Tables {
    Intervals,
    Comparisons,
    Changes,
    Looks,
    Old,
    Peeking,
    Needed,
}

fn shape(text: &str) -> Result<Shape, String> {
    let shape = text.split_once('x').and_then(|(blocks, samples)| {
        let (blocks, samples) = (blocks.parse().ok()?, samples.parse().ok()?);
        Some(Shape { blocks, samples })
    });
    shape.ok_or_else(|| format!("`{text}` is not like 8x4000"))
}

fn main() {
    let options = Options::parse();
    let truths = Truth::ALL
        .into_iter()
        .filter(|t| t.name().contains(&options.only));
    let truths: Vec<Truth> = truths.collect();
    let seeds: Vec<String> = options.seeds.iter().map(u64::to_string).collect();
    println!(
        "{} draws a row, seeds {}. `!` marks a bound that is missed by more than two standard errors.",
        options.draws,
        seeds.join(" and ")
    );
    let sets = options.seeds.iter();
    let draws: Vec<(u64, u64)> = sets
        .map(|seeds| (options.draws, seeds.wrapping_mul(1_000_003)))
        .collect();
    let mut missed = 0;
    let mut print = |title: &str, (text, of_part): Part| {
        println!("\n## {title}\n\n{}", text.trim_end());
        missed += of_part;
    };
    let of = |tables| options.tables.contains(&tables);
    let size = |shape: &Shape| format!("{} blocks of {} samples", shape.blocks, shape.samples);
    for shape in options.shapes.iter().filter(|_| of(Tables::Intervals)) {
        print(
            &size(shape),
            interval_tables::tables(&truths, *shape, &draws),
        );
    }
    // Two runs of eight blocks each, or two levels that take turns.
    let compared = options.shapes.iter().filter(|shape| shape.blocks == 8);
    for shape in compared.filter(|_| of(Tables::Comparisons)) {
        let title = format!("Two runs of {}", size(shape));
        print(
            &title,
            comparison_tables::like_with_like(&truths, *shape, &draws),
        );
    }
    let whole = options.only.is_empty();
    if of(Tables::Comparisons) && whole && options.shapes.contains(&SHORT) {
        let title = format!("Runs that scatter, and what is found: {}", size(&SHORT));
        print(&title, comparison_tables::runs_and_power(&draws));
    }
    if of(Tables::Changes) && whole {
        print("Change points", change_tables::table(&draws));
    }
    for (tables, how) in [
        (Tables::Looks, Looking::Corrected),
        (Tables::Peeking, Looking::Peeking),
    ] {
        for draws in draws.iter().filter(|_| of(tables)) {
            let title = format!("Limits that are watched, seeds {}", draws.1 / 1_000_003);
            print(&title, decision_tables::tables(*draws, how));
        }
    }
    for draws in draws.iter().filter(|_| of(Tables::Needed)) {
        let title = format!("Samples for nine of ten, seeds {}", draws.1 / 1_000_003);
        print(&title, (decision_tables::needed(*draws), 0));
    }
    for shape in options.shapes.iter().filter(|_| of(Tables::Old)) {
        let title = format!("{}, percentile bootstrap over blocks", size(shape));
        let text = percentile_bootstrap::table(&truths, *shape, options.draws);
        print(&title, (text, 0));
    }
    println!("\n{missed} bounds missed.");
    std::process::exit(i32::from(missed > 0));
}
