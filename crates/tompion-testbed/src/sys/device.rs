//! Work that a device may be spared or left with, by ethtool's requests.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use nix::libc;

/// What the kernel may leave to a device, or do in larger pieces than the wire's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Checksums of what is sent.
    TransmitChecksum,
    /// TCP segments.
    TcpSegments,
    /// Segments made only before the device.
    GenericSegments,
    /// Segments put together on arrival.
    GenericReceive,
}

impl Offload {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::TransmitChecksum,
        Self::TcpSegments,
        Self::GenericSegments,
        Self::GenericReceive,
    ];

    /// `ETHTOOL_STXCSUM` and its like, of linux/ethtool.h.
    fn request(self) -> u32 {
        match self {
            Self::TransmitChecksum => 0x17,
            Self::TcpSegments => 0x1f,
            Self::GenericSegments => 0x24,
            Self::GenericReceive => 0x2c,
        }
    }
}

/// `struct ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Switches one of them on or off, for a device of the calling thread's namespace.
pub fn set_offload(device: &str, offload: Offload, on: bool) -> io::Result<()> {
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    let mut value = Value {
        command: offload.request(),
        data: u32::from(on),
    };
    // SAFETY: all fields of an ifreq, of its union too, are numbers and null pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(&mut value).cast();
    // SAFETY: SIOCETHTOOL reads the ifreq and, for these requests, the value that it points at;
    // both outlive the call.
    let done = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCETHTOOL as libc::Ioctl,
            std::ptr::from_mut(&mut request),
        )
    };
    match done {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
