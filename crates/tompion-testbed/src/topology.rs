//! The places of a testbed, and what joins them.
//!
//! ```text
//! sender s0 ─────────────────────────── r0 relay r1 ─── f0 far end
//! sender s0 ─── rs router rf ────────────────────────── f0 far end      (kernel)
//! sender s0 ─── rs router rf ────────── r0 relay r1 ─── f0 far end      (kernel, and a delay)
//!     cross x0 ─── rx ┘
//! ```

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::Path;

use nix::net::if_::if_nametoindex;

use crate::TestbedError;
use crate::addresses::{Block, Link, Pair, Prefixes};
use crate::namespace::Namespace;
use crate::netlink::{Device, Netlink, TokenBucket};
use crate::place::Place;
use crate::queue::{shape, steer};
use crate::sys::{Offload, set_offload};

/// The sender's device.
pub(crate) const SENDER: Device = device("s0", 1);
/// The far end's device.
pub(crate) const FAR_END: Device = device("f0", 2);
/// The relay's device towards the sender.
pub(crate) const RELAY_NEAR: Device = device("r0", 3);
/// The relay's device towards the far end.
pub(crate) const RELAY_FAR: Device = device("r1", 4);
/// The router's device towards the sender.
pub(crate) const ROUTER_NEAR: Device = device("rs", 5);
/// The router's device towards the far end: its queue is the kernel's bottleneck.
pub(crate) const ROUTER_FAR: Device = device("rf", 6);
/// The router's device towards the cross traffic's sender.
pub(crate) const ROUTER_CROSS: Device = device("rx", 7);
/// The cross traffic's device.
pub(crate) const CROSS: Device = device("x0", 8);
/// Hardware that nobody has: what is sent there is dropped on arrival, unanswered.
const NOBODY: [u8; 6] = [0x02, b't', b'o', b'm', 0, 0xff];

/// Locally administered addresses; the namespaces have no other link on which they could collide.
const fn device(name: &'static str, number: u8) -> Device {
    Device {
        name,
        mac: [0x02, b't', b'o', b'm', 0, number],
    }
}

/// The router's place on each of its links.
const ROUTER_HOST: u8 = 14;
/// Where cross traffic is sent to.
const SINK_HOST: u8 = 13;

/// What is between sender and far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    /// A router with this queue towards the far end, and whether others send there, too.
    pub router: Option<(TokenBucket, bool)>,
    /// A relay of ours.
    pub relay: bool,
    /// Largest packet in bytes, without Ethernet's header.
    pub mtu: u32,
}

/// All namespaces of a testbed. Whoever drops it takes it down.
#[derive(Debug)]
pub(crate) struct Topology {
    pub sender: Place,
    pub far_end: Place,
    pub relay: Option<Namespace>,
    pub router: Option<Namespace>,
    pub cross: Option<Namespace>,
    /// Where cross traffic goes.
    pub sink: IpAddr,
    /// All their addresses are of it.
    pub block: Block,
}

impl Topology {
    pub fn build(between: Between) -> Result<Self, TestbedError> {
        let block = Block::free()?;
        let at = |link| block.at(link, 1);
        let sender = Place::new(SENDER.name, at(Link::Sender))?;
        let far_end = Place::new(FAR_END.name, at(Link::FarEnd))?;
        let relay = between.relay.then(Namespace::new).transpose()?;
        let router = between.router.map(|_| Namespace::new()).transpose()?;
        let crossed = between.router.is_some_and(|(_, crossed)| crossed);
        let cross = crossed.then(Namespace::new).transpose()?;

        // The devices, from the sender on.
        let mut last = (&sender.namespace, SENDER);
        if let Some(router) = &router {
            join(last, (router, ROUTER_NEAR), between.mtu)?;
            last = (router, ROUTER_FAR);
        }
        if let Some(relay) = &relay {
            join(last, (relay, RELAY_NEAR), between.mtu)?;
            last = (relay, RELAY_FAR);
        }
        join(last, (&far_end.namespace, FAR_END), between.mtu)?;
        if let (Some(router), Some(cross)) = (&router, &cross) {
            join((cross, CROSS), (router, ROUTER_CROSS), between.mtu)?;
        }

        let prefixes = match router {
            Some(_) => Prefixes::ROUTED,
            None => Prefixes::ONE_LINK,
        };
        let near_gate = block.at(Link::Sender, ROUTER_HOST);
        let far_gate = block.at(Link::FarEnd, ROUTER_HOST);
        let ends = [
            (&sender, SENDER, near_gate, ROUTER_NEAR, &far_end, FAR_END),
            (&far_end, FAR_END, far_gate, ROUTER_FAR, &sender, SENDER),
        ];
        for (place, own, gate, gate_device, other, other_device) in ends {
            let own = Host::new(own, place.addresses, prefixes);
            let host = match router {
                Some(_) => own.neighbour(gate, gate_device).through(gate),
                None => own.neighbour(other.addresses, other_device),
            };
            configure(&place.namespace, &[host])?;
        }
        if let Some(relay) = &relay {
            let deaf = [RELAY_NEAR, RELAY_FAR].map(Host::without_addresses);
            configure(relay, &deaf)?;
        }
        let sink = block.at(Link::FarEnd, SINK_HOST);
        if let (Some(router), Some((bucket, _))) = (&router, between.router) {
            let cross_gate = block.at(Link::Cross, ROUTER_HOST);
            let mut hosts = vec![
                Host::new(ROUTER_NEAR, near_gate, prefixes).neighbour(sender.addresses, SENDER),
                Host::new(ROUTER_FAR, far_gate, prefixes)
                    .neighbour(far_end.addresses, FAR_END)
                    .neighbour(sink, device("", NOBODY[5])),
            ];
            if let Some(cross) = &cross {
                let own = at(Link::Cross);
                hosts.push(Host::new(ROUTER_CROSS, cross_gate, prefixes).neighbour(own, CROSS));
                let host = Host::new(CROSS, own, prefixes)
                    .neighbour(cross_gate, ROUTER_CROSS)
                    .through(cross_gate);
                configure(cross, &[host])?;
            }
            configure(router, &hosts)?;
            forward(router)?;
            shape(router, ROUTER_FAR.name, bucket)?;
            // The queue's work and its timers would slow the sender down to the free rate: it
            // then looks like a path with nothing else on it.
            steer(router, ROUTER_NEAR.name)?;
        }
        Ok(Self {
            sender,
            far_end,
            relay,
            router,
            cross,
            sink: sink.v4.into(),
            block,
        })
    }
}

