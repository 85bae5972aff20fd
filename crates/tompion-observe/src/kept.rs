//! Files of the kernel that are read again and again.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// An open file and the memory for what it holds.
#[derive(Debug)]
pub(crate) struct Kept {
    file: File,
    buffer: Vec<u8>,
}

impl Kept {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            buffer: vec![0; 1024],
        }
    }

    /// Opens a file if there is one and it can be read.
    pub(crate) fn open(path: &str) -> Option<Self> {
        let mut kept = Self::new(File::open(path).ok()?);
        kept.read().is_some().then_some(kept)
    }

    /// What it holds now; memory grows the first time that it does not suffice.
    /// Absent when the kernel has nothing more to tell, for example of a thread
    /// that is gone.
    pub(crate) fn read(&mut self) -> Option<&[u8]> {
        let mut filled = 0;
        loop {
            match self.file.read_at(&mut self.buffer[filled..], filled as u64) {
                // Files of /proc give what is left in one piece, or a page of it.
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            }
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            } else if filled < 1024 {
                // Short ones come whole; the question whether there is more costs
                // as much as the answer.
                break;
            }
        }
        Some(&self.buffer[..filled])
    }
}

/// Numbers in a text, in their order; whatever else stands there separates them.
pub(crate) fn numbers(text: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while !text.get(at)?.is_ascii_digit() {
            at += 1;
        }
        let mut n = 0u64;
        while let Some(digit) = text.get(at).filter(|b| b.is_ascii_digit()) {
            n = n.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            at += 1;
        }
        Some(n)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_between_anything() {
        assert_eq!(numbers(b"cpu0 12  345\n").collect::<Vec<_>>(), [0, 12, 345]);
        assert_eq!(numbers(b"none").count(), 0);
    }

    #[test]
    fn reads_long_files_whole_and_again() {
        let mut kept = Kept::open("/proc/cpuinfo").unwrap();
        let whole = std::fs::read("/proc/cpuinfo").unwrap();
        for _ in 0..3 {
            assert!(kept.read().unwrap().len().abs_diff(whole.len()) < whole.len() / 10 + 64);
        }
    }
}
