//! Counts groups of raw values and does what `benches/stats.py` has its peers do:
//! summaries, CCDF, Kruskal-Wallis, Dunn.
//!
//! `bench_stats FILE GROUPS THREADS`: the file holds the groups one after another, all of
//! one size, as 64-bit integers of this machine. Prints what it took as JSON.

use std::io::Read;
use std::time::Instant;

use serde_json::{Value, json};
use tompion_stats::{Adjustment, Distribution, PooledRanks, dunn, kruskal_wallis};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, groups, threads] = arguments.as_slice() else {
        return Err("usage: bench_stats FILE GROUPS THREADS".into());
    };
    let values = load(file)?;
    let size = values.len() / groups.parse::<usize>()?.max(1);
    if size == 0 {
        return Err(format!("{file}: fewer values than groups").into());
    }
    let threads: usize = threads.parse()?;

    let before = memory_kib("VmRSS")?;
    // The peak from here on.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let started = Instant::now();
    let counted = count(&values, size, threads);
    let counting_s = started.elapsed().as_secs_f64();
    let results = analyse(&counted)?;
    let seconds = started.elapsed().as_secs_f64();
    let peak_bytes = (memory_kib("VmHWM")? - before) * 1024;
    println!(
        "{}",
        json!({
            "seconds": seconds, "counting_s": counting_s, "peak_bytes": peak_bytes,
            "distinct": counted.iter().map(|d| d.pairs().len()).sum::<usize>(),
            "results": results,
        })
    );
    Ok(())
}

/// Reads piecewise, so that the raw bytes are never held beside the values.
fn load(file: &str) -> std::io::Result<Vec<i64>> {
    let mut file = std::fs::File::open(file)?;
    let mut values = Vec::with_capacity(file.metadata()?.len() as usize / 8);
    let mut bytes = vec![0; 1 << 16];
    while file.read_exact(&mut bytes).is_ok() {
        values.extend(bytes.chunks_exact(8).map(whole));
    }
    // What is left is shorter than one piece.
    let mut rest = Vec::new();
    let read = values.len() as u64 * 8;
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(read))?;
    file.read_to_end(&mut rest)?;
    values.extend(rest.chunks_exact(8).map(whole));
    Ok(values)
}

fn whole(bytes: &[u8]) -> i64 {
    i64::from_ne_bytes(bytes.try_into().unwrap_or_default())
}

/// One distribution a group, the groups dealt to the threads in turn.
fn count(values: &[i64], size: usize, threads: usize) -> Vec<Distribution> {
    let groups: Vec<&[i64]> = values.chunks_exact(size).collect();
    if threads < 2 {
        return groups.into_iter().map(Distribution::from_slice).collect();
    }
    let mut counted = vec![Distribution::default(); groups.len()];
    std::thread::scope(|scope| {
        let share = groups.len().div_ceil(threads);
        for (places, groups) in counted.chunks_mut(share).zip(groups.chunks(share)) {
            scope.spawn(move || {
                for (place, group) in places.iter_mut().zip(groups) {
                    *place = Distribution::from_slice(group);
                }
            });
        }
    });
    counted
}

fn analyse(groups: &[Distribution]) -> Result<Value, Box<dyn std::error::Error>> {
    let summaries: Vec<Value> = groups
        .iter()
        .map(|d| {
            let quantiles = [0.5, 0.9, 0.99, 0.999].map(|q| d.quantile(q));
            // All of it is computed; its mean stands for it in the comparison.
            let ccdf: Vec<(i64, f64)> = d.ccdf().collect();
            let mean_share = ccdf.iter().map(|c| c.1).sum::<f64>() / ccdf.len() as f64;
            json!([
                d.len(),
                d.mean(),
                d.standard_deviation(),
                quantiles,
                ccdf.len(),
                mean_share
            ])
        })
        .collect();
    let ranks = PooledRanks::of(groups)?;
    let all = kruskal_wallis(&ranks);
    let pairs: Vec<f64> = dunn(&ranks, Adjustment::Holm)
        .iter()
        .map(|c| c.p_adjusted)
        .collect();
    Ok(json!({ "summaries": summaries, "h": all.h, "p": all.p, "dunn": pairs }))
}

/// A line of this process's memory, in KiB.
fn memory_kib(line: &str) -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let found = status
        .lines()
        .find_map(|l| l.strip_prefix(line)?.strip_prefix(':'));
    let number = found.and_then(|l| l.split_whitespace().next());
    Ok(number.ok_or("no such line in /proc/self/status")?.parse()?)
}
