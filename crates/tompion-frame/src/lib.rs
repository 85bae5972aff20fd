//! Results on their way out of an instance: framed, so that what is missing, foreign or
//! damaged is noticed. No I/O beyond the reader that is handed in, no clock.
//!
//! | bytes | content (little endian) |
//! |---|---|
//! | 0..8 | magic: whose frame it is |
//! | 8..12 | number of the layout |
//! | 12..16 | kind |
//! | 16..20 | status |
//! | 20..20 + 8 n | length of each of the n parts |
//! | 4 more | CRC-32 of all before it and of the parts |
//! | the rest | the parts |
#![forbid(unsafe_code)]

use std::io::{self, Read};

/// Bytes of a header before the lengths.
const FIXED: usize = 20;

/// A kind of frame with this many parts.
#[derive(Clone, Copy, Debug)]
pub struct Format<const PARTS: usize> {
    /// What it begins with.
    pub magic: &'static [u8; 8],
    /// Raised when the parts, or what leads to them, change their meaning.
    pub layout: u32,
}

/// What a frame holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<const PARTS: usize> {
    /// Which of several results it is.
    pub kind: u32,
    /// How that came about, for example a wait status.
    pub status: u32,
    /// The content.
    pub parts: [Vec<u8>; PARTS],
}

/// Why there is no frame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Nothing was written, or nothing but zeros.
    #[error("it ended without writing a result")]
    Missing,
    /// Something else was written.
    #[error("what it wrote is no result of tompion")]
    Foreign,
    /// Another version wrote it.
    #[error(
        "its result has layout {found}, this program reads {reads}: use the same version in all \
         places"
    )]
    Version {
        /// Layout that was found.
        found: u32,
        /// Layout that is read.
        reads: u32,
    },
    /// The end is missing.
    #[error("its result is truncated: {found} of {expected} bytes")]
    Truncated {
        /// Bytes that are there.
        found: u64,
        /// Bytes that the header announces.
        expected: u64,
    },
    /// More is announced than is taken.
    #[error("its result is too large: {announced} bytes are announced, {most} are taken")]
    TooLarge {
        /// Bytes that the header announces, without its own.
        announced: u64,
        /// Bytes that are taken at most.
        most: u64,
    },
    /// More came than was announced.
    #[error("its result is followed by {0} bytes that are none of it")]
    TooLong(u64),
    /// A bit has flipped.
    #[error("its result is damaged: checksum {found:08x} instead of {expected:08x}")]
    Damaged {
        /// Of what is there.
        found: u32,
        /// In the header.
        expected: u32,
    },
    /// It could not be read.
    #[error("its result cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl<const PARTS: usize> Format<PARTS> {
    /// Length of the header, in bytes.
    pub const HEADER_BYTES: usize = FIXED + 8 * PARTS + 4;

    /// A frame as bytes.
    pub fn encode(&self, kind: u32, status: u32, parts: [&[u8]; PARTS]) -> Vec<u8> {
        let body: usize = parts.iter().map(|part| part.len()).sum();
        let mut bytes = Vec::with_capacity(Self::HEADER_BYTES + body);
        bytes.extend(self.magic);
        for word in [self.layout, kind, status] {
            bytes.extend(word.to_le_bytes());
        }
        for part in parts {
            bytes.extend((part.len() as u64).to_le_bytes());
        }
        let checksum = checksum(&bytes, parts.into_iter());
        bytes.extend(checksum.to_le_bytes());
        parts.iter().for_each(|part| bytes.extend(*part));
        bytes
    }

    /// The frame that `from` begins with; what follows it is left unread. Memory is taken
    /// for what is there, not for what is announced.
    ///
    /// # Errors
    /// Anything but a whole frame of this format, with at most `most` bytes in its parts.
    pub fn decode(&self, mut from: impl Read, most: u64) -> Result<Frame<PARTS>, FrameError> {
        let mut header = Vec::with_capacity(Self::HEADER_BYTES);
        from.by_ref()
            .take(Self::HEADER_BYTES as u64)
            .read_to_end(&mut header)?;
        if header.iter().all(|byte| *byte == 0) {
            return Err(FrameError::Missing);
        }
        let begun = header.len().min(self.magic.len());
        if header[..begun] != self.magic[..begun] {
            return Err(FrameError::Foreign);
        }
        if header.len() < Self::HEADER_BYTES {
            return Err(FrameError::Truncated {
                found: header.len() as u64,
                expected: Self::HEADER_BYTES as u64,
            });
        }
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"));
        let (found, reads) = (word(8), self.layout);
        if found != reads {
            return Err(FrameError::Version { found, reads });
        }
        let lengths: [u64; PARTS] = std::array::from_fn(|part| {
            let at = FIXED + 8 * part;
            u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"))
        });
        let announced = lengths.iter().fold(0_u64, |sum, n| sum.saturating_add(*n));
        if announced > most {
            return Err(FrameError::TooLarge { announced, most });
        }
        let mut parts = [const { Vec::new() }; PARTS];
        for (part, length) in parts.iter_mut().zip(lengths) {
            from.by_ref().take(length).read_to_end(part)?;
        }
        let body: u64 = parts.iter().map(|part: &Vec<u8>| part.len() as u64).sum();
        if body != announced {
            let header = Self::HEADER_BYTES as u64;
            return Err(FrameError::Truncated {
                found: body + header,
                expected: announced.saturating_add(header),
            });
        }
        let checked = Self::HEADER_BYTES - 4;
        let found = checksum(&header[..checked], parts.iter().map(Vec::as_slice));
        let expected = word(checked);
        if found != expected {
            return Err(FrameError::Damaged { found, expected });
        }
        Ok(Frame {
            kind: word(12),
            status: word(16),
            parts,
        })
    }
}

