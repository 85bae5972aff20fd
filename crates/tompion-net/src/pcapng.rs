//! Captures as files: pcapng written, pcapng and classic pcap read.
//!
//! The format is draft-ietf-opsawg-pcapng; what is read is taken apart by the crate
//! `pcap-parser`. Files come from strangers: their blocks are framed here, so that no more
//! than [`MOST_BLOCK_BYTES`] are reserved at a time, lengths that lie end in a [`ReadError`], and
//! blocks that mean nothing here are passed over without being taken apart.

mod read;
mod write;

#[cfg(test)]
mod tests;

use std::io;

use crate::frame::LinkType;
use crate::tap::Direction;

pub use read::Reader;
pub use write::{Described, Writer};

/// The largest block that is read, in bytes.
pub const MOST_BLOCK_BYTES: usize = 1 << 20;
/// The most interfaces of a file that is read.
pub const MOST_INTERFACES: usize = 1024;
/// The longest name of an interface that is kept, in bytes.
pub const MOST_NAME_BYTES: usize = 256;

/// Types of blocks.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
/// In a section's header, in the order of its bytes.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// Options; their numbers mean one thing in each type of block.
const COMMENT: u16 = 1;
const PROGRAM: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const INTERFACE_FILTER: u16 = 11;
const OFFSET: u16 = 14;
const FLAGS: u16 = 2;
const RECEIVED: u16 = 4;
const DROPPED_BY_DEVICE: u16 = 5;
const DROPPED_BY_SYSTEM: u16 = 7;

/// How fine the stamps of a capture are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resolution {
    /// Steps in a second, at least one.
    pub per_second: u64,
}

impl Resolution {
    /// Nanoseconds, as taps here write them.
    pub const NANOSECONDS: Self = Self {
        per_second: 1_000_000_000,
    };
    /// Microseconds, the format's default and what most programs write: too coarse for what is
    /// measured here.
    pub const MICROSECONDS: Self = Self {
        per_second: 1_000_000,
    };

    /// Whether stamps are as fine as the kernel's.
    pub fn has_nanoseconds(self) -> bool {
        self.per_second >= Self::NANOSECONDS.per_second
    }

    /// By `if_tsresol`: a power of ten, or of two where the highest bit is set.
    fn from_option(option: u8) -> Option<Self> {
        let per_second = match option {
            0..0x80 => 10u64.checked_pow(option.into())?,
            _ => 1u64.checked_shl(u32::from(option & 0x7f))?,
        };
        Some(Self { per_second })
    }

    /// Steps since 1970, shifted by whole seconds, as nanoseconds.
    fn ns(self, steps: u64, offset_s: i64) -> Option<i64> {
        let ns = u128::from(steps) * 1_000_000_000 / u128::from(self.per_second);
        let ns = i128::try_from(ns).ok()? + i128::from(offset_s) * 1_000_000_000;
        i64::try_from(ns).ok()
    }
}

/// Packets that an interface lost while it was captured, as far as the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that passed.
    pub received: Option<u64>,
    /// Packets that the device dropped.
    pub dropped_by_device: Option<u64>,
    /// Packets that the capturing socket dropped for want of room.
    pub dropped_by_system: Option<u64>,
}

/// Where packets of a file were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The device's name, if the file says so.
    pub name: Option<String>,
    /// How its frames begin.
    pub link: LinkType,
    /// The most bytes of a frame that were kept; 0 for all.
    pub snap: u32,
    /// How fine its stamps are.
    pub resolution: Resolution,
    /// What was lost; the last that the file says before what was read so far.
    pub counts: Counts,
    offset_s: i64,
}

/// A packet of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Where it was captured: an index into [`Reader::interfaces`].
    pub interface: usize,
    /// How its frame begins.
    pub link: LinkType,
    /// How fine its stamp is.
    pub resolution: Resolution,
    /// When, in nanoseconds since 1970.
    pub ns: i64,
    /// Which way it went, if the file says so.
    pub direction: Option<Direction>,
    /// Its length on the wire, in bytes.
    pub length: u32,
    /// Its first bytes.
    pub bytes: &'a [u8],
}

/// Why a capture is not read, or not further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read the capture: {0}")]
    Io(#[from] io::Error),
    /// Neither pcapng nor pcap.
    #[error("not a capture: neither pcapng nor pcap")]
    NotACapture,
    /// It ends within a block; what came before is whole.
    #[error("the capture is cut off at byte {at}")]
    CutOff {
        /// Where the block begins that is not whole.
        at: u64,
    },
    /// A block whose lengths or contents contradict one another.
    #[error("the capture is damaged at byte {at}")]
    Damaged {
        /// Where the block begins.
        at: u64,
    },
    /// A block that is larger than any packet.
    #[error("a block of {bytes} bytes at byte {at} is larger than {MOST_BLOCK_BYTES}")]
    TooLarge {
        /// Where it begins.
        at: u64,
        /// How large it claims to be.
        bytes: u64,
    },
    /// More interfaces than any machine has.
    #[error("the capture has more than {MOST_INTERFACES} interfaces")]
    TooManyInterfaces,
    /// A stamp that is out of the range of dates, or a resolution that no clock has.
    #[error("the stamp at byte {at} is of no date")]
    Stamp {
        /// Where its block begins.
        at: u64,
    },
}

/// Why a capture is not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file cannot be written.
    #[error("cannot write the capture: {0}")]
    Io(#[from] io::Error),
    /// A packet, a name or a comment that is longer than the format can hold.
    #[error("a packet or a text is too long for a capture")]
    TooLong,
    /// A stamp before 1970.
    #[error("a capture cannot hold a stamp before 1970")]
    TooEarly,
    /// No interface of that index.
    #[error("the capture has no interface {0}")]
    NoInterface(usize),
}
