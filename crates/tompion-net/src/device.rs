//! Network devices: by name or index, and the stamps that they offer.
//!
//! Hardware stamps were written after the kernel's documentation and have not been tried on a
//! device that has them: none of those at hand does.

mod route;
mod sys;

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice};

use self::sys::HardwareConfig;
use crate::error::NetError;

pub use route::towards;

/// A device, as it was named.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    /// By its name, at most 15 bytes.
    Name(String),
    /// By its index.
    Index(u32),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}

impl From<&str> for Device {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

/// A socket for questions about devices.
fn socket() -> Result<OwnedFd, NetError> {
    let any =
        |family| rustix::net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    any(AddressFamily::INET)
        .or_else(|_| any(AddressFamily::INET6))
        .map_err(|error| NetError::Open {
            what: "a socket",
            needs: "sockets of IPv4 or IPv6",
            source: error.into(),
        })
}

impl Device {
    /// Its index and its name, in the calling thread's network namespace.
    ///
    /// # Errors
    /// Where there is no such device.
    pub fn find(&self) -> Result<(u32, String), NetError> {
        let socket = socket()?;
        let found = match self {
            Self::Name(name) => netdevice::name_to_index(&socket, name).map(|i| (i, name.clone())),
            Self::Index(index) => netdevice::index_to_name(&socket, *index).map(|n| (*index, n)),
        };
        found.map_err(|_| NetError::NoDevice {
            device: self.to_string(),
        })
    }
}

/// What a device and its driver can stamp (`ETHTOOL_GET_TS_INFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The driver stamps what it sends.
    pub software_transmit: bool,
    /// The kernel stamps what comes.
    pub software_receive: bool,
    /// The device stamps what it sends, once it is told to.
    pub hardware_transmit: bool,
    /// The device stamps what comes, once it is told to.
    pub hardware_receive: bool,
    /// It can stamp every packet that comes, not those of PTP alone.
    pub hardware_receive_all: bool,
    /// Its clock, `/dev/ptpN`.
    pub clock: Option<u32>,
}

/// `HWTSTAMP_FILTER_ALL` of linux/net_tstamp.h; `HWTSTAMP_TX_ON` is 1, too.
const ALL: i32 = 1;

/// Asks what a device can stamp.
///
/// # Errors
/// Where there is no such device, or its driver does not say.
pub fn offer(device: &str) -> Result<Offer, NetError> {
    let socket = socket()?;
    let info = sys::timestamp_info(socket.as_fd(), device).map_err(|source| {
        match source.raw_os_error() {
            Some(libc::ENODEV) => NetError::NoDevice {
                device: device.to_owned(),
            },
            _ => NetError::Device {
                device: device.to_owned(),
                what: "say what it can stamp",
                source,
            },
        }
    })?;
    let has = |flag| info.so_timestamping & flag != 0;
    Ok(Offer {
        software_transmit: has(libc::SOF_TIMESTAMPING_TX_SOFTWARE),
        software_receive: has(libc::SOF_TIMESTAMPING_RX_SOFTWARE),
        hardware_transmit: has(libc::SOF_TIMESTAMPING_TX_HARDWARE) && info.tx_types & 2 != 0,
        hardware_receive: has(libc::SOF_TIMESTAMPING_RX_HARDWARE) && info.rx_filters > 1,
        hardware_receive_all: info.rx_filters & (1 << ALL) != 0,
        clock: u32::try_from(info.phc_index).ok(),
    })
}

/// What a device that was told to stamp does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// It stamps what it sends.
    pub transmit: bool,
    /// It stamps every packet that comes.
    pub receive_all: bool,
}

/// Has a device stamp every packet in hardware, both ways (`SIOCSHWTSTAMP`). It changes the
/// device for everybody, is not taken back, and takes CAP_NET_ADMIN. Untried: see the
/// [module](self).
///
/// # Errors
/// Where the device, its driver or missing rights refuse it.
pub fn enable_hardware(device: &str) -> Result<Hardware, NetError> {
    let socket = socket()?;
    let asked = HardwareConfig {
        flags: 0,
        tx_type: 1,
        rx_filter: ALL,
    };
    let got = sys::set_hardware_stamps(socket.as_fd(), device, asked).map_err(|source| {
        NetError::Device {
            device: device.to_owned(),
            what: "stamp in hardware",
            source,
        }
    })?;
    Ok(Hardware {
        transmit: got.tx_type == 1,
        receive_all: got.rx_filter == ALL,
    })
}
