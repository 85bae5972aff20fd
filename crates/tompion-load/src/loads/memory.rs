//! `memory`: blocks mapped, touched and freed (Whiteaker 2011: malloc and free).

use std::num::NonZeroUsize;
use std::sync::Arc;
use tompion_model::Unavailable;

use crate::headroom::memory_allowance_bytes;
use crate::job::{Budget, Job, Plan, usable_cpus};
use crate::load::{Load, Parse, Work};
use crate::spec::{SIZE, Size, THREADS, Text, parse_size};
use crate::sys;

pub(super) static ENTRY: Load = Load {
    name: "memory",
    about: "blocks mapped, touched and freed, one thread per CPU; threads=N, size=BYTES of one block \
            (K, M, G), cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[THREADS, SIZE], |options| {
        Ok(Arc::new(Memory {
            threads: options.threads()?,
            size_bytes: options.value(SIZE.0, parse_size)?,
        }))
    }),
};

/// Absent means by the machine.
#[derive(Debug)]
struct Memory {
    threads: Option<u32>,
    size_bytes: Option<u64>,
}

impl Work for Memory {
    fn describe(&self, text: &mut Text) {
        text.option(THREADS.0, self.threads);
        text.option(SIZE.0, self.size_bytes.map(Size));
    }

    fn plan(&self, _: Budget) -> Result<Plan, Unavailable> {
        plan(self.threads, self.size_bytes)
    }
}

/// Default block, less where memory is short: far larger than what an allocator
/// keeps back, small enough to be done many times a second.
const BLOCK_BYTES: u64 = 64 << 20;

fn plan(threads: Option<u32>, size_bytes: Option<u64>) -> Result<Plan, Unavailable> {
    let threads = threads.map_or_else(usable_cpus, |threads| threads as usize);
    let page = procfs::page_size();
    let bytes = block_bytes(threads as u64, size_bytes, memory_allowance_bytes()?, page)?;
    let block = usize::try_from(bytes).ok().and_then(NonZeroUsize::new);
    let block = block.ok_or("the block does not fit the address space")?;
    let job = || -> Job {
        Box::new(move |counter, gate| {
            gate.pass();
            loop {
                if let Err(e) = sys::map_touch_unmap(block, page as usize) {
                    return format!("could not map {}: {e}", Size(bytes));
                }
                counter.add(1);
                counter.add_bytes(bytes);
            }
        })
    };
    Ok(Plan::new(
        format!("{} mapped, touched and freed", Size(bytes)),
        (0..threads).map(|_| job()).collect(),
    ))
}

/// Size of one block: what was asked for if all threads together may have it, or
/// the default cut to what they may have.
fn block_bytes(
    threads: u64,
    asked: Option<u64>,
    allowance: u64,
    page: u64,
) -> Result<u64, Unavailable> {
    let share = allowance / threads;
    match asked {
        Some(bytes) if bytes <= share => Ok(bytes),
        None if share >= page => Ok((share / page * page).min(BLOCK_BYTES)),
        _ => Err(format!(
            "{threads} threads of {} each are too much: {} MiB may be used, which leaves a fifth \
             of the available memory free; at most {} KiB a thread",
            Size(asked.unwrap_or(page)),
            allowance >> 20,
            share >> 10,
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_together_stay_within_the_allowance() {
        assert_eq!(block_bytes(2, None, 1 << 40, 4096), Ok(BLOCK_BYTES));
        assert_eq!(block_bytes(2, None, 10_000, 4096), Ok(4096));
        assert_eq!(block_bytes(2, Some(5000), 10_000, 4096), Ok(5000));
        for (asked, allowance) in [(Some(5001), 10_000), (None, 8191), (None, 0)] {
            let message = block_bytes(2, asked, allowance, 4096)
                .unwrap_err()
                .to_string();
            assert!(message.starts_with("2 threads of"), "{message}");
        }
    }
}
