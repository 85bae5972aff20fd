//! The first packets: the kernel begins to stamp what comes only a moment after it was asked.
//!
//! The first socket that asks for stamps has a switch set for all network code, which is done later
//! by a thread of the kernel's. What comes before has no stamp, or, with the older options, one of
//! when it was read. Neither is wanted.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tompion_time::sleep::sleep_until_ns;

use crate::control::{self, Control};
use crate::stamps::monotonic_ns;
use crate::sys::{self, Arena, Outgoing};

/// How long it is waited for; it takes about a millisecond where the machine is not busy.
const LONGEST_NS: u64 = 200_000_000;
/// Between two looks.
const PAUSE_NS: u64 = 500_000;

/// Waits until packets get stamps as they come, by packets to itself. Where there is no loopback
/// device it does not wait: what has no stamp then is counted as all else.
pub fn settle() {
    let _ = try_settle();
}

fn try_settle() -> std::io::Result<()> {
    let kind = SocketType::DGRAM;
    let socket = rustix::net::socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None)?;
    let file = socket.as_fd();
    crate::stamping::set_flags(
        file,
        libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE,
    )?;
    rustix::net::bind(file, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let own = SocketAddr::try_from(rustix::net::getsockname(file)?)?;
    rustix::net::connect(file, &own)?;
    let end = monotonic_ns() + LONGEST_NS;
    let mut arena = Arena::new(1, 8, control::RECEIVE_BYTES);
    loop {
        let message = Outgoing {
            data: b"settled?",
            name: &[],
            control: &[],
        };
        sys::send(file, &message)?;
        // It is there before the call returns.
        let came = arena.receive(file, 0, 0)? > 0;
        let is_stamped = came && Control::read(arena.control(0)).software_ns.is_some();
        if is_stamped || monotonic_ns() >= end {
            return Ok(());
        }
        sleep_until_ns(monotonic_ns() + PAUSE_NS);
    }
}
