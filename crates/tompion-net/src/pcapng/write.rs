//! Writing pcapng: four kinds of blocks, in little endian. The library's writer would bring an
//! asynchronous runtime along, and would allocate for every packet.

use std::io::Write;

use super::{
    BYTE_ORDER, COMMENT, DROPPED_BY_SYSTEM, ENHANCED_PACKET, FLAGS, INTERFACE, INTERFACE_FILTER,
    INTERFACE_NAME, MOST_BLOCK_BYTES, PROGRAM, RECEIVED, RESOLUTION, SECTION, STATISTICS,
    WriteError,
};
use crate::frame::LinkType;
use crate::tap::{Direction, Record, TapStatistics};

/// Ten to the power of minus nine seconds.
const NANOSECONDS: u8 = 9;

/// An interface that packets are captured at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described<'a> {
    /// The device's name.
    pub name: &'a str,
    /// How its frames begin.
    pub link: LinkType,
    /// The most bytes of a frame that are kept; 0 for all.
    pub snap: u32,
    /// What passes, in words.
    pub filter: Option<&'a str>,
}

/// Writes a capture. Give it a buffer ([`std::io::BufWriter`]), and end it by
/// [`finish`](Self::finish).
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    interfaces: u32,
    /// The block that is being put together; its memory is used again.
    block: Vec<u8>,
}

/// Nanoseconds as two halves, as the format has them.
fn halves(ns: i64) -> Result<[u32; 2], WriteError> {
    let ns = u64::try_from(ns).map_err(|_| WriteError::TooEarly)?;
    Ok([(ns >> 32) as u32, ns as u32])
}

impl<W: Write> Writer<W> {
    /// Begins a capture with what made it and a comment, and describes the interfaces.
    ///
    /// # Errors
    /// Where it cannot be written, or a text is longer than 65535 bytes.
    pub fn new(
        to: W,
        program: &str,
        comment: &str,
        interfaces: &[Described<'_>],
    ) -> Result<Self, WriteError> {
        let mut writer = Self {
            to,
            interfaces: 0,
            block: vec![],
        };
        writer.begin(SECTION);
        writer.words(&[BYTE_ORDER]);
        // Version 1.0; the section's length is not known until the end.
        writer.bytes(&[1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        writer.option(PROGRAM, &[program.as_bytes()])?;
        writer.option(COMMENT, &[comment.as_bytes()])?;
        writer.end()?;
        for interface in interfaces {
            writer.interface(interface)?;
        }
        Ok(writer)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        // The length comes when it is known.
        self.words(&[kind, 0]);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.bytes(&word.to_le_bytes());
        }
    }

    /// Parts begin at multiples of four bytes.
    fn align(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// An option, whose value is these parts one behind the other.
    fn option(&mut self, code: u16, value: &[&[u8]]) -> Result<(), WriteError> {
        let length: usize = value.iter().map(|part| part.len()).sum();
        let length = u16::try_from(length).map_err(|_| WriteError::TooLong)?;
        self.bytes(&code.to_le_bytes());
        self.bytes(&length.to_le_bytes());
        for part in value {
            self.bytes(part);
        }
        self.align();
        Ok(())
    }

    /// Writes the block, with the end of its options.
    fn end(&mut self) -> Result<(), WriteError> {
        self.words(&[0]);
        let length = self.block.len() + 4;
        if length > MOST_BLOCK_BYTES {
            return Err(WriteError::TooLong);
        }
        let length = length as u32;
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        self.words(&[length]);
        self.to.write_all(&self.block)?;
        Ok(())
    }

    fn interface(&mut self, interface: &Described<'_>) -> Result<(), WriteError> {
        let link = u16::try_from(interface.link.number()).map_err(|_| WriteError::TooLong)?;
        self.begin(INTERFACE);
        self.words(&[link.into(), interface.snap]);
        self.option(INTERFACE_NAME, &[interface.name.as_bytes()])?;
        self.option(RESOLUTION, &[&[NANOSECONDS]])?;
        if let Some(filter) = interface.filter {
            // Its kind goes first: a text.
            self.option(INTERFACE_FILTER, &[&[0], filter.as_bytes()])?;
        }
        self.end()?;
        self.interfaces += 1;
        Ok(())
    }

    fn number(&self, interface: usize) -> Result<u32, WriteError> {
        let number = u32::try_from(interface).ok();
        number
            .filter(|number| *number < self.interfaces)
            .ok_or(WriteError::NoInterface(interface))
    }

    /// Writes a frame that was captured at an interface.
    ///
    /// # Errors
    /// Where it cannot be written, is too long or too early, or there is no such interface.
    pub fn packet(&mut self, interface: usize, record: &Record<'_>) -> Result<(), WriteError> {
        let number = self.number(interface)?;
        let [high, low] = halves(record.ns)?;
        let captured = u32::try_from(record.bytes.len()).map_err(|_| WriteError::TooLong)?;
        let direction: u32 = match record.direction {
            Direction::Incoming => 1,
            Direction::Outgoing => 2,
        };
        self.begin(ENHANCED_PACKET);
        self.words(&[number, high, low, captured, record.length]);
        self.bytes(record.bytes);
        self.align();
        self.option(FLAGS, &[&direction.to_le_bytes()])?;
        self.end()
    }

    /// Writes what an interface had lost by a moment (nanoseconds since 1970).
    ///
    /// # Errors
    /// Where it cannot be written, or there is no such interface.
    pub fn statistics(
        &mut self,
        interface: usize,
        ns: i64,
        statistics: &TapStatistics,
    ) -> Result<(), WriteError> {
        let number = self.number(interface)?;
        let [high, low] = halves(ns)?;
        self.begin(STATISTICS);
        self.words(&[number, high, low]);
        self.option(RECEIVED, &[&statistics.passed.to_le_bytes()])?;
        self.option(DROPPED_BY_SYSTEM, &[&statistics.dropped.to_le_bytes()])?;
        self.end()
    }

    /// Has what is in buffers written, so that whoever reads meanwhile has whole blocks.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        Ok(self.to.flush()?)
    }

    /// Writes what is still in buffers, and gives the file back.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.to.flush()?;
        Ok(self.to)
    }
}
