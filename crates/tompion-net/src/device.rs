//! Network devices: by name or index, and the stamps that they offer.
//!
//! Hardware stamps were written after the kernel's documentation and have not been tried on a
//! device that has them: none of those at hand does.

mod netlink;
mod route;
mod sys;

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice};

use self::sys::HardwareConfig;
use crate::error::NetError;

pub(crate) use route::{Hop, hop};

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

/// A device that stamps every packet in hardware, both ways, as long as this is there
/// (`SIOCSHWTSTAMP`); then it is as it was before. That changes the device for everybody, and takes
/// CAP_NET_ADMIN. A process that is killed leaves it stamping. Untried: see the [module](self).
#[derive(Debug)]
pub struct HardwareStamps {
    device: String,
    /// To be set again; none where it stamped before.
    before: Option<HardwareConfig>,
}

impl HardwareStamps {
    /// Has a device of the calling thread's network namespace stamp.
    ///
    /// # Errors
    /// Where there is no such device, it cannot stamp every packet both ways, or its driver or
    /// missing rights refuse it.
    pub fn begin(device: &str) -> Result<Self, NetError> {
        let offered = offer(device)?;
        if !offered.hardware_transmit || !offered.hardware_receive_all {
            return Err(NetError::NoHardwareStamps {
                device: device.to_owned(),
            });
        }
        let failed = |source| NetError::Device {
            device: device.to_owned(),
            what: "stamp in hardware",
            source,
        };
        let socket = socket()?;
        let before = match sys::hardware_stamps(socket.as_fd(), device) {
            Ok(before) => before,
            // Drivers that cannot tell are switched off again.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                HardwareConfig::default()
            }
            Err(error) => return Err(failed(error)),
        };
        let change = changed(before);
        let stamping = Self {
            device: device.to_owned(),
            before: change.map(|_| before),
        };
        if let Some(asked) = change {
            let got = sys::set_hardware_stamps(socket.as_fd(), device, asked).map_err(failed)?;
            // Dropped, it takes back what the driver took instead.
            if changed(got).is_some() {
                return Err(NetError::NoHardwareStamps {
                    device: device.to_owned(),
                });
            }
        }
        Ok(stamping)
    }
}

impl Drop for HardwareStamps {
    fn drop(&mut self) {
        if let (Some(before), Ok(socket)) = (self.before, socket()) {
            // Nobody is left who could be told.
            let _ = sys::set_hardware_stamps(socket.as_fd(), &self.device, before);
        }
    }
}

/// What is to be set so that every packet is stamped; none where it is so.
fn changed(before: HardwareConfig) -> Option<HardwareConfig> {
    let asked = HardwareConfig {
        tx_type: ALL,
        rx_filter: ALL,
        ..before
    };
    (asked != before).then_some(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_stamp_everything_is_changed() {
        let config = |tx_type, rx_filter| HardwareConfig {
            flags: 0,
            tx_type,
            rx_filter,
        };
        let all = Some(config(ALL, ALL));
        // Off, and what PTP daemons set (HWTSTAMP_FILTER_PTP_V2_EVENT).
        assert_eq!(changed(config(0, 0)), all);
        assert_eq!(changed(config(1, 12)), all);
        assert_eq!(changed(config(ALL, ALL)), None);
    }

    #[test]
    fn a_device_without_such_stamps_is_refused_and_named() {
        let told = HardwareStamps::begin("lo").unwrap_err().to_string();
        assert!(told.starts_with("lo: it cannot stamp"), "{told}");
        let told = HardwareStamps::begin("no-such-device")
            .unwrap_err()
            .to_string();
        assert_eq!(told, "no network device \"no-such-device\"");
    }
}
