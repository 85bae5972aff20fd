//! Reading pcapng and pcap.

use std::io::{self, BufRead, BufReader, Read};

use pcap_parser::nom::IResult;
use pcap_parser::{
    PcapError, PcapNGOption, parse_enhancedpacketblock_be, parse_enhancedpacketblock_le,
    parse_interfacedescriptionblock_be, parse_interfacedescriptionblock_le,
    parse_interfacestatisticsblock_be, parse_interfacestatisticsblock_le, parse_pcap_header,
    parse_sectionheaderblock,
};

use super::{
    BYTE_ORDER, Counts, DROPPED_BY_DEVICE, DROPPED_BY_SYSTEM, ENHANCED_PACKET, FLAGS, INTERFACE,
    INTERFACE_NAME, Interface, MOST_BLOCK_BYTES, MOST_INTERFACES, MOST_NAME_BYTES, OFFSET, Packet,
    RECEIVED, RESOLUTION, ReadError, Resolution, SECTION, SIMPLE_PACKET, STATISTICS,
};
use crate::address::bytes_at;
use crate::frame::LinkType;
use crate::tap::Direction;

/// Type, and length in front and behind.
const FRAMING: usize = 12;
/// A block's type and its length.
const HEAD: usize = 8;

/// Which of the two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Pcapng,
    /// Its stamps are seconds and parts of one.
    Pcap,
}

/// Reads a capture, packet by packet, in bounded memory.
#[derive(Debug)]
pub struct Reader<R> {
    from: BufReader<R>,
    format: Format,
    is_big_endian: bool,
    /// Of all sections.
    interfaces: Vec<Interface>,
    /// The first of the section that is being read.
    of_section: usize,
    block: Vec<u8>,
    /// Where the next block begins.
    at: u64,
    skipped: u64,
    unstamped: u64,
}

impl<R: Read> Reader<R> {
    /// Begins to read, and sees which format it is.
    ///
    /// # Errors
    /// Where it cannot be read, or is no capture.
    pub fn new(from: R) -> Result<Self, ReadError> {
        let mut reader = Self {
            from: BufReader::with_capacity(1 << 16, from),
            format: Format::Pcapng,
            is_big_endian: false,
            interfaces: vec![],
            of_section: 0,
            block: vec![],
            at: 0,
            skipped: 0,
            unstamped: 0,
        };
        reader.read_up_to(4)?;
        let Some(magic) = bytes_at(&reader.block, 0).map(u32::from_le_bytes) else {
            return Err(ReadError::NotACapture);
        };
        if magic == SECTION {
            reader.section()?;
        } else {
            reader.pcap_header()?;
        }
        Ok(reader)
    }

    /// Where packets were captured, as far as the file was read.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Blocks that were passed over.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Packets that were passed over, because their blocks have no stamps.
    pub fn unstamped(&self) -> u64 {
        self.unstamped
    }

