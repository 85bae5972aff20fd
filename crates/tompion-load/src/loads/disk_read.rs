//! `disk-read`: reads that the page cache cannot answer.
//!
//! The file is read block by block in random order, each once a pass, without
//! readahead; before each pass the kernel drops its pages (posix_fadvise,
//! POSIX_FADV_DONTNEED). So every read goes to the device, or to the cache of
//! whatever stands behind it. O_DIRECT would do the same on fewer file systems.

use std::fs;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use tompion_model::Unavailable;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use super::files::{in_memory_note, nameless_file};
use crate::headroom::check_disk;
use crate::job::{Budget, Job, Plan};
use crate::load::{Load, Parse, Work, Writes};
use crate::spec::{Irq, Opt, SIZE, Size, Text, parse_size};

pub(super) static ENTRY: Load = Load {
    name: "disk-read",
    about: "a file read in random order with its page cache dropped; size=BYTES (16M), irq=measured \
            or irq=CPU moves the disk's interrupts there, cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[SIZE, IRQ], |options| {
        Ok(Arc::new(DiskRead {
            size_bytes: options.value(SIZE.0, parse_size)?.unwrap_or(USUAL_BYTES),
            irq: options.value(IRQ.0, str::parse)?,
        }))
    }),
};

const IRQ: Opt = ("irq", "irq=measured or irq=CPU");

/// The file unless told otherwise: small enough for any write budget, as large as
/// several seconds of random reads on a slow disk.
const USUAL_BYTES: u64 = 16 << 20;

#[derive(Debug)]
struct DiskRead {
    size_bytes: u64,
    irq: Option<Irq>,
}

impl Work for DiskRead {
    fn describe(&self, text: &mut Text) {
        let size = text.shows(self.size_bytes == USUAL_BYTES);
        text.option(SIZE.0, size.then_some(Size(self.size_bytes)));
        text.option(IRQ.0, self.irq.as_ref());
    }

    fn writes(&self) -> Writes {
        Writes::Once
    }

    fn irq(&self) -> Option<Irq> {
        self.irq
    }

    fn plan(&self, budget: Budget) -> Result<Plan, Unavailable> {
        plan(self.size_bytes, budget)
    }
}

/// What is read at a time.
const BLOCK_BYTES: u64 = 64 * 1024;
/// Blocks that are read beforehand to see whether the device is asked for them.
const TRIED: usize = 16;

fn plan(size_bytes: u64, budget: Budget) -> Result<Plan, Unavailable> {
    let size = size_bytes.next_multiple_of(BLOCK_BYTES);
    if size > budget.bytes {
        return Err(format!(
            "its file of {} is more than its write budget of {} bytes",
            Size(size),
            budget.bytes
        )
        .into());
    }
    check_disk(Path::new("."), size)?;
    let file = prepare(size).map_err(Unavailable::refused("could not make its file"))?;
    let mut blocks = Blocks::new(size / BLOCK_BYTES);
    let mut buffer = vec![0; BLOCK_BYTES as usize];
    let failed = |e: io::Error| format!("could not read its file: {e}");
    let before = device_bytes();
    let tried = TRIED.min(blocks.0.len());
    for _ in 0..tried {
        blocks.read_next(&file, &mut buffer).map_err(failed)?;
    }
    let asked = tried as u64 * BLOCK_BYTES;
    let mut notes = Vec::new();
    match device_bytes().zip(before) {
        Some((after, before)) if after - before < asked / 2 => notes.push(format!(
            "the device was asked for {} of {asked} bytes: this file system keeps them in memory",
            after - before
        )),
        Some(_) => {}
        None => notes.push(
            "this kernel does not tell how much is read from the device (/proc/self/io)".to_owned(),
        ),
    }
    let job: Job = Box::new(move |counter, gate| {
        gate.pass();
        loop {
            if let Err(e) = blocks.read_next(&file, &mut buffer) {
                return failed(e);
            }
            counter.add(1);
            counter.add_bytes(BLOCK_BYTES);
        }
    });
    let operation = format!(
        "{} of a file of {} read, page cache dropped with posix_fadvise{}",
        Size(BLOCK_BYTES),
        Size(size),
        in_memory_note()
    );
    Ok(Plan {
        operation,
        notes,
        jobs: vec![job],
    })
}

/// A file on the disk that no store can take for zeros or for copies of a block.
fn prepare(size: u64) -> io::Result<File> {
    let file = nameless_file()?;
    let mut random = Random(size);
    let mut block = vec![0; BLOCK_BYTES as usize];
    for offset in (0..size).step_by(block.len()) {
        for word in block.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next().to_le_bytes());
        }
        file.write_all_at(&block, offset)?;
    }
    // Only clean pages can be dropped.
    file.sync_all()?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM)?;
    Ok(file)
}

/// The numbers of the blocks in the order of the present pass, and the next one.
struct Blocks(Vec<u64>, usize, Random);

impl Blocks {
    fn new(count: u64) -> Self {
        // "At the end", so that the first read begins a pass.
        Self((0..count).collect(), count as usize, Random(1))
    }

    fn read_next(&mut self, file: &File, buffer: &mut [u8]) -> io::Result<()> {
        let Self(order, next, random) = self;
        if *next >= order.len() {
            posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
            // Fisher and Yates.
            for last in (1..order.len()).rev() {
                order.swap(last, (random.next() % (last as u64 + 1)) as usize);
            }
            *next = 0;
        }
        let block = order[*next];
        *next += 1;
        file.read_exact_at(buffer, block * BLOCK_BYTES)
    }
}

/// Bytes that this process has had read from devices.
fn device_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    let value = text.lines().find_map(|l| l.strip_prefix("read_bytes: "))?;
    value.parse().ok()
}

/// SplitMix64 (Steele, Lea and Flood 2014): content and order without a pattern.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pass_reads_each_block_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut content = Vec::new();
        for block in 0..7_u8 {
            content.extend(vec![block; BLOCK_BYTES as usize]);
        }
        fs::write(&path, content).unwrap();
        let file = File::open(path).unwrap();
        let mut blocks = Blocks::new(7);
        let mut buffer = vec![0; BLOCK_BYTES as usize];
        let mut orders = Vec::new();
        for _ in 0..3 {
            let mut seen: Vec<u8> = (0..7)
                .map(|_| {
                    blocks.read_next(&file, &mut buffer).unwrap();
                    buffer[0]
                })
                .collect();
            orders.push(seen.clone());
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
        }
        assert!(orders[0] != orders[1] || orders[1] != orders[2], "shuffled");
    }

    #[test]
    fn numbers_are_those_of_splitmix64() {
        // Of the authors' reference implementation with seed 1234567.
        let mut random = Random(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }
}
