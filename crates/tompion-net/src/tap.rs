//! Taps: frames as they pass a device, with the kernel's stamps.
//!
//! A tap is an AF_PACKET socket that is read in batches. The other way, a ring in memory shared
//! with the kernel (TPACKET_V3), hands frames over in blocks when a timer of milliseconds says
//! so and saves a copy; it has the same stamps and needs unsafe reads of memory that the kernel
//! writes. A batch of 64 frames costs one system call.
//!
//! Stamps are taken where the frame passes between the stack and the driver: behind the queueing
//! discipline on its way out. They are those of `SO_TIMESTAMPING`, since `SO_TIMESTAMPNS` would
//! give a frame without a stamp the moment at which it is read. Hardware stamps are not asked
//! for: outgoing frames have none there.

mod filter;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::address;
use crate::capability::BufferSize;
use crate::control::{self, Control};
use crate::device::Device;
use crate::error::NetError;
use crate::socket::open::receive_buffer;
use crate::socket::settling::settle;
use crate::stamping::set_flags;
use crate::sys::{self, Arena};

pub use filter::Filter;

/// Which way a frame passed the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the network.
    Incoming,
    /// To the network.
    Outgoing,
}

/// How a tap is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapOptions {
    /// Where.
    pub device: Device,
    /// Bytes of each frame that are kept.
    pub snap: usize,
    /// What passes.
    pub filter: Filter,
    /// Bytes for frames until they are read.
    pub receive_buffer: usize,
}

impl TapOptions {
    /// All frames of a device, 256 bytes of each, 32 MiB of room.
    pub fn new(device: Device) -> Self {
        Self {
            device,
            snap: 256,
            filter: Filter::All,
            receive_buffer: 32 << 20,
        }
    }
}

/// A frame that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When, by `CLOCK_REALTIME`, in nanoseconds since 1970.
    pub ns: i64,
    /// Which way.
    pub direction: Direction,
    /// Its length on the wire, in bytes, without the checksum of Ethernet.
    pub length: u32,
    /// Its first bytes, from the Ethernet header on, VLAN tags included.
    pub bytes: &'a [u8],
}

/// Frames since the tap was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapStatistics {
    /// Frames that passed the filter, those that were dropped included.
    pub passed: u64,
    /// Frames that were dropped for want of room.
    pub dropped: u64,
}

/// An open tap.
#[derive(Debug)]
pub struct Tap {
    file: OwnedFd,
    name: String,
    index: u32,
    snap: usize,
    buffer: BufferSize,
    statistics: TapStatistics,
    unstamped: u64,
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Room for frames that are read together.
#[derive(Debug)]
pub struct TapBatch {
    arena: Arena,
    count: usize,
    snap: usize,
    index: u32,
}

/// Where a VLAN tag goes that the kernel took out: so many bytes are left free in front.
const TAG_BYTES: usize = 4;
/// The addresses in front of it.
const ADDRESSES: usize = 12;

impl TapBatch {
    /// Room for `count` frames of `snap` bytes each.
    pub fn new(count: usize, snap: usize) -> Self {
        Self {
            arena: Arena::new(
                count,
                snap.saturating_add(TAG_BYTES),
                control::RECEIVE_BYTES,
            ),
            count: 0,
            snap,
            index: 0,
        }
    }

