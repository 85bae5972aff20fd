//! Unsafe code: requests to network devices.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// `struct ethtool_ts_info` of linux/ethtool.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TimestampInfo {
    command: u32,
    /// `SOF_TIMESTAMPING_` flags.
    pub so_timestamping: u32,
    /// The device's clock as `/dev/ptpN`; -1 where it has none.
    pub phc_index: i32,
    /// A bit for each `HWTSTAMP_TX_`.
    pub tx_types: u32,
    tx_reserved: [u32; 3],
    /// A bit for each `HWTSTAMP_FILTER_`.
    pub rx_filters: u32,
    rx_reserved: [u32; 3],
}

/// `struct hwtstamp_config` of linux/net_tstamp.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardwareConfig {
    /// Zero.
    pub flags: i32,
    /// One of `HWTSTAMP_TX_`.
    pub tx_type: i32,
    /// One of `HWTSTAMP_FILTER_`.
    pub rx_filter: i32,
}

const ETHTOOL_GET_TS_INFO: u32 = 0x41;

/// Asks an ioctl of a network device whose request leads to `T`.
fn device_request<T>(
    file: BorrowedFd<'_>,
    what: libc::Ioctl,
    device: &str,
    content: &mut T,
) -> io::Result<()> {
    // SAFETY: numbers and null pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.is_empty() || device.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = ptr::from_mut(content).cast();
    // SAFETY: the callers below pass the structure that each request reads and writes there.
    match unsafe { libc::ioctl(file.as_raw_fd(), what, &raw mut request) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// What a device says of its stamps (`ETHTOOL_GET_TS_INFO`).
pub fn timestamp_info(file: BorrowedFd<'_>, device: &str) -> io::Result<TimestampInfo> {
    let mut info = TimestampInfo {
        command: ETHTOOL_GET_TS_INFO,
        ..TimestampInfo::default()
    };
    device_request(file, libc::SIOCETHTOOL as libc::Ioctl, device, &mut info)?;
    Ok(info)
}

/// Whether and what a device stamps in hardware now (`SIOCGHWTSTAMP`).
pub fn hardware_stamps(file: BorrowedFd<'_>, device: &str) -> io::Result<HardwareConfig> {
    let mut config = HardwareConfig::default();
    device_request(
        file,
        libc::SIOCGHWTSTAMP as libc::Ioctl,
        device,
        &mut config,
    )?;
    Ok(config)
}

/// Has a device stamp in hardware (`SIOCSHWTSTAMP`); what it took instead where it could not do
/// quite that.
pub fn set_hardware_stamps(
    file: BorrowedFd<'_>,
    device: &str,
    config: HardwareConfig,
) -> io::Result<HardwareConfig> {
    let mut config = config;
    device_request(
        file,
        libc::SIOCSHWTSTAMP as libc::Ioctl,
        device,
        &mut config,
    )?;
    Ok(config)
}
