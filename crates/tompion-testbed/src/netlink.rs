//! Devices, addresses, routes and queues by rtnetlink, in the calling thread's namespace.

use std::io;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoMacVlan, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
    MacVlanMode,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// A device's address on its link.
pub type Mac = [u8; 6];

/// A name and a hardware address.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Its name, at most 15 bytes.
    pub name: &'static str,
    /// Its hardware address.
    pub mac: Mac,
}

/// A token bucket (tc-tbf(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Bits a second, Ethernet headers counted.
    pub rate_bps: u64,
    /// What may leave at once, in bytes.
    pub burst_bytes: u32,
    /// What may wait, in bytes.
    pub limit_bytes: u32,
}

/// A conversation with the kernel.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// One about the namespace that the calling thread is in.
    pub fn new() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    fn ask(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = self.sequence;
        let mut message =
            NetlinkMessage::new(header, NetlinkPayload::<RouteNetlinkMessage>::from(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
                .map_err(io::Error::other)?;
            if answer.header.sequence_number != self.sequence {
                continue;
            }
            if let NetlinkPayload::Error(error) = answer.payload {
                return match error.code {
                    None => Ok(()),
                    Some(_) => Err(error.to_io()),
                };
            }
        }
    }

    /// A pair of devices: one here, its peer in `elsewhere`.
    pub fn add_pair(
        &mut self,
        here: Device,
        peer: Device,
        elsewhere: BorrowedFd<'_>,
        mtu: u32,
    ) -> io::Result<()> {
        let mut other = describe(peer, mtu);
        other
            .attributes
            .push(LinkAttribute::NetNsFd(elsewhere.as_raw_fd()));
        let mut link = describe(here, mtu);
        link.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
        ]));
        let message = RouteNetlinkMessage::NewLink(link);
        self.ask(message, NLM_F_CREATE | NLM_F_EXCL)
    }

    /// A bridge without ports.
    pub fn add_bridge(&mut self, bridge: Device, mtu: u32) -> io::Result<()> {
        let mut link = describe(bridge, mtu);
        let kind = LinkInfo::Kind(InfoKind::Bridge);
        link.attributes.push(LinkAttribute::LinkInfo(vec![kind]));
        let message = RouteNetlinkMessage::NewLink(link);
        self.ask(message, NLM_F_CREATE | NLM_F_EXCL)
    }

    /// A device within `parent`, which is here, for `elsewhere`.
    pub fn add_macvlan(
        &mut self,
        parent: u32,
        device: Device,
        elsewhere: BorrowedFd<'_>,
        mtu: u32,
    ) -> io::Result<()> {
        let mut link = describe(device, mtu);
        let mode = InfoMacVlan::Mode(MacVlanMode::Bridge);
        link.attributes.extend([
            LinkAttribute::Link(parent),
            LinkAttribute::NetNsFd(elsewhere.as_raw_fd()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::MacVlan),
                LinkInfo::Data(InfoData::MacVlan(vec![mode])),
            ]),
        ]);
        let message = RouteNetlinkMessage::NewLink(link);
        self.ask(message, NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Makes a device a port of a bridge.
    pub fn set_controller(&mut self, device: u32, bridge: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = device;
        link.attributes = vec![LinkAttribute::Controller(bridge)];
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Switches a device on.
    pub fn up(&mut self, device: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = device;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.ask(RouteNetlinkMessage::NewLink(link), 0)
    }

    /// Gives a device an address, at once usable.
    pub fn add_address(&mut self, device: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let message = RouteNetlinkMessage::NewAddress(of_address(device, address, prefix));
        self.ask(message, NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Takes it from it again.
    pub fn remove_address(&mut self, device: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let message = RouteNetlinkMessage::DelAddress(of_address(device, address, prefix));
        self.ask(message, 0)
    }

    /// Says for good which hardware has an address.
    pub fn add_neighbour(&mut self, device: u32, address: IpAddr, mac: Mac) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = device;
        message.header.state = NeighbourState::Permanent;
        let destination = match address {
            IpAddr::V4(address) => NeighbourAddress::Inet(address),
            IpAddr::V6(address) => NeighbourAddress::Inet6(address),
        };
        message.attributes = vec![
            NeighbourAttribute::Destination(destination),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        let message = RouteNetlinkMessage::NewNeighbour(message);
        self.ask(message, NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Sends whatever has no other way over `gateway`.
    pub fn add_default_route(&mut self, gateway: IpAddr) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(gateway);
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![RouteAttribute::Gateway(RouteAddress::from(gateway))];
        let message = RouteNetlinkMessage::NewRoute(message);
        self.ask(message, NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Has a device send through a token bucket.
    pub fn shape(&mut self, device: u32, bucket: TokenBucket) -> io::Result<()> {
        let mut message = TcMessage::with_index(device.cast_signed());
        message.header.parent = TcHandle::ROOT;
        message.header.handle = TcHandle::from(0x0001_0000);
        message.attributes = vec![
            TcAttribute::Kind("tbf".to_owned()),
            TcAttribute::Options(bucket.options()),
        ];
        let message = RouteNetlinkMessage::NewQueueDiscipline(message);
        self.ask(message, NLM_F_CREATE | NLM_F_REPLACE)
    }
}

/// Numbers of linux/pkt_sched.h.
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const LINKLAYER_ETHERNET: u8 = 1;

impl TokenBucket {
    /// The rates that the kernel takes, in bits a second.
    pub const RATES: RangeInclusive<u64> = 8_000..=100_000_000_000;

    /// A bucket of this rate, for packets of up to `largest` bytes, before which `limit` bytes may wait.
    ///
    /// A bucket loses the tokens that do not fit whenever its timer is late; too large a one hides a small excess. What
    /// leaves in 52 us, but at least two packets, lost least of what was tried.
    pub fn of_rate(rate_bps: u64, largest: u32, limit: u64) -> Self {
        let bytes = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            rate_bps,
            burst_bytes: bytes(rate_bps.saturating_mul(52) / 8_000_000).max(2 * largest),
            limit_bytes: bytes(limit),
        }
    }

    fn options(self) -> Vec<TcOption> {
        let bytes_a_second = self.rate_bps / 8;
        // `struct tc_tbf_qopt`: two `struct tc_ratespec`, of which the second, a peak rate, is
        // zero; then three numbers. The burst is given in bytes by an attribute of its own.
        let mut parameters = Vec::with_capacity(36);
        parameters.extend([0, LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0]);
        let rate = u32::try_from(bytes_a_second).unwrap_or(u32::MAX);
        parameters.extend(rate.to_ne_bytes());
        parameters.extend([0; 12]);
        parameters.extend(self.limit_bytes.to_ne_bytes());
        parameters.extend([0; 8]);
        let other = |kind, value| TcOption::Other(DefaultNla::new(kind, value));
        let mut options = vec![other(TCA_TBF_PARMS, parameters)];
        if bytes_a_second > u64::from(u32::MAX) {
            options.push(other(TCA_TBF_RATE64, bytes_a_second.to_ne_bytes().to_vec()));
        }
        options.push(other(
            TCA_TBF_BURST,
            self.burst_bytes.to_ne_bytes().to_vec(),
        ));
        options
    }
}

fn of_address(device: u32, address: IpAddr, prefix: u8) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(address);
    message.header.prefix_len = prefix;
    message.header.index = device;
    message.header.flags = AddressHeaderFlags::Nodad;
    message.attributes = vec![
        AddressAttribute::Local(address),
        AddressAttribute::Address(address),
    ];
    message
}

fn describe(device: Device, mtu: u32) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(device.name.to_owned()),
        LinkAttribute::Address(device.mac.to_vec()),
        LinkAttribute::Mtu(mtu),
    ];
    link
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