    /// How many frames are there.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Hands on every frame that has a stamp and is of the tap's device; how many had none.
    fn hand_on(&mut self, mut take: impl FnMut(Record<'_>)) -> u64 {
        let mut unstamped = 0;
        for at in 0..self.count {
            let lengths = self.arena.lengths(at);
            let control = Control::read(self.arena.control(at));
            let Some(link) = address::read_link(self.arena.name(at)) else {
                continue;
            };
            if link.interface != self.index {
                continue;
            }
            let Some(ns) = control.software_ns else {
                unstamped += 1;
                continue;
            };
            let room = self.arena.data_mut(at);
            let captured = lengths.data.min(room.len() - TAG_BYTES);
            let wire = control.auxiliary.map_or(lengths.data as u32, |a| a.length);
            let mut length = wire.max(captured as u32);
            let mut begin = TAG_BYTES;
            let tag = control.auxiliary.and_then(|auxiliary| auxiliary.vlan);
            if let Some((tag, ether_type)) = tag
                && captured >= ADDRESSES
            {
                room.copy_within(TAG_BYTES..TAG_BYTES + ADDRESSES, 0);
                room[ADDRESSES..ADDRESSES + 2].copy_from_slice(&ether_type.to_be_bytes());
                room[ADDRESSES + 2..ADDRESSES + 4].copy_from_slice(&tag.to_be_bytes());
                length = length.saturating_add(TAG_BYTES as u32);
                begin = 0;
            }
            let end = (TAG_BYTES + captured).min(begin + self.snap);
            take(Record {
                ns,
                direction: match link.packet_type {
                    libc::PACKET_OUTGOING => Direction::Outgoing,
                    _ => Direction::Incoming,
                },
                length,
                bytes: &room[begin..end],
            });
        }
        unstamped
    }
}

impl Tap {
    /// Opens a tap, in the calling thread's network namespace. Takes CAP_NET_RAW. What passes
    /// before it returns is not seen, and nothing that the filter refuses.
    ///
    /// # Errors
    /// Where there is no such device, it is switched off, rights are missing, or the kernel has no
    /// stamps for taps.
    pub fn open(options: &TapOptions) -> Result<Self, NetError> {
        let (index, name) = options.device.find()?;
        // Of no protocol, and so without frames until it is bound.
        let file = rustix::net::socket_with(
            AddressFamily::PACKET,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(|error| NetError::Open {
            what: "a tap",
            needs: "CAP_NET_RAW",
            source: error.into(),
        })?;
        let failed = |option| move |source| NetError::Option { option, source };
        let set = |level, option, value: i32| {
            sys::set_option(file.as_fd(), level, option, &value.to_ne_bytes())
        };
        let buffer = receive_buffer(file.as_fd(), options.receive_buffer);
        let stamps = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        set_flags(file.as_fd(), stamps).map_err(failed("stamps of the tap"))?;
        settle();
        // Without it lengths are those that were captured, and VLAN tags are missing.
        let _ = set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1);
        let snap = options.snap.clamp(64, 65_536);
        let program = filter::program(options.filter, snap as u32);
        sys::attach_filter(file.as_fd(), &program).map_err(failed("the filter of the tap"))?;
        sys::bind(file.as_fd(), &address::link(index)).map_err(|source| NetError::Device {
            device: name.clone(),
            what: "tap it",
            source,
        })?;
        // That a device is switched off is told by the first call that asks.
        let is_off = rustix::net::sockopt::socket_error(&file).unwrap_or(Ok(()));
        is_off.map_err(|error| NetError::Device {
            device: name.clone(),
            what: "tap it",
            source: error.into(),
        })?;
        Ok(Self {
            file,
            name,
            index,
            snap,
            buffer,
            statistics: TapStatistics::default(),
            unstamped: 0,
        })
    }

    /// The device's name.
    pub fn device(&self) -> &str {
        &self.name
    }

    /// The device's index.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Bytes of each frame that are kept.
    pub fn snap(&self) -> usize {
        self.snap
    }

    /// The buffer that holds frames until they are read.
    pub fn buffer(&self) -> BufferSize {
        self.buffer
    }

    /// Room for `count` frames of this tap.
    pub fn batch(&self, count: usize) -> TapBatch {
        TapBatch::new(count, self.snap)
    }

    /// Reads frames that are there, as many as fit in the batch, and hands each on; how many were
    /// read, 0 where there is none. Does not wait.
    ///
    /// # Errors
    /// Whatever the system refuses; that the device was switched off or removed among it.
    pub fn read(
        &mut self,
        batch: &mut TapBatch,
        take: impl FnMut(Record<'_>),
    ) -> Result<usize, NetError> {
        let read = batch
            .arena
            .receive(self.as_fd(), libc::MSG_TRUNC, TAG_BYTES);
        batch.count = match read {
            Ok(count) => count,
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => 0,
                _ => {
                    return Err(NetError::Device {
                        device: self.name.clone(),
                        what: "read frames",
                        source: error,
                    });
                }
            },
        };
        batch.index = self.index;
        self.unstamped += batch.hand_on(take);
        Ok(batch.count)
    }

    /// Frames without a stamp, which were not handed on: none but the first on a machine that is
    /// so busy that the kernel has not begun to stamp when [`open`](Self::open) returns.
    pub fn unstamped(&self) -> u64 {
        self.unstamped
    }

    /// Frames that passed and that were dropped, up to now.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn statistics(&mut self) -> Result<TapStatistics, NetError> {
        // The kernel begins anew with every call.
        let mut two = [0; 8];
        sys::option(
            self.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            &mut two,
        )
        .map_err(NetError::io("read a tap's statistics"))?;
        let count = |at| address::bytes_at(&two, at).map_or(0, u32::from_ne_bytes);
        self.statistics.passed += u64::from(count(0));
        self.statistics.dropped += u64::from(count(4));
        Ok(self.statistics)
    }
}
