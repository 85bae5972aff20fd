//! The result's disk: a mark, by which the guest finds it whatever it is called there,
//! and behind it the result: header, then the two outputs. The mark's sector is never
//! written by the guest, since cloud-hypervisor forbids that for disks without a table.
//! The frame's kind is 0 where the command ran, 1 where init refused; its status is the wait
//! status; its parts are standard output, or init's reason, and standard error.

use std::io::{Read, Seek, SeekFrom};

use tompion_frame::{Format, Frame, FrameError};

/// What the result's disk begins with.
pub const MARK: &[u8; 16] = b"TOMPION RESULT.\n";
/// Where the result begins, in bytes: a whole sector of any size.
pub const RESULT_AT: u64 = 4096;

const FORMAT: Format<2> = Format {
    magic: b"TOMPGST\n",
    layout: 2,
};
/// Length of the header, in bytes.
pub const HEADER_BYTES: usize = Format::<2>::HEADER_BYTES;
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

/// The report as bytes, in whole sectors.
pub fn encode(report: &Report) -> Vec<u8> {
    let mut bytes = match report {
        Report::Ran {
            wait_status,
            stdout,
            stderr,
        } => FORMAT.encode(0, wait_status.cast_unsigned(), [stdout, stderr]),
        Report::Refused { problem } => FORMAT.encode(1, 0, [problem.as_bytes(), &[]]),
    };
    bytes.resize(bytes.len().next_multiple_of(SECTOR_BYTES), 0);
    bytes
}

/// Reads the report on the result's disk, which holds no more than its own size.
pub fn read(mut disk: impl Read + Seek) -> Result<Report, FrameError> {
    let size = disk.seek(SeekFrom::End(0))?;
    disk.rewind()?;
    let mut first = [0; SECTOR_BYTES];
    disk.read_exact(&mut first)?;
    if !first.starts_with(MARK) {
        // Earlier layouts began where the mark is.
        return decode(first.as_slice(), size);
    }
    disk.seek(SeekFrom::Start(RESULT_AT))?;
    decode(disk, size)
}

/// What is taken of standard error, and of a reason, in bytes.
const MOST_WORDS: usize = 1 << 20;
const MOST_REASON: usize = 4 << 10;

/// Reads the report that `disk` begins with, of at most so many bytes.
fn decode(disk: impl Read, most: u64) -> Result<Report, FrameError> {
    let Frame {
        kind,
        status,
        parts: [mut stdout, mut stderr],
    } = FORMAT.decode(disk, most)?;
    stderr.truncate(MOST_WORDS);
    Ok(match kind {
        0 => Report::Ran {
            wait_status: status.cast_signed(),
            stdout,
            stderr,
        },
        _ => {
            stdout.truncate(MOST_REASON);
            Report::Refused {
                problem: String::from_utf8_lossy(&stdout).into_owned(),
            }
        }
    })
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
    fn words_without_end_are_cut_off() {
        let long = |bytes: usize| vec![0xFF; bytes];
        let refused = FORMAT.encode(1, 0, [&long(3 << 20), &[]]);
        let Report::Refused { problem } = decode(refused.as_slice(), 64 << 20).unwrap() else {
            panic!("another report");
        };
        assert!(problem.len() <= 3 * MOST_REASON, "{}", problem.len());
        let ran = encode(&Report::Ran {
            wait_status: 0,
            stdout: long(3 << 20),
            stderr: long(3 << 20),
        });
        let Report::Ran { stdout, stderr, .. } = decode(ran.as_slice(), 64 << 20).unwrap() else {
            panic!("another report");
        };
        assert_eq!((stdout.len(), stderr.len()), (3 << 20, MOST_WORDS));
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
            assert_eq!(decode(disk.as_slice(), 4096).unwrap(), report);
            disk.extend([0; 4096]);
            assert_eq!(decode(disk.as_slice(), 4096).unwrap(), report);
        }
    }

    #[test]
    fn the_result_stands_behind_the_mark_and_earlier_ones_are_known() {
        let disk = |mark: &[u8], at: usize, content: &[u8]| {
            let mut disk = vec![0; 1 << 20];
            disk[..mark.len()].copy_from_slice(mark);
            disk[at..at + content.len()].copy_from_slice(content);
            std::io::Cursor::new(disk)
        };
        let written = encode(&ran());
        let at = RESULT_AT as usize;
        assert_eq!(read(disk(MARK, at, &written)).unwrap(), ran());
        let nothing = read(disk(MARK, at, &[]));
        assert!(matches!(nothing, Err(FrameError::Missing)), "{nothing:?}");
        // An init of layout 1 overwrites the mark.
        let mut old = written;
        old[8] = 1;
        let old = read(disk(MARK, 0, &old));
        assert!(matches!(old, Err(FrameError::Version { found: 1, .. })));
    }
}
