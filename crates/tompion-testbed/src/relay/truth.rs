//! The file that says what became of each packet: CSV, a line for a packet or a copy, in the order in
//! which their fates were sealed. Empty fields are what a packet never had.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use tompion_path::Way;

use crate::TestbedError;
use crate::relay::record::{Fate, Record};

/// The columns; what each means stands at the fields of [`Record`].
pub const HEADER: &str = "way,number,copy,bytes,crc32,arrival_ns,due_ns,sent_ns,returned_ns,fate,held_back,no_checksum,flipped_byte,flipped_bit";

/// A file of packets that is written while they come.
#[derive(Debug)]
pub struct TruthWriter {
    file: BufWriter<File>,
    path: PathBuf,
}

impl TruthWriter {
    /// Opens the file, and begins it.
    pub fn create(path: &Path, open: fn(&Path) -> io::Result<File>) -> Result<Self, TestbedError> {
        let opened = open(path).map_err(|refused| match refused.raw_os_error() {
            Some(nix::libc::ENXIO) => io::Error::other("nobody reads from it"),
            Some(nix::libc::EISDIR) => io::Error::other("it is a directory"),
            _ => refused,
        });
        let path = path.to_owned();
        match opened.and_then(wait_for_room) {
            Err(source) => Err(TestbedError::Truth {
                path,
                what: "creating",
                source,
            }),
            Ok(file) => {
                let file = BufWriter::with_capacity(1 << 18, file);
                let mut writer = Self { file, path };
                let begun = writeln!(writer.file, "{HEADER}");
                begun.map_err(|source| writer.failed(source))?;
                Ok(writer)
            }
        }
    }

    /// Adds a line.
    pub fn write(&mut self, record: &Record) -> Result<(), TestbedError> {
        let written = write_line(&mut self.file, record);
        written.map_err(|source| self.failed(source))
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<(), TestbedError> {
        let written = self.file.flush();
        written.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> TestbedError {
        TestbedError::Truth {
            path: self.path.clone(),
            what: "writing",
            source,
        }
    }
}

/// From here on a reader that is slow is waited for: records are kept meanwhile.
fn wait_for_room(file: File) -> io::Result<File> {
    rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::empty())?;
    Ok(file)
}

fn write_line(to: &mut impl Write, record: &Record) -> io::Result<()> {
    let Record {
        way,
        is_copy,
        bytes,
        crc32,
        arrival_ns,
        fate,
        is_held_back,
        lacks_checksum,
        ..
    } = *record;
    write!(to, "{way},")?;
    optional(to, record.number)?;
    let copy = u8::from(is_copy);
    write!(to, ",{copy},{bytes},{crc32},{arrival_ns},")?;
    for time in [record.due_ns, record.sent_ns, record.returned_ns] {
        optional(to, time)?;
        to.write_all(b",")?;
    }
    let (held, lacks) = (u8::from(is_held_back), u8::from(lacks_checksum));
    write!(to, "{},{held},{lacks},", fate.name())?;
    optional(to, record.flipped.map(|(byte, _)| byte))?;
    to.write_all(b",")?;
    optional(to, record.flipped.map(|(_, bit)| bit))?;
    to.write_all(b"\n")
}

fn optional(to: &mut impl Write, value: Option<impl std::fmt::Display>) -> io::Result<()> {
    match value {
        Some(value) => write!(to, "{value}"),
        None => Ok(()),
    }
}

/// Reads a file of packets.
///
/// # Errors
/// Where it cannot be read, or a line is no packet.
pub fn read_truth(path: &Path) -> Result<Vec<Record>, TestbedError> {
    let failed = |source| TestbedError::Truth {
        path: path.to_owned(),
        what: "reading",
        source,
    };
    let file = BufReader::new(File::open(path).map_err(failed)?);
    let mut records = Vec::new();
    for (number, line) in (1..).zip(file.lines()) {
        let line = line.map_err(failed)?;
        let record = match number {
            1 if line == HEADER => continue,
            1 => None,
            _ => parse(&line),
        };
        let damaged = || TestbedError::TruthLine {
            path: path.to_owned(),
            line: number,
        };
        records.push(record.ok_or_else(damaged)?);
    }
    Ok(records)
}

fn parse(line: &str) -> Option<Record> {
    let fields: Vec<&str> = line.split(',').collect();
    let fields: [&str; 14] = fields.try_into().ok()?;
    let [
        way,
        number,
        copy,
        bytes,
        crc32,
        arrival,
        due,
        sent,
        returned,
        fate,
        held,
        lacks,
        byte,
        bit,
    ] = fields;
    // `Some(None)` where there is nothing, `None` where it is no number.
    fn number_or_none<T: std::str::FromStr>(field: &str) -> Option<Option<T>> {
        match field {
            "" => Some(None),
            _ => field.parse().ok().map(Some),
        }
    }
    let flag = |field| match field {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    };
    Some(Record {
        way: Way::BOTH.into_iter().find(|w| w.name() == way)?,
        number: number_or_none(number)?,
        is_copy: flag(copy)?,
        bytes: bytes.parse().ok()?,
        crc32: crc32.parse().ok()?,
        arrival_ns: arrival.parse().ok()?,
        due_ns: number_or_none(due)?,
        sent_ns: number_or_none(sent)?,
        returned_ns: number_or_none(returned)?,
        fate: Fate::ALL.into_iter().find(|f| f.name() == fate)?,
        is_held_back: flag(held)?,
        lacks_checksum: flag(lacks)?,
        flipped: match (number_or_none(byte)?, number_or_none(bit)?) {
            (Some(byte), Some(bit)) => Some((byte, bit)),
            (None, None) => None,
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth_file::open_plainly;

    #[test]
    fn what_is_written_is_read() {
        let sent = Record {
            way: Way::Homeward,
            number: Some(7),
            is_copy: true,
            bytes: 1_514,
            crc32: 0xdead_beef,
            arrival_ns: 1_700_000_000_000_000_001,
            due_ns: Some(1_700_000_000_010_000_001),
            sent_ns: Some(1_700_000_000_010_000_009),
            returned_ns: Some(1_700_000_000_010_003_000),
            fate: Fate::Sent,
            is_held_back: true,
            lacks_checksum: false,
            flipped: Some((60, 7)),
        };
        let passed = Record {
            way: Way::Outward,
            number: None,
            due_ns: None,
            fate: Fate::Passed,
            lacks_checksum: true,
            flipped: None,
            ..sent
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = TruthWriter::create(file.path(), open_plainly).unwrap();
        writer.write(&sent).unwrap();
        writer.write(&passed).unwrap();
        writer.finish().unwrap();
        assert_eq!(read_truth(file.path()).unwrap(), [sent, passed]);
        assert_eq!(sent.late_ns(), Some(8));
    }

    #[test]
    fn a_place_that_takes_no_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let told = TruthWriter::create(&pipe, open_plainly)
            .unwrap_err()
            .to_string();
        assert!(
            told.ends_with("pipe: creating failed: nobody reads from it"),
            "{told}"
        );
        let full = TruthWriter::create(Path::new("/dev/full"), open_plainly).unwrap();
        let told = full.finish().unwrap_err().to_string();
        assert!(
            told.starts_with("/dev/full: writing failed: No space left"),
            "{told}"
        );
    }

    #[test]
    fn a_damaged_line_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (damaged, line) in [("no header", 1), (&*format!("{HEADER}\n1,2,3"), 2)] {
            std::fs::write(file.path(), damaged).unwrap();
            let told = read_truth(file.path()).unwrap_err();
            assert!(matches!(told, TestbedError::TruthLine { line: l, .. } if l == line));
        }
    }
}
