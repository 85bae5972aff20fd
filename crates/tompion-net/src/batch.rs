//! Buffers, made once, for packets that are read and sent together.

use std::net::SocketAddr;

use crate::address::{self, MOST_BYTES};
use crate::control::{self, Control, Route, Written};
use crate::stamps::{Received, RxStamps};
use crate::sys::{Arena, Outgoing};

/// Room for packets that come.
#[derive(Debug)]
pub struct ReceiveBatch {
    pub(crate) arena: Arena,
    count: usize,
    user_ns: i64,
    has_ip_header: bool,
}

impl ReceiveBatch {
    /// Room for `count` packets, up to 1024, of `bytes` each. Raw ICMP over IPv4 needs 60 bytes
    /// more than its packets have, for the IP header.
    pub fn new(count: usize, bytes: usize) -> Self {
        Self {
            arena: Arena::new(count, bytes, control::RECEIVE_BYTES),
            count: 0,
            user_ns: 0,
            has_ip_header: false,
        }
    }

    /// How many packets fit.
    pub fn capacity(&self) -> usize {
        self.arena.capacity()
    }

    /// How many are there.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none is there.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn filled(&mut self, count: usize, user_ns: i64, has_ip_header: bool) {
        self.count = count;
        self.user_ns = user_ns;
        self.has_ip_header = has_ip_header;
    }

    /// A packet and what is known of it. Shorter than [`Received::length`] where it did not fit.
    ///
    /// # Panics
    /// Where there is no packet of that index.
    pub fn get(&self, index: usize) -> (&[u8], Received) {
        assert!(index < self.count, "packet {index} of {}", self.count);
        let lengths = self.arena.lengths(index);
        let control = Control::read(self.arena.control(index));
        let whole = self.arena.data(index);
        let mut packet = &whole[..lengths.data.min(whole.len())];
        let mut received = Received {
            stamps: RxStamps {
                user_ns: self.user_ns,
                software_ns: control.software_ns,
                hardware_ns: control.hardware_ns,
            },
            from: address::read(self.arena.name(index)),
            to: control.destination,
            interface: control.interface,
            ttl: control.ttl,
            tos: control.tos,
            length: lengths.data,
            drops: control.drops,
        };
        if self.has_ip_header {
            let header = packet
                .first()
                .map_or(0, |first| usize::from(first & 15) * 4);
            let header = header.min(packet.len());
            packet = &packet[header..];
            received.length = received.length.saturating_sub(header);
        }
        (packet, received)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Received)> {
        (0..self.count).map(|index| self.get(index))
    }
}

/// Room for entries of the error queue: transmit stamps, and ICMP errors with what they quote.
#[derive(Debug)]
pub struct ErrorBatch {
    pub(crate) arena: Arena,
}

impl ErrorBatch {
    /// Room for `count` entries at a time. ICMP errors quote at least 8 bytes of a packet, at
    /// most 1280; 512 of these are kept.
    pub fn new(count: usize) -> Self {
        Self {
            arena: Arena::new(count, 512, control::RECEIVE_BYTES),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    length: usize,
    route: Route,
    name: [u8; MOST_BYTES],
    name_length: usize,
    is_sent: bool,
}

/// Packets that are sent together.
#[derive(Debug)]
pub struct SendBatch {
    data: Vec<u8>,
    bytes: usize,
    entries: Vec<Entry>,
    pub(crate) control: Vec<Written>,
    pub(crate) tickets: Vec<u64>,
    pub(crate) headers: crate::sys::Headers,
}

impl SendBatch {
    /// Room for `count` packets, up to 1024, of `bytes` each.
    pub fn new(count: usize, bytes: usize) -> Self {
        let count = count.clamp(1, 1024);
        Self {
            data: vec![0; count * bytes],
            bytes,
            entries: Vec::with_capacity(count),
            control: Vec::with_capacity(count),
            tickets: Vec::with_capacity(count),
            headers: crate::sys::Headers::new(count),
        }
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// How many packets are there.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is there.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether no more fits.
    pub fn is_full(&self) -> bool {
        self.entries.len() == self.entries.capacity()
    }

    /// The room of the packet that comes next.
    ///
    /// # Panics
    /// Where the batch is full.
    pub fn room(&mut self) -> &mut [u8] {
        assert!(!self.is_full(), "a batch of {} is full", self.len());
        &mut self.data[self.entries.len() * self.bytes..][..self.bytes]
    }

    /// Takes the first `length` bytes of the room for a packet of that number.
    ///
    /// # Panics
    /// Where the batch is full.
    pub fn push(&mut self, number: u64, length: usize, route: Route) {
        assert!(!self.is_full(), "a batch of {} is full", self.len());
        let mut name = [0; MOST_BYTES];
        let name_length = name_of(route.to, &mut name);
        self.entries.push(Entry {
            number,
            length: length.min(self.bytes),
            route,
            name,
            name_length,
            is_sent: false,
        });
    }

    /// The number of a packet.
    pub fn number(&self, index: usize) -> u64 {
        self.entries[index].number
    }

    /// Where a packet goes.
    pub fn route(&self, index: usize) -> &Route {
        &self.entries[index].route
    }

    /// A packet, to be changed at the last moment.
    pub fn packet_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.data[index * self.bytes..][..self.entries[index].length]
    }

    /// Whether the kernel took a packet.
    pub fn was_sent(&self, index: usize) -> bool {
        self.entries[index].is_sent
    }

    pub(crate) fn set_sent(&mut self, index: usize) {
        self.entries[index].is_sent = true;
    }

    /// Packets from `first` on, up to `end`, with the kernel's headers.
    pub(crate) fn send(
        &mut self,
        file: std::os::fd::BorrowedFd<'_>,
        first: usize,
        end: usize,
    ) -> std::io::Result<usize> {
        let (data, bytes) = (&self.data, self.bytes);
        let (entries, control) = (&self.entries, &self.control);
        let messages = (first..end).map(|index| {
            let entry = &entries[index];
            Outgoing {
                data: &data[index * bytes..][..entry.length],
                name: &entry.name[..entry.name_length],
                control: control[index].bytes(),
            }
        });
        self.headers.send(file, messages)
    }
}

/// Writes a destination; 0 where there is none.
pub(crate) fn name_of(to: Option<SocketAddr>, name: &mut [u8; MOST_BYTES]) -> usize {
    to.map_or(0, |to| address::write(&to, name))
}
