//! Further machines behind the sender's own device, as a host joins containers and virtual machines to it.
//!
//! ```text
//! sender  br0 ─┬─ s0 ── path            bridge: the sender's addresses are on br0
//!              ├─ p2 ── eth0  machine 2
//!              └─ a device of a virtual machine's
//! sender  s0 ─┬─ path                   macvlan
//!             └─ eth0  machine 2
//! ```

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use nix::net::if_::if_nametoindex;

use crate::TestbedError;
use crate::addresses::{Block, Link, Pair, Prefixes};
use crate::netlink::{Device, Netlink};
use crate::place::Place;
use crate::topology::{FAR_END, Host, SENDER, configure, is_there, join};

/// Of a machine, in a namespace of its own.
const OWN: &str = "eth0";
/// The bridge, with the hardware address by which the far end knows the sender.
const BRIDGE: Device = Device {
    name: "br0",
    mac: SENDER.mac,
};
/// The sender's ends of the pairs, by the numbers of machines. The sender itself is the first.
const PORTS: [&str; 13] = [
    "", "", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12",
];
const FIRST: u8 = 2;
/// Machines that there may be beside the sender.
pub const MOST_MACHINES: usize = PORTS.len() - FIRST as usize;

/// How a machine is joined to the sender's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attachment {
    /// By a pair of devices and the kernel's bridge, whose other port is the sender's device.
    Bridge,
    /// By a device within the sender's (macvlan, whose machines hear one another).
    Macvlan,
}

/// By what a machine is known on the sender's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its addresses.
    pub addresses: Pair,
    /// Which addresses are on its link.
    pub v4_mask: Ipv4Addr,
    /// The hardware address of its device.
    pub mac: [u8; 6],
}

/// What machines are joined to.
pub(crate) struct On<'a> {
    pub sender: &'a Place,
    pub far_end: &'a Place,
    pub block: Block,
    pub mtu: u32,
    pub has_router: bool,
}

/// What of a testbed's sender has been handed out.
#[derive(Debug)]
pub(crate) struct Attached {
    next: AtomicU8,
    has_bridge: Mutex<bool>,
}

impl Default for Attached {
    fn default() -> Self {
        Self {
            next: AtomicU8::new(FIRST),
            has_bridge: Mutex::default(),
        }
    }
}

impl Attached {
    /// A further machine, whose packets leave by the sender's device. It is there as long as the place is.
    ///
    /// # Errors
    /// Where the kernel has no such devices, a router is part of the path, and where there are eleven machines
    /// already.
    pub fn attach(&self, on: &On<'_>, how: Attachment) -> Result<Place, TestbedError> {
        let (number, identity) = self.next_machine(on)?;
        let place = Place::new(OWN, identity.addresses)?;
        let own = Device {
            name: OWN,
            mac: identity.mac,
        };
        let mtu = on.mtu;
        let host = Host::new(own, identity.addresses, Prefixes::ONE_LINK)
            .neighbour(on.far_end.addresses, FAR_END);
        let sender = &on.sender.namespace;
        let host = match how {
            Attachment::Bridge => {
                self.require_bridge(on)?;
                let port = Device {
                    name: PORTS[usize::from(number)],
                    mac: [0x02, b't', b'o', b'm', 2, number],
                };
                join((sender, port), (&place.namespace, own), mtu)?;
                configure(sender, &[Host::without_addresses(port)])?;
                switch_in(on, port.name)?;
                host
            }
            Attachment::Macvlan => {
                let made = sender.inside(|| {
                    let parent = if_nametoindex(SENDER.name)?;
                    Netlink::new()?.add_macvlan(parent, own, place.namespace.as_fd(), mtu)
                });
                made.and_then(|made| made)
                    .map_err(missing("macvlan devices"))?;
                // What a device is spared the one above it is spared, too.
                host.untouched()
            }
        };
        configure(&place.namespace, &[host])?;
        Ok(place)
    }

    /// By what the next machine is to be known that is joined with a device of its own making, as a virtual
    /// machine by a tap.
    ///
    /// # Errors
    /// As [`attach`](Self::attach).
    pub fn announce(&self, on: &On<'_>) -> Result<Identity, TestbedError> {
        let (_, identity) = self.next_machine(on)?;
        self.require_bridge(on)?;
        Ok(identity)
    }

    /// The next number, and whom it belongs to; the far end is told.
    fn next_machine(&self, on: &On<'_>) -> Result<(u8, Identity), TestbedError> {
        if on.has_router {
            return Err(TestbedError::Routed);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if usize::from(number) >= PORTS.len() {
            // Not to begin anew after as many again.
            self.next.store(PORTS.len() as u8, Ordering::Relaxed);
            return Err(TestbedError::Full(MOST_MACHINES));
        }
        let identity = Identity {
            addresses: on.block.at(Link::Sender, number),
            v4_mask: Ipv4Addr::from_bits(u32::MAX << (32 - u32::from(Prefixes::ONE_LINK.v4))),
            mac: [0x02, b't', b'o', b'm', 1, number],
        };
        let told = on.far_end.inside(|| -> io::Result<()> {
            let mut netlink = Netlink::new()?;
            let index = if_nametoindex(FAR_END.name)?;
            for address in identity.addresses.both().into_iter().filter(is_there) {
                netlink.add_neighbour(index, address, identity.mac)?;
            }
            Ok(())
        });
        let what = "tell the far end of a machine";
        told.and_then(|told| told)
            .map_err(TestbedError::system(what))?;
        Ok((number, identity))
    }

    /// Makes the bridge, unless it is there.
    fn require_bridge(&self, on: &On<'_>) -> Result<(), TestbedError> {
        let mut is_there_already = self
            .has_bridge
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if *is_there_already {
            return Ok(());
        }
        let sender = on.sender;
        let made = sender.inside(|| -> io::Result<()> {
            let mut netlink = Netlink::new()?;
            netlink.add_bridge(BRIDGE, on.mtu)?;
            let (bridge, own) = (if_nametoindex(BRIDGE.name)?, if_nametoindex(SENDER.name)?);
            for address in sender.addresses.both().into_iter().filter(is_there) {
                netlink.remove_address(own, address, Prefixes::ONE_LINK.of(address))?;
            }
            netlink.set_controller(own, bridge)
        });
        made.and_then(|made| made).map_err(missing("bridges"))?;
        let far_end = on.far_end.addresses;
        let host =
            Host::new(BRIDGE, sender.addresses, Prefixes::ONE_LINK).neighbour(far_end, FAR_END);
        configure(&sender.namespace, &[host.untouched()])?;
        *is_there_already = true;
        Ok(())
    }
}

/// Joins a device of the sender's place to the bridge.
pub(crate) fn switch_in(on: &On<'_>, device: &str) -> Result<(), TestbedError> {
    let done = on.sender.inside(|| {
        let (device, bridge) = (if_nametoindex(device)?, if_nametoindex(BRIDGE.name)?);
        Netlink::new()?.set_controller(device, bridge)
    });
    let what = "join a device to the bridge";
    done.and_then(|done| done)
        .map_err(TestbedError::system(what))
}

/// What the kernel said where it has no such devices, and where it has.
fn missing(what: &'static str) -> impl FnOnce(io::Error) -> TestbedError {
    move |source| match source.raw_os_error() {
        Some(nix::libc::EOPNOTSUPP) => TestbedError::Kernel { what, source },
        _ => TestbedError::system("join a machine to the sender's device")(source),
    }
}
