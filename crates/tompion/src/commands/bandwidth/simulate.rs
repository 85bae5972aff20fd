//! `tompion bandwidth simulate`: estimates over links whose truth is known.

use std::io::Write as _;

use serde::Serialize;
use tompion_bandwidth::in_words;
use tompion_model::{format_bits_per_second, format_bytes};
use tompion_path::bandwidth::simulate::{Ends, Hop, SimulatedPath, estimate};
use tompion_path::bandwidth::{Asked, Ending};
use tompion_path::model::{Bottleneck, CrossTraffic, QueueLimit};

use crate::cli::SimulateOptions;
use crate::{exit, output};

/// From the sender to the first link, and from each to the next one, in nanoseconds.
const DELAY_NS: u64 = 1_000_000;

#[derive(Serialize)]
struct Simulated {
    seed: u64,
    ended: &'static str,
    ending: Ending,
    /// What the tightest link had left meanwhile, in bits a second of IP packets, and its capacity.
    true_available_bps: f64,
    true_capacity_bps: f64,
    /// By how much an estimate is off, in parts of that capacity.
    off: Option<f64>,
    trains: u32,
    bytes: u64,
    lasts_ns: i64,
}

/// Carries out the command.
pub fn simulate(options: &SimulateOptions) -> exit::Result {
    let hops = hops(options)?;
    let asked = Asked {
        bytes: options.size,
        most_bytes: options.max_bytes,
        ..Asked::default()
    };
    let is_shown = !options.output.json && !options.output.quiet;
    let mut all = Vec::new();
    for number in 0..options.count {
        let seed = options.seed.wrapping_add(number.into());
        let mut path = SimulatedPath::new(&hops, seed)?;
        let mut ends = Ends::perfect().with_device(options.device as f64);
        let mut method = (options.method.begin)(&asked);
        let done = estimate(method.as_mut(), &mut path, &mut ends);
        let off = match &done.ending {
            Ending::Estimate(found) => {
                let off_bps = found.available_bps - done.truth.available_bps;
                Some(off_bps / done.truth.capacity_bps).filter(|off| off.is_finite())
            }
            _ => None,
        };
        let one = Simulated {
            seed,
            ended: done.ending.name(),
            ending: done.ending,
            true_available_bps: done.truth.available_bps,
            true_capacity_bps: done.truth.capacity_bps,
            off,
            trains: done.trains,
            bytes: done.bytes,
            lasts_ns: done.lasts_ns,
        };
        if is_shown {
            // Nobody reads it where that fails.
            let _ = writeln!(
                std::io::stdout(),
                "{:>6}   {}",
                seed,
                line(&one, options.size)
            );
        }
        all.push(one);
    }
    if options.output.json {
        output::print_json(&all)?;
    } else if is_shown {
        output::print(&in_all(&all))?;
    }
    Ok(0)
}

fn hops(options: &SimulateOptions) -> anyhow::Result<Vec<Hop>> {
    anyhow::ensure!(
        options.cross.len() <= options.rate.len(),
        "--cross is given {} times for {} links (--rate)",
        options.cross.len(),
        options.rate.len()
    );
    let others = options.cross.iter().copied().chain(std::iter::repeat(0));
    let hop = |(rate_bps, others_bps): (&u64, u64)| {
        let cross_traffic = (others_bps > 0).then_some(CrossTraffic {
            rate_bps: others_bps,
            packet_bytes: options.size,
            pattern: options.pattern,
        });
        Hop::link(
            Bottleneck {
                cross_traffic,
                limit: QueueLimit::Bytes(options.queue),
                ..Bottleneck::of_rate(*rate_bps)
            },
            DELAY_NS,
        )
    };
    Ok(options.rate.iter().zip(others).map(hop).collect())
}

fn line(one: &Simulated, bytes: u32) -> String {
    let off = one.off.map_or_else(String::new, |off| {
        format!(
            "; {} was, off by {:+.2} % of the capacity",
            format_bits_per_second(one.true_available_bps),
            100.0 * off
        )
    });
    format!(
        "{}{off}   ({}, {} trains)",
        in_words(&one.ending, bytes, one.bytes),
        format_bytes(one.bytes as f64),
        one.trains
    )
}

/// How far off all of them are.
fn in_all(all: &[Simulated]) -> String {
    let mut off: Vec<f64> = all.iter().filter_map(|one| one.off).map(f64::abs).collect();
    off.sort_by(f64::total_cmp);
    let Some(most) = off.last() else {
        return format!("\nNone of {} ended by a number\n", all.len());
    };
    format!(
        "\n{} of {} ended by a number: off by {:.2} % of the capacity in the middle, {:.2} % at most\n",
        off.len(),
        all.len(),
        100.0 * off[off.len() / 2],
        100.0 * most
    )
}
