//! Files that are mostly holes: they take no room on a disk, and hours to be read, while their
//! length would account for any number of rows.

use std::fs::File;
use std::io;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Of a file of this length holes do not matter, in bytes.
const SHORT: u64 = 1 << 20;

/// Whether less than half of a file is there. No Parquet file has holes; file systems that pack
/// what is written may make some of zeroes. The file is left at its beginning.
///
/// # Errors
/// What the system says, but for file systems that know no holes.
pub fn are_mostly_holes(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    if length <= SHORT {
        return Ok(false);
    }
    let found = data(file, length);
    seek(file, SeekFrom::Start(0))?;
    match found {
        Ok(data) => Ok(data < length / 2),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Bytes that are there, counted up to half of them.
fn data(file: &File, length: u64) -> Result<u64, Errno> {
    let (mut at, mut found) = (0, 0);
    while at < length && found < length / 2 {
        let from = match seek(file, SeekFrom::Data(at)) {
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            from => from?,
        };
        at = seek(file, SeekFrom::Hole(from))?;
        found += at - from;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    #[test]
    fn a_file_is_told_from_a_hole_and_left_at_its_beginning() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 3 << 20]).unwrap();
        assert!(!are_mostly_holes(&file).unwrap());
        file.set_len(5 << 20).unwrap();
        assert!(!are_mostly_holes(&file).unwrap());
        file.set_len(1 << 40).unwrap();
        let has_holes = rustix::fs::seek(&file, SeekFrom::Hole(0)).unwrap() < 1 << 40;
        file.seek(io::SeekFrom::End(-1)).unwrap();
        assert_eq!(are_mostly_holes(&file).unwrap(), has_holes);
        let mut first = [0];
        file.read_exact(&mut first).unwrap();
        assert_eq!(first, [7]);
    }
}
