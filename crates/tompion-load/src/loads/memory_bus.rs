//! `memory-bus`: copying blocks that no cache holds.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use tompion_model::Unavailable;

use crate::headroom::memory_allowance_bytes;
use crate::job::{Budget, Job, Plan, usable_cpus};
use crate::load::{Load, Parse, Work};
use crate::spec::Size;

pub(super) static ENTRY: Load = Load {
    name: "memory-bus",
    about: "blocks larger than the last-level cache copied, one thread per CPU; cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[], |_| Ok(Arc::new(MemoryBus))),
};

#[derive(Debug)]
struct MemoryBus;

impl Work for MemoryBus {
    fn plan(&self, _: Budget) -> Result<Plan, Unavailable> {
        plan()
    }
}

/// Bytes copied between two counts.
const STEP_BYTES: u64 = 1 << 20;

/// Size of the last-level cache where the system does not tell: larger than most.
const ASSUMED_CACHE_BYTES: u64 = 64 << 20;

fn plan() -> Result<Plan, Unavailable> {
    let known = last_level_cache_bytes(Path::new("/sys/devices/system/cpu/cpu0/cache"));
    let cache = known.unwrap_or(ASSUMED_CACHE_BYTES);
    let block = block_bytes(cache);
    let threads = threads(usable_cpus() as u64, block, memory_allowance_bytes()?)?;
    let source = match known {
        Some(_) => "last-level cache",
        None => "last-level cache unknown, assumed",
    };
    let job = || -> Job {
        Box::new(move |counter, gate| {
            // In the thread that uses them, for the memory near its CPU.
            let from = vec![1_u8; block as usize];
            let mut to = vec![2_u8; block as usize];
            gate.pass();
            let step = STEP_BYTES as usize;
            loop {
                for (to, from) in to.chunks_exact_mut(step).zip(from.chunks_exact(step)) {
                    to.copy_from_slice(std::hint::black_box(from));
                    std::hint::black_box(to);
                    counter.add(1);
                    counter.add_bytes(STEP_BYTES);
                }
            }
        })
    };
    let operation = format!(
        "{} copied, in blocks of {} ({source} {})",
        Size(STEP_BYTES),
        Size(block),
        Size(cache)
    );
    Ok(Plan::new(operation, (0..threads).map(|_| job()).collect()))
}

/// A quarter more than the cache, in whole steps.
fn block_bytes(cache: u64) -> u64 {
    (cache + cache / 4).next_multiple_of(STEP_BYTES)
}

/// One thread a CPU, or as many as memory allows; each holds two blocks.
fn threads(cpus: u64, block: u64, allowance: u64) -> Result<u64, Unavailable> {
    match cpus.min(allowance / (2 * block)) {
        0 => Err(format!(
            "two blocks of {} are too much: {} MiB may be used, which leaves a fifth of the \
             available memory free",
            Size(block),
            allowance >> 20
        )
        .into()),
        threads => Ok(threads),
    }
}

/// Size of the highest cache level that holds data.
fn last_level_cache_bytes(directory: &Path) -> Option<u64> {
    let caches = fs::read_dir(directory).ok()?.flatten().filter_map(|entry| {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
        let level: u32 = read("level")?.trim().parse().ok()?;
        let kibibytes: u64 = read("size")?.trim().strip_suffix('K')?.parse().ok()?;
        let holds_data = read("type").is_none_or(|kind| kind.trim() != "Instruction");
        (holds_data && kibibytes > 0).then_some((level, kibibytes << 10))
    });
    caches.max().map(|(_, bytes)| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_level_counts() {
        let sysfs = tempfile::tempdir().unwrap();
        assert_eq!(last_level_cache_bytes(sysfs.path()), None);
        for (index, level, kind, size) in [
            ("index0", "1", "Data", "48K"),
            ("index1", "4", "Instruction", "512K"),
            ("index3", "3", "Unified", "32768K"),
            ("index2", "2", "Unified", "1024K"),
        ] {
            let cache = sysfs.path().join(index);
            fs::create_dir(&cache).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(cache.join(name), format!("{text}\n")).unwrap();
            }
        }
        fs::write(sysfs.path().join("uevent"), "").unwrap();
        assert_eq!(last_level_cache_bytes(sysfs.path()), Some(32 << 20));
        assert_eq!(last_level_cache_bytes(Path::new("/nonexistent")), None);
    }

    #[test]
    fn blocks_exceed_the_cache_and_threads_fit_memory() {
        assert_eq!(block_bytes(32 << 20), 40 << 20);
        assert_eq!(block_bytes(100 << 10), 1 << 20);
        assert_eq!(threads(8, 40 << 20, 1 << 40), Ok(8));
        assert_eq!(threads(8, 40 << 20, 200 << 20), Ok(2));
        assert!(threads(8, 40 << 20, 79 << 20).is_err());
    }
}