    /// The next packet, or none at the end. After an error nothing more is to be had.
    ///
    /// # Errors
    /// Where the rest cannot be read: cut off, damaged, or larger than is taken.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        match self.format {
            Format::Pcapng => self.next_of_pcapng(),
            Format::Pcap => self.next_of_pcap(),
        }
    }

    /// Reads so many bytes more behind what is in `block`; fewer at the end of the file.
    fn read_up_to(&mut self, count: usize) -> Result<(), ReadError> {
        let wanted = self.block.len() + count;
        let limit = u64::try_from(count).unwrap_or(u64::MAX);
        // It grows by what is there, however much was promised.
        (&mut self.from).take(limit).read_to_end(&mut self.block)?;
        debug_assert!(self.block.len() <= wanted);
        Ok(())
    }

    /// Has so many bytes of the block in all, or says that it is cut off.
    fn complete(&mut self, length: usize) -> Result<(), ReadError> {
        self.read_up_to(length.saturating_sub(self.block.len()))?;
        match self.block.len() < length {
            true => Err(ReadError::CutOff { at: self.at }),
            false => Ok(()),
        }
    }

    fn number(&self, at: usize) -> u32 {
        let bytes = bytes_at(&self.block, at).unwrap_or_default();
        match self.is_big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        }
    }

    /// The length of the block whose head was read, if it can be one.
    fn length(&self) -> Result<usize, ReadError> {
        let length = self.number(4) as usize;
        match length >= FRAMING && length.is_multiple_of(4) {
            true => Ok(length),
            false => Err(ReadError::Damaged { at: self.at }),
        }
    }

    /// Has the whole block, if it is not too large and has the same length at its end.
    fn whole(&mut self, length: usize) -> Result<(), ReadError> {
        if length > MOST_BLOCK_BYTES {
            return Err(ReadError::TooLarge {
                at: self.at,
                bytes: length as u64,
            });
        }
        self.complete(length)?;
        match self.number(length - 4) as usize == length {
            true => Ok(()),
            false => Err(ReadError::Damaged { at: self.at }),
        }
    }

    /// A section's header, whose type was read.
    fn section(&mut self) -> Result<(), ReadError> {
        self.complete(FRAMING)?;
        let order = bytes_at(&self.block, HEAD).unwrap_or_default();
        self.is_big_endian = match u32::from_le_bytes(order) {
            BYTE_ORDER => false,
            order if order.swap_bytes() == BYTE_ORDER => true,
            _ => return Err(ReadError::Damaged { at: self.at }),
        };
        let length = self.length()?;
        self.whole(length)?;
        // Versions but for 1 may be anything.
        let section = parsed(parse_sectionheaderblock(&self.block), self.at)?;
        if section.major_version != 1 {
            return Err(ReadError::Damaged { at: self.at });
        }
        self.of_section = self.interfaces.len();
        self.at += length as u64;
        Ok(())
    }

    fn next_of_pcapng(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        loop {
            self.block.clear();
            self.read_up_to(HEAD)?;
            if self.block.is_empty() {
                return Ok(None);
            }
            self.complete(HEAD)?;
            let kind = self.number(0);
            if kind == SECTION {
                self.section()?;
                continue;
            }
            let length = self.length()?;
            match kind {
                INTERFACE | STATISTICS | ENHANCED_PACKET => self.whole(length)?,
                _ => {
                    self.skip(length)?;
                    match kind {
                        SIMPLE_PACKET => self.unstamped += 1,
                        _ => self.skipped += 1,
                    }
                    continue;
                }
            }
            let at = self.at;
            self.at += length as u64;
            match kind {
                INTERFACE => self.interface(at)?,
                STATISTICS => self.statistics(at)?,
                _ => return self.packet(at).map(Some),
            }
        }
    }

    /// Passes over a block whose head was read.
    fn skip(&mut self, length: usize) -> Result<(), ReadError> {
        let rest = (length - HEAD) as u64;
        let passed = io::copy(&mut (&mut self.from).take(rest), &mut io::sink())?;
        if passed < rest {
            return Err(ReadError::CutOff { at: self.at });
        }
        self.at += length as u64;
        Ok(())
    }

    fn interface(&mut self, at: u64) -> Result<(), ReadError> {
        let block = match self.is_big_endian {
            true => parsed(parse_interfacedescriptionblock_be(&self.block), at)?,
            false => parsed(parse_interfacedescriptionblock_le(&self.block), at)?,
        };
        let options = &block.options;
        let resolution = match find(options, RESOLUTION) {
            Some(value) => {
                let first = value.first().copied();
                first.and_then(Resolution::from_option)
            }
            None => Some(Resolution::MICROSECONDS),
        };
        let name = find(options, INTERFACE_NAME).map(|name| {
            let name = &name[..name.len().min(MOST_NAME_BYTES)];
            String::from_utf8_lossy(name).into_owned()
        });
        let offset = find(options, OFFSET);
        let offset = offset.and_then(|offset| self.long(offset)).unwrap_or(0);
        let interface = Interface {
            name,
            // The library reads 16 bits as a signed number of 32.
            link: LinkType::from_number(block.linktype.0 as u32 & 0xffff),
            snap: block.snaplen,
            resolution: resolution.ok_or(ReadError::Stamp { at })?,
            counts: Counts::default(),
            offset_s: offset.cast_signed(),
        };
        if self.interfaces.len() >= MOST_INTERFACES {
            return Err(ReadError::TooManyInterfaces);
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// A number of 64 bits in the section's order.
    fn long(&self, bytes: &[u8]) -> Option<u64> {
        let bytes = bytes_at(bytes, 0)?;
        Some(match self.is_big_endian {
            true => u64::from_be_bytes(bytes),
            false => u64::from_le_bytes(bytes),
        })
    }

    /// An interface of this section.
    fn place(&self, number: u32, at: u64) -> Result<usize, ReadError> {
        let place = (self.of_section as u64).saturating_add(number.into());
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        match place < self.interfaces.len() {
            true => Ok(place),
            false => Err(ReadError::Damaged { at }),
        }
    }

    fn statistics(&mut self, at: u64) -> Result<(), ReadError> {
        let block = match self.is_big_endian {
            true => parsed(parse_interfacestatisticsblock_be(&self.block), at)?,
            false => parsed(parse_interfacestatisticsblock_le(&self.block), at)?,
        };
        let count = |code| find(&block.options, code).and_then(|value| self.long(value));
        let counts = Counts {
            received: count(RECEIVED),
            dropped_by_device: count(DROPPED_BY_DEVICE),
            dropped_by_system: count(DROPPED_BY_SYSTEM),
        };
        let place = self.place(block.if_id, at)?;
        // They are counts since the capture began: a later block that says less takes nothing back.
        let known = &mut self.interfaces[place].counts;
        *known = Counts {
            received: known.received.max(counts.received),
            dropped_by_device: known.dropped_by_device.max(counts.dropped_by_device),
            dropped_by_system: known.dropped_by_system.max(counts.dropped_by_system),
        };
        Ok(())
    }

    fn packet(&self, at: u64) -> Result<Packet<'_>, ReadError> {
        let block = match self.is_big_endian {
            true => parsed(parse_enhancedpacketblock_be(&self.block), at)?,
            false => parsed(parse_enhancedpacketblock_le(&self.block), at)?,
        };
        let interface = self.place(block.if_id, at)?;
        let described = &self.interfaces[interface];
        let steps = u64::from(block.ts_high) << 32 | u64::from(block.ts_low);
        let ns = described.resolution.ns(steps, described.offset_s);
        let flags = find(&block.options, FLAGS).and_then(|value| {
            let bytes = bytes_at(value, 0)?;
            Some(match self.is_big_endian {
                true => u32::from_be_bytes(bytes),
                false => u32::from_le_bytes(bytes),
            })
        });
        let bytes = block.data.get(..block.caplen as usize);
        Ok(Packet {
            interface,
            link: described.link,
            resolution: described.resolution,
            ns: ns.ok_or(ReadError::Stamp { at })?,
            direction: match flags.unwrap_or(0) & 3 {
                1 => Some(Direction::Incoming),
                2 => Some(Direction::Outgoing),
                _ => None,
            },
            length: block.origlen,
            bytes: bytes.ok_or(ReadError::Damaged { at })?,
        })
    }

    /// The header of a classic capture, whose first four bytes were read.
    fn pcap_header(&mut self) -> Result<(), ReadError> {
        const BYTES: usize = 24;
        // Also where it is too short for a header.
        self.read_up_to(BYTES - 4)?;
        let Ok((_, header)) = parse_pcap_header(&self.block) else {
            return Err(ReadError::NotACapture);
        };
        if header.is_modified_format() {
            return Err(ReadError::NotACapture);
        }
        self.format = Format::Pcap;
        self.is_big_endian = header.is_bigendian();
        self.interfaces.push(Interface {
            name: None,
            // The upper bits are of checksums.
            link: LinkType::from_number(header.network.0 as u32 & 0xffff),
            snap: header.snaplen,
            resolution: match header.is_nanosecond_precision() {
                true => Resolution::NANOSECONDS,
                false => Resolution::MICROSECONDS,
            },
            counts: Counts::default(),
            offset_s: 0,
        });
        self.at = BYTES as u64;
        Ok(())
    }

    fn next_of_pcap(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        const RECORD: usize = 16;
        self.block.clear();
        if self.from.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.complete(RECORD)?;
        let captured = self.number(8) as usize;
        if captured > MOST_BLOCK_BYTES {
            return Err(ReadError::TooLarge {
                at: self.at,
                bytes: captured as u64,
            });
        }
        self.complete(RECORD + captured)?;
        let at = self.at;
        self.at += (RECORD + captured) as u64;
        let Interface {
            resolution, link, ..
        } = self.interfaces[0];
        let (seconds, parts) = (self.number(0), self.number(4));
        if u64::from(parts) >= resolution.per_second {
            return Err(ReadError::Stamp { at });
        }
        let ns = resolution.ns(parts.into(), seconds.into());
        Ok(Some(Packet {
            interface: 0,
            link,
            resolution,
            ns: ns.ok_or(ReadError::Stamp { at })?,
            direction: None,
            length: self.number(12),
            bytes: &self.block[RECORD..],
        }))
    }
}

/// What the library made of a whole block.
fn parsed<'a, T>(
    result: IResult<&'a [u8], T, PcapError<&'a [u8]>>,
    at: u64,
) -> Result<T, ReadError> {
    match result {
        Ok((_, block)) => Ok(block),
        Err(_) => Err(ReadError::Damaged { at }),
    }
}

/// The value of an option, without its padding.
fn find<'a>(options: &'a [PcapNGOption<'_>], code: u16) -> Option<&'a [u8]> {
    let found = options.iter().find(|option| option.code.0 == code)?;
    found.as_bytes().ok()
}
