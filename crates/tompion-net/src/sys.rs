//! Unsafe code: the system calls that take buffers and options for which no library here has a
//! safe face.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Room for an address of any family, in bytes.
pub const NAME_BYTES: usize = 128;

/// Lengths that the kernel gave back with one message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lengths {
    /// Of the datagram; longer than the buffer where it was cut off.
    pub data: usize,
    /// Of the address.
    pub name: usize,
    /// Of the control messages.
    pub control: usize,
}

/// Buffers for messages that are read together. Every message has the same room.
#[derive(Debug)]
pub struct Arena {
    data: Vec<u8>,
    names: Vec<u8>,
    control: Vec<u8>,
    lengths: Vec<Lengths>,
    data_bytes: usize,
    control_bytes: usize,
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
}

// SAFETY: the pointers in `headers` and `vectors` are written and used within one call, and
// lead into the other vectors of the same value, which nobody else has.
unsafe impl Send for Arena {}

fn no_header() -> libc::mmsghdr {
    // SAFETY: null pointers and zero lengths are a valid header without buffers.
    unsafe { std::mem::zeroed() }
}

impl Arena {
    /// Room for `count` messages of `data_bytes` with `control_bytes` of control messages.
    pub fn new(count: usize, data_bytes: usize, control_bytes: usize) -> Self {
        // The largest vector that the kernel takes (UIO_MAXIOV).
        let count = count.clamp(1, 1024);
        Self {
            data: vec![0; count * data_bytes],
            names: vec![0; count * NAME_BYTES],
            control: vec![0; count * control_bytes],
            lengths: vec![Lengths::default(); count],
            data_bytes,
            control_bytes,
            headers: Vec::with_capacity(count),
            vectors: Vec::with_capacity(count),
        }
    }

    /// How many messages fit.
    pub fn capacity(&self) -> usize {
        self.lengths.len()
    }

    /// Lengths of message `index`.
    pub fn lengths(&self, index: usize) -> Lengths {
        self.lengths[index]
    }

    /// The room of message `index`, whole.
    pub fn data(&self, index: usize) -> &[u8] {
        &self.data[index * self.data_bytes..][..self.data_bytes]
    }

    /// The same, to be changed.
    pub fn data_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.data[index * self.data_bytes..][..self.data_bytes]
    }

    /// The address of message `index`.
    pub fn name(&self, index: usize) -> &[u8] {
        let length = self.lengths[index].name.min(NAME_BYTES);
        &self.names[index * NAME_BYTES..][..length]
    }

    /// The control messages of message `index`.
    pub fn control(&self, index: usize) -> &[u8] {
        let length = self.lengths[index].control.min(self.control_bytes);
        &self.control[index * self.control_bytes..][..length]
    }

    /// Reads messages without waiting; how many there were, 0 where none is there. The first
    /// `headroom` bytes of each buffer are left alone.
    pub fn receive(
        &mut self,
        file: BorrowedFd<'_>,
        flags: i32,
        headroom: usize,
    ) -> io::Result<usize> {
        let headroom = headroom.min(self.data_bytes);
        let (data_bytes, control_bytes) = (self.data_bytes, self.control_bytes);
        self.vectors.clear();
        self.headers.clear();
        for index in 0..self.lengths.len() {
            let data = &mut self.data[index * data_bytes..][headroom..data_bytes];
            self.vectors.push(libc::iovec {
                iov_base: data.as_mut_ptr().cast(),
                iov_len: data.len(),
            });
        }
        for index in 0..self.lengths.len() {
            let name = &mut self.names[index * NAME_BYTES..][..NAME_BYTES];
            let control = &mut self.control[index * control_bytes..][..control_bytes];
            let mut header = no_header();
            header.msg_hdr.msg_name = name.as_mut_ptr().cast();
            header.msg_hdr.msg_namelen = NAME_BYTES as libc::socklen_t;
            header.msg_hdr.msg_iov = &raw mut self.vectors[index];
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = control_bytes as _;
            self.headers.push(header);
        }
        // SAFETY: every header leads to buffers of this value that do not overlap, with their
        // lengths; none of the vectors grows before the call returns.
        let count = unsafe {
            libc::recvmmsg(
                file.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                (flags | libc::MSG_DONTWAIT) as _,
                ptr::null_mut(),
            )
        };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        let count = count as usize;
        for (lengths, header) in self.lengths.iter_mut().zip(&self.headers).take(count) {
            *lengths = Lengths {
                data: header.msg_len as usize,
                name: header.msg_hdr.msg_namelen as usize,
                control: header.msg_hdr.msg_controllen as _,
            };
        }
        Ok(count)
    }
}

/// One message on its way out.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The datagram.
    pub data: &'a [u8],
    /// Where to, as a sockaddr; empty where the socket is connected.
    pub name: &'a [u8],
    /// Control messages.
    pub control: &'a [u8],
}

fn header_of(message: &Outgoing<'_>, vector: *mut libc::iovec) -> libc::msghdr {
    let mut header = no_header().msg_hdr;
    // The kernel reads through these pointers and never writes.
    if !message.name.is_empty() {
        header.msg_name = message.name.as_ptr().cast_mut().cast();
        header.msg_namelen = message.name.len() as libc::socklen_t;
    }
    header.msg_iov = vector;
    header.msg_iovlen = 1;
    if !message.control.is_empty() {
        header.msg_control = message.control.as_ptr().cast_mut().cast();
        header.msg_controllen = message.control.len() as _;
    }
    header
}

fn vector_of(data: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: data.as_ptr().cast_mut().cast(),
        iov_len: data.len(),
    }
}