/// One device's share of the configuration.
pub(crate) struct Host {
    device: Device,
    addresses: Option<(Pair, Prefixes)>,
    neighbours: Vec<(Pair, Device)>,
    gateway: Option<Pair>,
    keeps_offloads: bool,
}

impl Host {
    pub fn new(device: Device, addresses: Pair, prefixes: Prefixes) -> Self {
        Self {
            addresses: Some((addresses, prefixes)),
            ..Self::without_addresses(device)
        }
    }

    pub fn without_addresses(device: Device) -> Self {
        Self {
            device,
            addresses: None,
            neighbours: Vec::new(),
            gateway: None,
            keeps_offloads: false,
        }
    }

    /// Of a device above others, which do the work.
    pub fn untouched(self) -> Self {
        Self {
            keeps_offloads: true,
            ..self
        }
    }

    /// Nobody has to ask for this one's hardware, so that no first packet waits for an answer.
    pub fn neighbour(mut self, addresses: Pair, device: Device) -> Self {
        self.neighbours.push((addresses, device));
        self
    }

    fn through(mut self, gateway: Pair) -> Self {
        self.gateway = Some(gateway);
        self
    }
}

pub(crate) fn join(
    (here, device): (&Namespace, Device),
    (there, peer): (&Namespace, Device),
    mtu: u32,
) -> Result<(), TestbedError> {
    let made = here.inside(|| Netlink::new()?.add_pair(device, peer, there.as_fd(), mtu));
    made.and_then(|made| made)
        .map_err(|source| match source.raw_os_error() {
            Some(nix::libc::EOPNOTSUPP) => TestbedError::Kernel {
                what: "veth devices",
                source,
            },
            _ => TestbedError::system("make a pair of devices")(source),
        })
}

pub(crate) fn configure(namespace: &Namespace, hosts: &[Host]) -> Result<(), TestbedError> {
    let configured = namespace.inside(|| -> io::Result<()> {
        let mut netlink = Netlink::new()?;
        netlink.up(if_nametoindex("lo")?)?;
        // So that ping needs no rights of its own. Some containers have these read-only.
        let _ = fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
        for host in hosts {
            let name = host.device.name;
            let index = if_nametoindex(name)?;
            quiet_ipv6(name, host.addresses.is_some());
            for offload in Offload::ALL.into_iter().filter(|_| !host.keeps_offloads) {
                // Relayed as it is, a packet whose checksum was left to the device is damaged; and
                // what is sent in one piece is not paced as it is on a wire.
                set_offload(name, offload, false)?;
            }
            netlink.up(index)?;
            let (pair, prefixes) = match host.addresses {
                Some(addresses) => addresses,
                None => continue,
            };
            for address in pair.both().into_iter().filter(is_there) {
                netlink.add_address(index, address, prefixes.of(address))?;
            }
            for (pair, device) in &host.neighbours {
                for address in pair.both().into_iter().filter(is_there) {
                    netlink.add_neighbour(index, address, device.mac)?;
                }
            }
        }
        for gateway in hosts.iter().filter_map(|host| host.gateway) {
            for address in gateway.both().into_iter().filter(is_there) {
                netlink.add_default_route(address)?;
            }
        }
        Ok(())
    });
    let what = "configure the devices of a place";
    configured
        .and_then(|configured| configured)
        .map_err(TestbedError::system(what))
}

/// Whether this kernel has the protocol of an address.
pub(crate) fn is_there(address: &IpAddr) -> bool {
    address.is_ipv4() || has_ipv6()
}

/// Whether this kernel has IPv6.
pub(crate) fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").exists()
}

/// Has IPv6 send nothing on its own: no link-local address, no search for routers or doubles.
/// Without it these are packets on the path that nobody asked for, but nothing worse.
fn quiet_ipv6(device: &str, used: bool) {
    let settings = [
        ("addr_gen_mode", "1"),
        ("accept_ra", "0"),
        ("router_solicitations", "0"),
        ("dad_transmits", "0"),
        ("disable_ipv6", if used { "0" } else { "1" }),
    ];
    for (name, value) in settings {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{device}/{name}"), value);
    }
}

fn forward(router: &Namespace) -> Result<(), TestbedError> {
    let done = router.inside(|| -> io::Result<()> {
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        // A link of its own has no better way to itself.
        let _ = fs::write("/proc/sys/net/ipv4/conf/all/send_redirects", "0");
        if has_ipv6() {
            fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")?;
        }
        Ok(())
    });
    done.and_then(|done| done)
        .map_err(TestbedError::system("have the router forward"))
}
