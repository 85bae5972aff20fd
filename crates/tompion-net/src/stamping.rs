//! Which stamps a socket is asked for.

use std::io;
use std::os::fd::BorrowedFd;

use crate::sys;

/// Asks for stamps (`SO_TIMESTAMPING`).
pub fn set_flags(file: BorrowedFd<'_>, flags: u32) -> io::Result<()> {
    let name = libc::SO_TIMESTAMPING;
    sys::set_option(file, libc::SOL_SOCKET, name, &flags.to_ne_bytes())
}
