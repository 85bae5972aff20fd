//! Writing pcapng.

use std::borrow::Cow;
use std::io::Write;

use pcap_parser::{
    EnhancedPacketBlock, InterfaceDescriptionBlock, InterfaceStatisticsBlock, Linktype, OptionCode,
    PcapNGOption, SectionHeaderBlock, ToVec,
};

use super::{MOST_BLOCK_BYTES, WriteError};
use crate::frame::LinkType;
use crate::tap::{Direction, Record, TapStatistics};

/// `epb_flags`, an option of packets.
const FLAGS: OptionCode = OptionCode(2);
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
}

fn option(code: OptionCode, value: &[u8]) -> Result<PcapNGOption<'_>, WriteError> {
    Ok(PcapNGOption {
        code,
        len: u16::try_from(value.len()).map_err(|_| WriteError::TooLong)?,
        value: Cow::Borrowed(value),
    })
}

/// Seconds and the like as two halves, as the format has them.
fn halves(ns: i64) -> Result<(u32, u32), WriteError> {
    let ns = u64::try_from(ns).map_err(|_| WriteError::TooEarly)?;
    Ok(((ns >> 32) as u32, ns as u32))
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
        let mut writer = Self { to, interfaces: 0 };
        writer.put(SectionHeaderBlock {
            block_type: 0,
            block_len1: 0,
            bom: 0,
            major_version: 1,
            minor_version: 0,
            // Not known until the end.
            section_len: -1,
            options: vec![
                option(OptionCode::ShbUserAppl, program.as_bytes())?,
                option(OptionCode::Comment, comment.as_bytes())?,
            ],
            block_len2: 0,
        })?;
        for interface in interfaces {
            writer.interface(interface)?;
        }
        Ok(writer)
    }

    fn put(&mut self, mut block: impl ToVec) -> Result<(), WriteError> {
        let bytes = block.to_vec().map_err(|_| WriteError::TooLong)?;
        self.to.write_all(&bytes)?;
        Ok(())
    }

    fn interface(&mut self, interface: &Described<'_>) -> Result<(), WriteError> {
        let number = interface.link.number();
        let number = u16::try_from(number).map_err(|_| WriteError::TooLong)?;
        // `if_filter` begins with a byte for its kind: a text.
        let filter = interface.filter.map(|filter| format!("\0{filter}"));
        let mut options = vec![
            option(OptionCode::IfName, interface.name.as_bytes())?,
            option(OptionCode::IfTsresol, &[NANOSECONDS])?,
        ];
        if let Some(filter) = &filter {
            options.push(option(OptionCode::IfFilter, filter.as_bytes())?);
        }
        self.put(InterfaceDescriptionBlock {
            block_type: 0,
            block_len1: 0,
            linktype: Linktype(number.into()),
            reserved: 0,
            snaplen: interface.snap,
            options,
            block_len2: 0,
            if_tsresol: NANOSECONDS,
            if_tsoffset: 0,
        })?;
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
    /// Where it cannot be written, or there is no such interface.
    pub fn packet(&mut self, interface: usize, record: &Record<'_>) -> Result<(), WriteError> {
        let if_id = self.number(interface)?;
        let (ts_high, ts_low) = halves(record.ns)?;
        if record.bytes.len() > MOST_BLOCK_BYTES - 64 {
            return Err(WriteError::TooLong);
        }
        let flags = match record.direction {
            Direction::Incoming => 1u32,
            Direction::Outgoing => 2,
        };
        self.put(EnhancedPacketBlock {
            block_type: 0,
            block_len1: 0,
            if_id,
            ts_high,
            ts_low,
            caplen: record.bytes.len() as u32,
            origlen: record.length,
            data: record.bytes,
            options: vec![option(FLAGS, &flags.to_le_bytes())?],
            block_len2: 0,
        })
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
        let if_id = self.number(interface)?;
        let (ts_high, ts_low) = halves(ns)?;
        let passed = statistics.passed.to_le_bytes();
        let dropped = statistics.dropped.to_le_bytes();
        self.put(InterfaceStatisticsBlock {
            block_type: 0,
            block_len1: 0,
            if_id,
            ts_high,
            ts_low,
            options: vec![
                option(OptionCode::IsbIfRecv, &passed)?,
                option(OptionCode::IsbOsDrop, &dropped)?,
            ],
            block_len2: 0,
        })
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
