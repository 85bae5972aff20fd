//! One way of a relay: what arrives, what is under way, and where it leaves.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::socket::{MsgFlags, send};
use rtrb::Producer;
use tompion_path::Way;
use tompion_path::model::{Departure, Fate as Decided, Path, Truth};
use tompion_time::os::{ClockId, now_ns};

use crate::relay::record::{Fate, Record};
use crate::sys::{Frame, Ring};

/// The clock of the kernel's stamps.
pub fn now() -> i64 {
    now_ns(ClockId::Realtime).cast_signed()
}

/// What is known of a packet under way, besides its bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Parcel {
    arrival_ns: i64,
    crc32: u32,
    length: u32,
    is_held_back: bool,
    lacks_checksum: bool,
}

/// Where records go: to another thread. What finds no room is counted.
#[derive(Debug)]
pub struct Book {
    /// The ring.
    pub records: Producer<Record>,
    /// How many found no room.
    pub lost: Arc<AtomicU64>,
}

impl Book {
    fn write(&mut self, record: Record) {
        if self.records.push(record).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// One way of a relay. Nothing in it allocates once it is made.
#[derive(Debug)]
pub struct Line {
    way: Way,
    path: Path,
    slot_bytes: usize,
    bytes: Vec<u8>,
    parcels: Vec<Parcel>,
}

impl Line {
    /// With room for as many packets as the path may have under way, each of `slot_bytes`.
    pub fn new(way: Way, path: Path, most_in_flight: u32, slot_bytes: usize) -> io::Result<Self> {
        let packets = most_in_flight as usize;
        let (mut bytes, mut parcels) = (Vec::new(), Vec::new());
        let no_room = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        let all = packets.checked_mul(slot_bytes);
        let all = all.ok_or(io::ErrorKind::OutOfMemory)?;
        bytes.try_reserve_exact(all).map_err(no_room)?;
        parcels.try_reserve_exact(packets).map_err(no_room)?;
        // Written once, so that no page is missing later. Zeros alone would be promised, not given.
        bytes.resize(all, 0xff);
        parcels.resize(packets, Parcel::default());
        Ok(Self {
            way,
            path,
            slot_bytes,
            bytes,
            parcels,
        })
    }

    /// When the next packet is due.
    pub fn next_due(&self) -> Option<i64> {
        self.path.next_due()
    }

    /// How many packets are under way.
    pub fn under_way(&self) -> usize {
        self.path.in_flight()
    }

    /// Takes in one frame, if one is there.
    pub fn take(&mut self, from: &mut Ring, to: BorrowedFd<'_>, book: &mut Book) -> bool {
        from.take(|frame| self.arrive(&frame, to, book)).is_some()
    }

    fn arrive(&mut self, frame: &Frame<'_>, to: BorrowedFd<'_>, book: &mut Book) {
        let mut record = Record {
            way: self.way,
            number: None,
            is_copy: false,
            bytes: frame.length,
            crc32: crc32fast::hash(frame.bytes),
            arrival_ns: frame.stamp_ns.cast_signed(),
            due_ns: None,
            sent_ns: None,
            returned_ns: None,
            fate: Fate::TooLong,
            is_held_back: false,
            lacks_checksum: frame.without_checksum,
            flipped: None,
        };
        let cut_off = frame.bytes.len() < frame.length as usize;
        if cut_off || frame.bytes.len() > self.slot_bytes {
            book.write(record);
        } else if finds_neighbours(frame.bytes) {
            record.fate = Fate::Passed;
            dispatch(record, frame.bytes, to, book);
        } else {
            let decision = self.path.offer(record.arrival_ns, frame.length);
            self.keep(&decision.packet, decision.slot, frame, record, book);
            if let Some((copy, slot)) = decision.copy {
                self.keep(&copy, slot, frame, record, book);
            }
        }
    }

    /// Keeps the bytes of what leaves later, and writes down what does not.
    fn keep(
        &mut self,
        truth: &Truth,
        slot: Option<u32>,
        frame: &Frame<'_>,
        record: Record,
        book: &mut Book,
    ) {
        if let (Decided::Leaves, Some(slot)) = (truth.fate, slot) {
            let slot = slot as usize;
            let start = slot * self.slot_bytes;
            let kept = &mut self.bytes[start..start + frame.bytes.len()];
            kept.copy_from_slice(frame.bytes);
            self.parcels[slot] = Parcel {
                arrival_ns: record.arrival_ns,
                crc32: record.crc32,
                length: frame.length,
                is_held_back: truth.is_held_back,
                lacks_checksum: record.lacks_checksum,
            };
            return;
        }
        book.write(Record {
            number: Some(truth.number),
            is_copy: truth.is_copy,
            due_ns: truth.due_ns,
            is_held_back: truth.is_held_back,
            fate: match truth.fate {
                Decided::Lost => Fate::Lost,
                Decided::QueueFull => Fate::QueueFull,
                Decided::FlightFull | Decided::Leaves => Fate::FlightFull,
            },
            ..record
        });
    }

    /// Sends one packet that is due by `now_ns`, if there is one.
    pub fn send_due(&mut self, now_ns: i64, to: BorrowedFd<'_>, book: &mut Book) -> bool {
        let Some(departure) = self.path.take_due(now_ns) else {
            return false;
        };
        self.send(&departure, to, book);
        true
    }

    fn send(&mut self, departure: &Departure, to: BorrowedFd<'_>, book: &mut Book) {
        let slot = departure.slot as usize;
        let parcel = self.parcels[slot];
        let start = slot * self.slot_bytes;
        let bytes = &mut self.bytes[start..start + parcel.length as usize];
        if let Some(flip) = departure.corruption
            && let Some(byte) = bytes.get_mut(flip.byte as usize)
        {
            *byte ^= 1 << flip.bit;
        }
        let record = Record {
            way: self.way,
            number: Some(departure.number),
            is_copy: departure.is_copy,
            bytes: parcel.length,
            crc32: parcel.crc32,
            arrival_ns: parcel.arrival_ns,
            due_ns: Some(departure.due_ns),
            sent_ns: None,
            returned_ns: None,
            fate: Fate::Sent,
            is_held_back: parcel.is_held_back,
            lacks_checksum: parcel.lacks_checksum,
            flipped: departure.corruption.map(|flip| (flip.byte, flip.bit)),
        };
        dispatch(record, bytes, to, book);
    }
}

/// Hands a frame to the kernel, and writes down when.
fn dispatch(mut record: Record, bytes: &[u8], to: BorrowedFd<'_>, book: &mut Book) {
    record.sent_ns = Some(now());
    let sent = send(to.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT);
    record.returned_ns = Some(now());
    if sent != Ok(bytes.len()) {
        record.fate = Fate::Refused;
    }
    book.write(record);
}

/// Whether a frame is there to find out who has an address: ARP (RFC 826), or a message of
/// neighbour discovery (RFC 4861: ICMPv6 types 133 to 137).
fn finds_neighbours(frame: &[u8]) -> bool {
    const ARP: [u8; 2] = [0x08, 0x06];
    const IPV6: [u8; 2] = [0x86, 0xdd];
    const ICMPV6: u8 = 58;
    match frame.get(12..14) {
        Some(kind) if kind == ARP => true,
        Some(kind) if kind == IPV6 => {
            frame.get(20) == Some(&ICMPV6) && frame.get(54).is_some_and(|t| (133..=137).contains(t))
        }
        _ => false,
    }
}
