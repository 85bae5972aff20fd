//! A network of two: the guest, and a namespace of the host that is there for it alone.

use std::fs::{File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use super::{GuestError, sys};

/// The host's end. Of a block that is kept for documents, so that it is nobody's
/// address; nothing outside the namespace ever sees it.
pub const HOST_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The guest's interface, `eth0` there.
pub const GUEST_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub(super) const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 252);
const NAME: &str = "tap0";

/// A tap in a network namespace of its own, with the host's end configured.
///
/// Neither has a name outside this process: the kernel removes both with the last
/// process that holds them, however that ends, so that there is nothing to clean.
#[derive(Debug)]
pub struct Tap {
    device: File,
    namespace: File,
}

impl Tap {
    /// Makes both. It takes the right to administer networks, CAP_NET_ADMIN and
    /// CAP_SYS_ADMIN.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn new() -> Result<Self, GuestError> {
        let make = || -> io::Result<Self> {
            // Of this thread alone, which ends.
            unshare(CloneFlags::CLONE_NEWNET)?;
            let namespace = File::open("/proc/thread-self/ns/net")?;
            let device = OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/net/tun")?;
            sys::make_tap(&device, NAME)?;
            sys::interface_up("lo", None)?;
            sys::interface_up(NAME, Some((HOST_ADDRESS, MASK)))?;
            Ok(Self { device, namespace })
        };
        let made = thread::scope(|scope| {
            let made = thread::Builder::new().spawn_scoped(scope, make)?.join();
            made.unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
        });
        made.map_err(|source| GuestError::Host {
            what: "make a tap in a network namespace".to_owned(),
            source,
        })
    }

    /// Does `work` where the guest is reached under [`GUEST_ADDRESS`]: sockets and
    /// children made there stay there.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        let inside = || -> io::Result<T> {
            setns(&self.namespace, CloneFlags::CLONE_NEWNET)?;
            Ok(work())
        };
        thread::scope(|scope| {
            let done = thread::Builder::new().spawn_scoped(scope, inside)?.join();
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    pub(super) fn device(&self) -> &File {
        &self.device
    }
}
