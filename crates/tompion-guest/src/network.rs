//! A network of two: the guest, and a namespace of the host that is there for it alone; or one of the host's own, on
//! which it is one of many.

use std::fmt;
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

/// What the guest's interface is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its address.
    pub address: Ipv4Addr,
    /// Which addresses are on its link.
    pub mask: Ipv4Addr,
    /// Its hardware address; the one that every guest has where there is none.
    pub mac: Option<[u8; 6]>,
}

impl Interface {
    /// In a network of two.
    pub(super) const USUAL: Self = Self {
        address: GUEST_ADDRESS,
        mask: MASK,
        mac: None,
    };
}

/// As QEMU takes it.
pub(super) struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.map(|byte| format!("{byte:02x}"));
        f.write_str(&bytes.join(":"))
    }
}

/// A tap in a network namespace of its own, with the host's end configured.
///
/// Neither has a name outside this process: the kernel removes both with the last
/// process that holds them, however that ends, so that there is nothing to clean.
#[derive(Debug)]
pub struct Tap {
    device: File,
    namespace: File,
    guest: Interface,
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
            let device = device(NAME)?;
            sys::interface_up("lo", None)?;
            sys::interface_up(NAME, Some((HOST_ADDRESS, MASK)))?;
            Ok(Self {
                device,
                namespace,
                guest: Interface::USUAL,
            })
        };
        let made = thread::scope(|scope| {
            let made = thread::Builder::new().spawn_scoped(scope, make)?.join();
            made.unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
        });
        made.map_err(refused)
    }

    /// A tap called `name` in the calling thread's network namespace, switched on and without an address of the
    /// host's: whoever makes it joins it with others there. The guest is `guest` on it.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn joined(name: &str, guest: Interface) -> Result<Self, GuestError> {
        let make = || -> io::Result<Self> {
            let namespace = File::open("/proc/thread-self/ns/net")?;
            let device = device(name)?;
            sys::interface_up(name, None)?;
            Ok(Self {
                device,
                namespace,
                guest,
            })
        };
        make().map_err(refused)
    }

    /// What the guest's interface is known by.
    pub fn guest(&self) -> Interface {
        self.guest
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

fn device(name: &str) -> io::Result<File> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")?;
    sys::make_tap(&device, name)?;
    Ok(device)
}

fn refused(source: io::Error) -> GuestError {
    GuestError::Host {
        what: "make a tap in a network namespace".to_owned(),
        source,
    }
}
