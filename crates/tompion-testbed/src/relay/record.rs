//! What became of each packet that a relay saw.

use tompion_path::Way;

/// What became of a packet, or of the copy of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Sent when it was due, or later.
    Sent,
    /// Lost at random, as planned.
    Lost,
    /// Dropped by the model's queue, which was full.
    QueueFull,
    /// Dropped because as many packets were under way as the plan allows.
    FlightFull,
    /// Passed on at once and beside the model: address resolution and neighbour discovery.
    Passed,
    /// Longer than the path's MTU.
    TooLong,
    /// The kernel did not take it.
    Refused,
}

impl Fate {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Sent,
        Self::Lost,
        Self::QueueFull,
        Self::FlightFull,
        Self::Passed,
        Self::TooLong,
        Self::Refused,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Lost => "lost",
            Self::QueueFull => "queue-full",
            Self::FlightFull => "flight-full",
            Self::Passed => "passed",
            Self::TooLong => "too-long",
            Self::Refused => "refused",
        }
    }
}

/// One packet, or the copy of one: a line of the file that is the truth. Times are nanoseconds by
/// `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which way it went.
    pub way: Way,
    /// Its number in the order of arrival on this way, from 0; `None` where it went beside the model.
    pub number: Option<u64>,
    /// Whether this is the copy.
    pub is_copy: bool,
    /// Bytes, Ethernet's header counted.
    pub bytes: u32,
    /// CRC-32 (as of zlib) of the frame as it arrived.
    pub crc32: u32,
    /// The kernel's stamp of its arrival.
    pub arrival_ns: i64,
    /// When the model has it leave.
    pub due_ns: Option<i64>,
    /// The clock just before it was handed to the kernel.
    pub sent_ns: Option<i64>,
    /// The clock just after.
    pub returned_ns: Option<i64>,
    /// What became of it.
    pub fate: Fate,
    /// Whether the model held it back, so that others pass it.
    pub is_held_back: bool,
    /// Whether its transport checksum was left to a device, as a sender's offload does: here nobody adds it,
    /// and the far end drops the packet.
    pub lacks_checksum: bool,
    /// The byte, from 0, and in it the bit, 0 the least significant, that was flipped.
    pub flipped: Option<(u32, u8)>,
}

impl Record {
    /// By how much it was sent later than it was due, in nanoseconds.
    pub fn late_ns(&self) -> Option<i64> {
        Some(self.sent_ns? - self.due_ns?)
    }
}
