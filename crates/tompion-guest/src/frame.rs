//! The result's disk: a mark, by which the guest finds it whatever it is called there,
//! and behind it the result: header, then the two outputs. The mark's sector is never
//! written by the guest, since cloud-hypervisor forbids that for disks without a table.
//!
//! | bytes from [`RESULT_AT`] | content (little endian) |
//! |---|---|
//! | 0..8 | magic |
//! | 8..12 | version of this layout |
//! | 12..16 | kind: 0 the command ran, 1 init refused |
//! | 16..20 | wait status of the command |
//! | 20..28 | length of standard output, or of init's reason |
//! | 28..36 | length of standard error |
//! | 36..40 | CRC-32 of bytes 0..36 and of all that follows the header |

use std::io::{self, Read, Seek, SeekFrom};

/// What the result's disk begins with.
pub const MARK: &[u8; 16] = b"TOMPION RESULT.\n";
/// Where the result begins, in bytes: a whole sector of any size.
pub const RESULT_AT: u64 = 4096;

const MAGIC: &[u8; 8] = b"TOMPGST\n";
const VERSION: u32 = 2;
const CHECKED: usize = 36;
/// Length of the header, in bytes.
pub const HEADER_BYTES: usize = 40;
/// Disks are written in whole sectors.
pub const SECTOR_BYTES: usize = 512;

/// What the guest's init has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The command ran and ended.
    Ran {
        /// As wait(2) gives it.
        wait_status: i32,
        /// Standard output.
        stdout: Vec<u8>,
        /// Standard error.
        stderr: Vec<u8>,
    },
    /// The command could not be run, or its output not kept.
    Refused {
        /// Why.
        problem: String,
    },
}

/// Why a guest's disk holds no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Nothing was written.
    #[error("it ended without writing a result")]
    Missing,
    /// Something else was written.
    #[error("what it wrote is no result")]
    Foreign,
    /// Written by another version of `tompion-guest-init`.
    #[error("its result has layout {found}, this program reads {VERSION}: build both anew")]
    Version {
        /// Layout that was found.
        found: u32,
    },
    /// Shorter than its header says.
    #[error("its result is truncated: {found} of {expected} bytes")]
    Truncated {
        /// Bytes that are there.
        found: u64,
        /// Bytes that the header announces.
        expected: u64,
    },
    /// Damaged.
    #[error("its result is damaged: checksum {found:08x} instead of {expected:08x}")]
    Checksum {
        /// Computed from what is there.
        found: u32,
        /// As written by the guest.
        expected: u32,
    },
    /// The disk could not be read.
    #[error("its result cannot be read: {0}")]
    Unreadable(String),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// The report as bytes, in whole sectors.
pub fn encode(report: &Report) -> Vec<u8> {
    let (kind, wait_status, first, second) = match report {
        Report::Ran {
            wait_status,
            stdout,
            stderr,
        } => (0_u32, *wait_status, stdout.as_slice(), stderr.as_slice()),
        Report::Refused { problem } => (1, 0, problem.as_bytes(), [].as_slice()),
    };
    let mut bytes = Vec::with_capacity(HEADER_BYTES + first.len() + second.len() + SECTOR_BYTES);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(wait_status.to_le_bytes());
    bytes.extend((first.len() as u64).to_le_bytes());
    bytes.extend((second.len() as u64).to_le_bytes());
    let checksum = checksum(&bytes, [first, second]);
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(first);
    bytes.extend(second);
    bytes.resize(bytes.len().next_multiple_of(SECTOR_BYTES), 0);
    bytes
}

/// Reads the report on the result's disk.
pub fn read(mut disk: impl Read + Seek) -> Result<Report, FrameError> {
    disk.rewind()?;
    let mut first = [0; SECTOR_BYTES];
    disk.read_exact(&mut first)?;
    if !first.starts_with(MARK) {
        // Earlier layouts began where the mark is.
        return decode(first.as_slice());
    }
    disk.seek(SeekFrom::Start(RESULT_AT))?;
    decode(disk)
}

