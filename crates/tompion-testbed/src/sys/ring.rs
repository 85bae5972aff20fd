//! A packet socket whose frames lie in memory shared with the kernel.
//!
//! Reading takes no system call, so that a thread may spin on it; each frame carries the
//! kernel's stamp of its arrival. The layout is version 2 of packet(7)'s rings
//! (`Documentation/networking/packet_mmap.rst` of the kernel): version 3 hands frames over by
//! blocks, after a timeout, which is of no use to a relay.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::libc;

/// Where in a frame the bytes may begin at the latest: headers of the ring, and room in front
/// of an Ethernet header (`TPACKET2_HDRLEN` and at least 16 bytes, aligned), and a VLAN's tag.
const HEAD: usize = 96 + 8;
/// An Ethernet header.
const LINK_HEADER: usize = 14;

/// One frame, as long as it is looked at.
#[derive(Debug)]
pub struct Frame<'a> {
    /// The bytes from the Ethernet header on, as far as they were kept.
    pub bytes: &'a [u8],
    /// The kernel's stamp by `CLOCK_REALTIME`, in nanoseconds.
    pub stamp_ns: u64,
    /// How long the frame was, in bytes.
    pub length: u32,
    /// Whether its transport checksum was left to a device that has none.
    pub without_checksum: bool,
}

/// A packet socket bound to one device, with its ring.
#[derive(Debug)]
pub struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    length: usize,
    frame_bytes: usize,
    block_bytes: usize,
    frames_a_block: usize,
    frames: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this ring alone, and all that is read of it goes through
// `&mut self` or, the status words, through atomics.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring of at least `frames` frames of up to `mtu` bytes behind their Ethernet headers that
    /// come in, in locked memory where that is allowed. The device is the calling thread's.
    pub fn open(device: u32, mtu: u32, frames: usize) -> io::Result<Self> {
        let frame_bytes = (HEAD + LINK_HEADER + mtu as usize).next_multiple_of(64);
        let block_bytes = frame_bytes.next_power_of_two().max(1 << 16);
        let frames_a_block = block_bytes / frame_bytes;
        let blocks = frames.div_ceil(frames_a_block);
        let frames = blocks * frames_a_block;
        let length = blocks * block_bytes;

        // Protocol 0: it hears nothing, of any device, until it is bound.
        // SAFETY: no pointers are handed over.
        let socket = checked(unsafe {
            libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0)
        })?;
        // SAFETY: a new descriptor that nobody else has.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        // Whoever asks for stamps has them taken on arrival, not when the ring is written.
        set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        // A relay's frames are not queued again behind what sent them.
        set(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
        let layout = libc::tpacket_req {
            tp_block_size: number(block_bytes)?,
            tp_block_nr: number(blocks)?,
            tp_frame_size: number(frame_bytes)?,
            tp_frame_nr: number(frames)?,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &layout)?;
        let memory = map(&socket, length)?;
        let ring = Self {
            socket,
            memory,
            length,
            frame_bytes,
            block_bytes,
            frames_a_block,
            frames,
            next: 0,
        };
        ring.bind(device)?;
        Ok(ring)
    }

    fn bind(&self, device: u32) -> io::Result<()> {
        // SAFETY: all fields of a sockaddr_ll are numbers.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = device.cast_signed();
        // SAFETY: the address is as long as is said, and read only.
        checked(unsafe {
            libc::bind(
                self.socket.as_raw_fd(),
                std::ptr::from_ref(&address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        })?;
        Ok(())
    }

    fn frame(&self) -> NonNull<u8> {
        let (block, in_block) = (
            self.next / self.frames_a_block,
            self.next % self.frames_a_block,
        );
        // SAFETY: `next` is below `frames`, so that this lies within the mapping.
        unsafe {
            self.memory
                .add(block * self.block_bytes + in_block * self.frame_bytes)
        }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: a frame begins with its header, whose first word is the status; frames are
        // aligned to 64 bytes, and the kernel writes this word as a whole.
        unsafe { AtomicU32::from_ptr(self.frame().as_ptr().cast()) }
    }

    /// Whether a frame is there.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Looks at the next frame, if there is one, and gives it back to the kernel.
    #[inline]
    pub fn take<R>(&mut self, look: impl FnOnce(Frame<'_>) -> R) -> Option<R> {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let start = self.frame();
        // SAFETY: the status says that the kernel has written this frame and will not touch it
        // before the status is taken back; its header lies at the start of each frame.
        let header = unsafe { start.cast::<libc::tpacket2_hdr>().read() };
        let begin = usize::from(header.tp_mac).min(self.frame_bytes);
        let kept = (header.tp_snaplen as usize).min(self.frame_bytes - begin);
        // SAFETY: within the frame, by the two lines above, and ours as said there.
        let bytes = unsafe { std::slice::from_raw_parts(start.add(begin).as_ptr(), kept) };
        let seconds = u64::from(header.tp_sec) * 1_000_000_000;
        let result = look(Frame {
            bytes,
            stamp_ns: seconds + u64::from(header.tp_nsec),
            length: header.tp_len,
            without_checksum: status & libc::TP_STATUS_CSUMNOTREADY != 0,
        });
        let released = libc::TP_STATUS_KERNEL;
        self.status().store(released, Ordering::Release);
        self.next = (self.next + 1) % self.frames;
        Some(result)
    }

    /// The socket, to wait for frames, to send, and to ask for losses.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped in `open` with this length, and nothing borrows from it any more.
        // That it fails only means that the memory stays.
        let _ = unsafe { libc::munmap(self.memory.as_ptr().cast(), self.length) };
    }
}

/// How many frames found no room in the ring of this socket since this was last asked.
pub fn dropped(socket: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: numbers alone.
    let mut told: libc::tpacket_stats = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&told) as libc::socklen_t;
    // SAFETY: it writes at most `length` bytes, which are there.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            std::ptr::from_mut(&mut told).cast(),
            &raw mut length,
        )
    })?;
    Ok(told.tp_drops)
}

fn map(socket: &OwnedFd, length: usize) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let mut refused = io::Error::from(io::ErrorKind::OutOfMemory);
    // Locked where the limits let it be.
    for flags in [libc::MAP_SHARED | libc::MAP_LOCKED, libc::MAP_SHARED] {
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                protection,
                flags | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                0,
            )
        };
        if at != libc::MAP_FAILED {
            return NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory.into());
        }
        refused = io::Error::last_os_error();
    }
    Err(refused)
}

fn set<T>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the value is as long as is said, and read only.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
    .map(drop)
}

fn number(bytes: usize) -> io::Result<libc::c_uint> {
    libc::c_uint::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        done => Ok(done),
    }
}
