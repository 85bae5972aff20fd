//! All unsafe code of this crate: children that die with their parent or inherit a file,
//! and the system calls of network interfaces and of the kernel's random numbers.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::libc;

/// Lets the command's process, and no other child, have this open file under the same
/// number.
pub fn inherit(command: &mut Command, file: RawFd) {
    // SAFETY: runs between fork and exec; fcntl is async-signal-safe and nothing is
    // allocated. A number that is no open file is an error of fcntl.
    unsafe {
        command.pre_exec(move || match libc::fcntl(file, libc::F_SETFD, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
}

/// An `ifreq` that names `interface`, with nothing else in it.
fn request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all fields of an ifreq, of its union too, are numbers, addresses as
    // numbers and null pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn ioctl(file: &impl AsRawFd, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: each request used here reads or writes one ifreq and nothing beyond it.
    match unsafe { libc::ioctl(file.as_raw_fd(), what, std::ptr::from_mut(request)) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Makes an open /dev/net/tun the tap `name`, which is there as long as that is open.
pub fn make_tap(device: &File, name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    ioctl(device, libc::TUNSETIFF, &mut request)
}

/// Switches an interface on, with this address and mask where they are given.
pub fn interface_up(name: &str, address: Option<(Ipv4Addr, Ipv4Addr)>) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    if let Some((address, mask)) = address {
        for (what, value) in [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, mask)] {
            let mut request = request(name)?;
            // SAFETY: a sockaddr_in fits into the sockaddr that the union holds, and is
            // what these requests take there; the union's alignment is that of pointers.
            unsafe {
                let to = std::ptr::from_mut(&mut request.ifr_ifru).cast::<libc::sockaddr_in>();
                (*to).sin_family = libc::AF_INET as libc::sa_family_t;
                (*to).sin_addr.s_addr = u32::from(value).to_be();
            }
            ioctl(&socket, what as libc::Ioctl, &mut request)?;
        }
    }
    let mut request = request(name)?;
    ioctl(&socket, libc::SIOCGIFFLAGS as libc::Ioctl, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has filled in this member of the union.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
    ioctl(&socket, libc::SIOCSIFFLAGS as libc::Ioctl, &mut request)
}

/// Length of a seed, in bytes: what the kernel's generator takes.
pub const SEED_BYTES: usize = 32;

/// Gives the kernel a seed for its random numbers, and says that it is one.
pub fn add_entropy(seed: &[u8; SEED_BYTES]) -> io::Result<()> {
    /// `struct rand_pool_info` of linux/random.h.
    #[repr(C)]
    struct PoolInfo {
        entropy_bits: libc::c_int,
        bytes: libc::c_int,
        seed: [u8; SEED_BYTES],
    }
    nix::ioctl_write_ptr_bad!(
        rnd_add_entropy,
        nix::request_code_write!(b'R', 3, 2 * size_of::<libc::c_int>()),
        PoolInfo
    );
    let info = PoolInfo {
        entropy_bits: 8 * SEED_BYTES as libc::c_int,
        bytes: SEED_BYTES as libc::c_int,
        seed: *seed,
    };
    let random = File::options().write(true).open("/dev/random")?;
    // SAFETY: RNDADDENTROPY reads the two numbers, and as many bytes behind them as the
    // second says, which are there.
    unsafe { rnd_add_entropy(random.as_raw_fd(), &info) }?;
    Ok(())
}