/// Sends one message without waiting.
pub fn send(file: BorrowedFd<'_>, message: &Outgoing<'_>) -> io::Result<usize> {
    let mut vector = vector_of(message.data);
    let header = header_of(message, &raw mut vector);
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the header leads to slices and a vector that live until the call returns.
    match unsafe { libc::sendmsg(file.as_raw_fd(), &raw const header, flags) } {
        sent if sent < 0 => Err(io::Error::last_os_error()),
        sent => Ok(sent as usize),
    }
}

/// Sends a frame whose head and data lie apart, without waiting.
pub fn send_frame(
    file: BorrowedFd<'_>,
    head: &[u8],
    data: &[u8],
    control: &[u8],
) -> io::Result<usize> {
    let mut vectors = [vector_of(head), vector_of(data)];
    let message = Outgoing {
        data,
        name: &[],
        control,
    };
    let mut header = header_of(&message, vectors.as_mut_ptr());
    header.msg_iovlen = vectors.len() as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the header leads to slices and vectors that live until the call returns.
    match unsafe { libc::sendmsg(file.as_raw_fd(), &raw const header, flags) } {
        sent if sent < 0 => Err(io::Error::last_os_error()),
        sent => Ok(sent as usize),
    }
}

/// Room for the headers of messages that are sent together.
#[derive(Debug)]
pub struct Headers {
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
}

// SAFETY: the pointers are written and used within one call of `send`.
unsafe impl Send for Headers {}

impl Headers {
    /// Room for `count` messages.
    pub fn new(count: usize) -> Self {
        Self {
            headers: Vec::with_capacity(count),
            vectors: Vec::with_capacity(count),
        }
    }

    /// Sends messages, as many as there is room for here, without waiting. How many went; an
    /// error where the first did not.
    pub fn send<'a>(
        &mut self,
        file: BorrowedFd<'_>,
        messages: impl Iterator<Item = Outgoing<'a>> + Clone,
    ) -> io::Result<usize> {
        let room = self.headers.capacity().min(self.vectors.capacity());
        self.headers.clear();
        self.vectors.clear();
        for message in messages.clone().take(room) {
            self.vectors.push(vector_of(message.data));
        }
        for (message, vector) in messages.take(room).zip(&mut self.vectors) {
            let mut header = no_header();
            header.msg_hdr = header_of(&message, vector);
            self.headers.push(header);
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the headers lead to vectors of this value and to slices that the caller
        // holds, all of which live until the call returns and do not move.
        let sent = unsafe {
            libc::sendmmsg(
                file.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                flags as _,
            )
        };
        match sent {
            sent if sent < 0 => Err(io::Error::last_os_error()),
            sent => Ok(sent as usize),
        }
    }
}

/// Sets an option whose value is plain bytes, none of them an address in memory.
pub fn set_option(file: BorrowedFd<'_>, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    debug_assert!(level != libc::SOL_SOCKET || name != libc::SO_ATTACH_FILTER);
    // SAFETY: the kernel reads so many bytes from the slice.
    let done = unsafe {
        libc::setsockopt(
            file.as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads an option into `value`; how many bytes came.
pub fn option(file: BorrowedFd<'_>, level: i32, name: i32, value: &mut [u8]) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes no more than `length` bytes to the slice.
    let done = unsafe {
        libc::getsockopt(
            file.as_raw_fd(),
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    match done {
        0 => Ok((length as usize).min(value.len())),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Binds to an address that stands there as a sockaddr.
pub fn bind(file: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel copies so many bytes from the slice, whatever its alignment.
    let done = unsafe {
        libc::bind(
            file.as_raw_fd(),
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// One instruction of a classic BPF program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub code: u16,
    /// Instructions to skip where a comparison holds.
    pub if_true: u8,
    /// Instructions to skip where it does not.
    pub if_false: u8,
    /// Its constant.
    pub k: u32,
}

/// Attaches a filter; the kernel checks the program before it takes it.
pub fn attach_filter(file: BorrowedFd<'_>, program: &[Instruction]) -> io::Result<()> {
    let mut program: Vec<libc::sock_filter> = program
        .iter()
        .map(|i| libc::sock_filter {
            code: i.code,
            jt: i.if_true,
            jf: i.if_false,
            k: i.k,
        })
        .collect();
    let length = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let handed = libc::sock_fprog {
        len: length,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel copies `len` instructions from the vector, which lives until the call
    // returns.
    let done = unsafe {
        libc::setsockopt(
            file.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const handed).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The time slice of the calling thread in nanoseconds, 0 where the kernel knows none; none under another
/// policy than `SCHED_OTHER`.
pub fn slice_ns() -> Option<u64> {
    let attributes = scheduling().ok()?;
    let is_usual = attributes.sched_policy == libc::SCHED_OTHER as u32;
    is_usual.then_some(attributes.sched_runtime)
}

/// Asks for another one; all else of the thread's scheduling stays as it is.
pub fn set_slice_ns(ns: u64) -> io::Result<()> {
    let attributes = libc::sched_attr {
        sched_runtime: ns,
        ..scheduling()?
    };
    // SAFETY: the kernel reads as many bytes as `size` says, and that is the structure's own.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn scheduling() -> io::Result<libc::sched_attr> {
    // SAFETY: numbers, for which zero is a value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::sched_attr>();
    // SAFETY: the kernel writes no more than `size` bytes to the structure.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            0,
            &raw mut attributes,
            size as libc::c_uint,
            0,
        )
    };
    match done {
        0 => Ok(attributes),
        _ => Err(io::Error::last_os_error()),
    }
}
