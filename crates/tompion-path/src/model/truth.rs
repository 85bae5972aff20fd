//! What was decided about each packet.

use serde::{Deserialize, Serialize};

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It leaves when it is due.
    Leaves,
    /// It is lost at random, behind the queue.
    Lost,
    /// The queue was full.
    QueueFull,
    /// As many packets were under way as the plan allows.
    FlightFull,
}

/// A bit that is flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Corruption {
    /// Its byte, from 0.
    pub byte: u32,
    /// Its place there, 0 the least significant.
    pub bit: u8,
}

/// One packet, or the copy of one: a row of the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truth {
    /// Number of the packet in the order in which they were offered, from 0.
    pub number: u64,
    /// Whether this is its copy.
    pub is_copy: bool,
    /// Its size in bytes.
    pub bytes: u32,
    /// When it arrived, in nanoseconds as the caller counts them.
    pub arrival_ns: i64,
    /// When its last bit left the queue; without a bottleneck its arrival, `None` where it never
    /// got in.
    pub left_queue_ns: Option<i64>,
    /// When it leaves the path; `None` where it does not.
    pub due_ns: Option<i64>,
    /// What becomes of it.
    pub fate: Fate,
    /// Whether it is held back while others pass.
    pub is_held_back: bool,
    /// The bit that is flipped in it.
    pub corruption: Option<Corruption>,
}

/// What was decided about a packet that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The packet itself.
    pub packet: Truth,
    /// Where it leaves: the place of its bytes, as in [`super::Departure::slot`].
    pub slot: Option<u32>,
    /// Its copy, with the place of that one's bytes.
    pub copy: Option<(Truth, Option<u32>)>,
}

/// How often each thing happened on one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Packets that were offered.
    pub offered: u64,
    /// Packets and copies that leave, or have left.
    pub leave: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets that found the queue full.
    pub queue_full: u64,
    /// Packets and copies dropped because too many were under way.
    pub flight_full: u64,
    /// Copies that were made.
    pub copies: u64,
    /// Packets held back, among those that leave.
    pub held_back: u64,
    /// Packets with a flipped bit, among those that leave; the copy of one has it too.
    pub corrupted: u64,
    /// Random delays that were cut to what is possible.
    pub delays_cut: u64,
    /// Packets that arrived earlier than one before them; they took their place behind it.
    pub backward: u64,
}
