//! The file that says what became of each packet: CSV, a line for a packet or a copy, in the order in
//! which their fates were sealed. Empty fields are what a packet never had.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use tompion_path::Way;

use crate::TestbedError;
use crate::relay::record::{Fate, Record};

/// The columns; what each means stands at the fields of [`Record`].
pub const HEADER: &str = "way,number,copy,bytes,crc32,arrival_ns,due_ns,sent_ns,returned_ns,fate,held_back,no_checksum,flipped_byte,flipped_bit";

/// A file of packets that is written.
#[derive(Debug)]
pub struct TruthWriter {
    file: BufWriter<File>,
}

impl TruthWriter {
    /// Makes the file, or empties it.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 18, File::create(path)?);
        writeln!(file, "{HEADER}")?;
        Ok(Self { file })
    }

    pub fn write(&mut self, record: &Record) -> io::Result<()> {
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
        write!(self.file, "{way},")?;
        optional(&mut self.file, record.number)?;
        let copy = u8::from(is_copy);
        write!(self.file, ",{copy},{bytes},{crc32},{arrival_ns},")?;
        for time in [record.due_ns, record.sent_ns, record.returned_ns] {
            optional(&mut self.file, time)?;
            self.file.write_all(b",")?;
        }
        let (held, lacks) = (u8::from(is_held_back), u8::from(lacks_checksum));
        write!(self.file, "{},{held},{lacks},", fate.name())?;
        optional(&mut self.file, record.flipped.map(|(byte, _)| byte))?;
        self.file.write_all(b",")?;
        optional(&mut self.file, record.flipped.map(|(_, bit)| bit))?;
        self.file.write_all(b"\n")
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()
    }
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
        let mut writer = TruthWriter::create(file.path()).unwrap();
        writer.write(&sent).unwrap();
        writer.write(&passed).unwrap();
        writer.finish().unwrap();
        assert_eq!(read_truth(file.path()).unwrap(), [sent, passed]);
        assert_eq!(sent.late_ns(), Some(8));
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
