//! Files of programs and libraries, which may say anything of themselves: no more is read of them
//! than any real one takes, and nothing is waited for.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use object::read::{ReadCache, ReadRef};

/// What may be read of a program, and of all its libraries together, in bytes. The tables of
/// names in large libraries take some tens of MiB.
const MOST: u64 = 128 << 20;

/// What a file costs that is looked for, there or not: its share of the time.
const OPENING: u64 = 4 << 10;

/// What a library costs that is looked for in the loader's cache and in directories.
const LOOKING: u64 = 64 << 10;

/// What a text costs besides its length: so much is read, by pieces, of one that has no end.
const TEXT: u64 = 4096 + 256;

/// What is left of that where it has one.
const OF_TEXT: u64 = 256;

/// What may still be read.
#[derive(Clone, Debug)]
pub(crate) struct Allowance(Cell<u64>);

impl Allowance {
    pub fn new() -> Self {
        Self(Cell::new(MOST))
    }

    /// For another file to look for.
    pub fn open(&self) -> Result<(), ()> {
        self.take(OPENING)
    }

    /// For another library to look for.
    pub fn look(&self) -> Result<(), ()> {
        self.take(LOOKING)
    }

    fn give(&self, bytes: u64) {
        self.0.set(self.0.get() + bytes);
    }

    fn take(&self, bytes: u64) -> Result<(), ()> {
        self.0.set(self.0.get().checked_sub(bytes).ok_or(())?);
        Ok(())
    }
}

/// Opens a regular file. What is none is not waited for, as a pipe would be.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// A file, of which as much can be read as is allowed.
#[derive(Clone, Copy)]
pub(crate) struct Bounded<'a> {
    pub file: &'a ReadCache<File>,
    pub left: &'a Allowance,
}

impl<'a> ReadRef<'a> for Bounded<'a> {
    fn len(self) -> Result<u64, ()> {
        self.file.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.left.take(size)?;
        self.file.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.left.take(TEXT)?;
        let text = self.file.read_bytes_at_until(range, delimiter)?;
        self.left.give(TEXT - OF_TEXT);
        // It is kept by the cache, and by whoever asks.
        self.left.take(2 * text.len() as u64)?;
        Ok(text)
    }
}