/// Reads the report that `disk` begins with.
pub fn decode(mut disk: impl Read) -> Result<Report, FrameError> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    disk.by_ref()
        .take(HEADER_BYTES as u64)
        .read_to_end(&mut header)?;
    if header.iter().all(|byte| *byte == 0) {
        return Err(FrameError::Missing);
    }
    if !header.starts_with(MAGIC) {
        return Err(FrameError::Foreign);
    }
    if header.len() < HEADER_BYTES {
        return Err(FrameError::Truncated {
            found: header.len() as u64,
            expected: HEADER_BYTES as u64,
        });
    }
    let u32_at = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"));
    let u64_at = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
    if u32_at(8) != VERSION {
        return Err(FrameError::Version { found: u32_at(8) });
    }
    let (first_bytes, second_bytes) = (u64_at(20), u64_at(28));
    let body_bytes = first_bytes.saturating_add(second_bytes);
    let mut first = Vec::new();
    let mut second = Vec::new();
    disk.by_ref().take(first_bytes).read_to_end(&mut first)?;
    disk.take(second_bytes).read_to_end(&mut second)?;
    let found = (first.len() + second.len()) as u64;
    if found != body_bytes {
        let header = HEADER_BYTES as u64;
        return Err(FrameError::Truncated {
            found: found + header,
            expected: body_bytes.saturating_add(header),
        });
    }
    let found = checksum(&header[..CHECKED], [&first, &second]);
    let expected = u32_at(CHECKED);
    if found != expected {
        return Err(FrameError::Checksum { found, expected });
    }
    match u32_at(12) {
        0 => Ok(Report::Ran {
            wait_status: u32_at(16).cast_signed(),
            stdout: first,
            stderr: second,
        }),
        _ => Ok(Report::Refused {
            problem: String::from_utf8_lossy(&first).into_owned(),
        }),
    }
}

fn checksum(header: &[u8], parts: [&[u8]; 2]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran() -> Report {
        Report::Ran {
            wait_status: 7 << 8,
            stdout: (0..=255).cycle().take(2000).collect(),
            stderr: b"a warning\n".to_vec(),
        }
    }

    #[test]
    fn comes_back_as_written_with_or_without_a_disk_behind_it() {
        let refused = Report::Refused {
            problem: "no such program".into(),
        };
        let silent = Report::Ran {
            wait_status: 9,
            stdout: vec![],
            stderr: vec![],
        };
        for report in [ran(), refused, silent] {
            let mut disk = encode(&report);
            assert_eq!(disk.len() % SECTOR_BYTES, 0);
            assert_eq!(decode(disk.as_slice()), Ok(report.clone()));
            disk.extend([0; 4096]);
            assert_eq!(decode(disk.as_slice()), Ok(report));
        }
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let disk = encode(&ran());
        for at in 0..HEADER_BYTES + 2000 {
            let mut damaged = disk.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(decode(damaged.as_slice()).is_err(), "byte {at}");
        }
    }

    #[test]
    fn every_truncation_is_noticed() {
        let disk = encode(&ran());
        for length in 0..HEADER_BYTES + 2000 {
            let cut = &disk[..length];
            assert!(decode(cut).is_err(), "length {length}");
            // What a guest leaves that is stopped in the middle of writing.
            let mut zeroed = cut.to_vec();
            zeroed.resize(disk.len() + 512, 0);
            assert!(decode(zeroed.as_slice()).is_err(), "zeros from {length}");
        }
        assert_eq!(
            decode(&disk[..100]),
            Err(FrameError::Truncated {
                found: 100,
                expected: 2050
            })
        );
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(decode([0; 4096].as_slice()), Err(FrameError::Missing));
        assert_eq!(decode([7; 4096].as_slice()), Err(FrameError::Foreign));
        let mut disk = encode(&ran());
        disk[8] = 9;
        let error = decode(disk.as_slice()).unwrap_err();
        assert!(error.to_string().contains("layout 9, this program reads 2"));
    }

    #[test]
    fn the_result_stands_behind_the_mark_and_earlier_ones_are_known() {
        let disk = |mark: &[u8], at: usize, content: &[u8]| {
            let mut disk = vec![0; 1 << 20];
            disk[..mark.len()].copy_from_slice(mark);
            disk[at..at + content.len()].copy_from_slice(content);
            io::Cursor::new(disk)
        };
        let written = encode(&ran());
        let at = RESULT_AT as usize;
        assert_eq!(read(disk(MARK, at, &written)), Ok(ran()));
        assert_eq!(read(disk(MARK, at, &[])), Err(FrameError::Missing));
        // An init of layout 1 overwrites the mark.
        let mut old = written;
        old[8] = 1;
        let error = read(disk(MARK, 0, &old)).unwrap_err();
        assert_eq!(error, FrameError::Version { found: 1 });
    }
}