fn checksum<'a>(header: &[u8], parts: impl Iterator<Item = &'a [u8]>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    parts.for_each(|part| hasher.update(part));
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TWO: Format<2> = Format {
        magic: b"PLANTED\n",
        layout: 7,
    };
    const MOST: u64 = 1 << 20;

    fn frame() -> (Vec<u8>, Frame<2>) {
        let parts = [(0..=255).cycle().take(2000).collect(), b"words".to_vec()];
        let bytes = TWO.encode(1, 9 << 8, [&parts[0], &parts[1]]);
        let frame = Frame {
            kind: 1,
            status: 9 << 8,
            parts,
        };
        (bytes, frame)
    }

    #[test]
    fn what_was_written_comes_back_and_no_more_is_read() {
        let (mut bytes, want) = frame();
        assert_eq!(bytes.len(), Format::<2>::HEADER_BYTES + 2005);
        bytes.extend(b"rest");
        let mut from = bytes.as_slice();
        assert_eq!(TWO.decode(&mut from, MOST).unwrap(), want);
        assert_eq!(from, b"rest");
    }

    #[test]
    fn every_flipped_bit_and_every_missing_byte_is_noticed() {
        let (bytes, _) = frame();
        // Miri takes a thousand times as long.
        for at in (0..bytes.len()).step_by(if cfg!(miri) { 61 } else { 1 }) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(TWO.decode(damaged.as_slice(), MOST).is_err(), "byte {at}");
            assert!(TWO.decode(&bytes[..at], MOST).is_err(), "length {at}");
            // What is left by one that was stopped in the middle of writing.
            damaged.clone_from(&bytes);
            damaged[at..].fill(0);
            assert!(
                TWO.decode(damaged.as_slice(), MOST).is_err(),
                "zeros at {at}"
            );
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let (bytes, _) = frame();
        let error = |bytes: &[u8], most| TWO.decode(bytes, most).unwrap_err().to_string();
        assert_eq!(error(&[0; 99], MOST), "it ended without writing a result");
        assert_eq!(error(b"", MOST), "it ended without writing a result");
        assert!(error(b"Segmentation fault", MOST).contains("no result of tompion"));
        assert_eq!(
            error(&bytes[..100], MOST),
            "its result is truncated: 100 of 2045 bytes"
        );
        assert_eq!(
            error(&bytes, 2004),
            "its result is too large: 2005 bytes are announced, 2004 are taken"
        );
        let mut other = bytes;
        other[8] = 9;
        assert_eq!(
            error(&other, MOST),
            "its result has layout 9, this program reads 7: use the same version in all places"
        );
    }

    #[test]
    fn what_is_announced_is_not_reserved() {
        let (mut bytes, _) = frame();
        bytes[FIXED..FIXED + 8].copy_from_slice(&(u64::MAX - 3).to_le_bytes());
        let error = TWO.decode(bytes.as_slice(), u64::MAX).unwrap_err();
        assert!(matches!(error, FrameError::Truncated { found: 2045, .. }));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_taken_or_refused(
            tail in proptest::collection::vec(any::<u8>(), 0..200), known in any::<bool>(),
        ) {
            let mut bytes = if known { b"PLANTED\n\x07\0\0\0".to_vec() } else { Vec::new() };
            bytes.extend(tail);
            // The checksum of random bytes is as good as never right.
            prop_assert!(TWO.decode(bytes.as_slice(), MOST).is_err());
        }
    }
}
