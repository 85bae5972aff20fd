//! Taps: what passes a device, when, and what was lost.

use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Instant;

use tompion_net::device::Device;
use tompion_net::frame::{Content, Frame, LinkType};
use tompion_net::pcapng::{Described, Reader, Writer};
use tompion_net::tap::{Direction, Filter, Record, Tap, TapOptions};
use tompion_net::{
    NetError, Options, Route, StampingSocket, Stop, Transport, TxKind, realtime_ns, wait,
};

use crate::place::{self, FAR, FAR_V6, Place};
use crate::receiving::{LONG, Sent, read_until};
use crate::sys::send_frame;

/// A record that is kept.
#[derive(Clone, Debug)]
struct Kept {
    ns: i64,
    direction: Direction,
    length: u32,
    bytes: Vec<u8>,
}

impl Kept {
    /// The UDP payload's first eight bytes as a number, and its destination port.
    fn probe(&self) -> Option<(u64, u16)> {
        match Frame::read(LinkType::Ethernet, &self.bytes).ok()?.content {
            Content::Udp {
                destination,
                payload,
                ..
            } => Some((
                u64::from_be_bytes(payload.get(..8)?.try_into().ok()?),
                destination,
            )),
            _ => None,
        }
    }
}

/// Reads until there are so many, or for a long time.
fn read(tap: &mut Tap, count: usize) -> Vec<Kept> {
    read_those(tap, count, |_| true)
}

/// The same of frames of one kind: filters let some pass that nobody asked for, such as what a
/// device says of itself by IPv6 when it comes up.
fn read_those(tap: &mut Tap, count: usize, is_one: impl Fn(&Kept) -> bool) -> Vec<Kept> {
    let stop = Stop::new().expect("a file");
    let (mut kept, mut batch) = (vec![], tap.batch(16));
    let end = Instant::now() + LONG;
    while kept.len() < count && Instant::now() < end {
        wait(&[tap.as_fd()], &stop, 50_000_000).expect("a wait");
        let take = |record: Record<'_>| {
            let record = Kept {
                ns: record.ns,
                direction: record.direction,
                length: record.length,
                bytes: record.bytes.to_vec(),
            };
            if is_one(&record) {
                kept.push(record);
            }
        };
        tap.read(&mut batch, take).expect("frames");
    }
    assert_eq!(tap.unstamped(), 0);
    kept
}

fn tap(place: &Place, device: &str, filter: Filter) -> Tap {
    let options = TapOptions {
        filter,
        ..TapOptions::new(device.into())
    };
    place.inside(|| Tap::open(&options)).expect("a tap")
}

#[test]
fn taps_of_both_ends_stand_between_the_stamps_of_the_sockets() {
    const PACKETS: usize = 100;
    let Some((near, far)) = place::pair() else {
        return;
    };
    let far_v6: Ipv6Addr = FAR_V6.parse().expect("an address");
    for address in [IpAddr::from(FAR), far_v6.into()] {
        let receiver = Options::new(Transport::Udp, SocketAddr::new(address, 0));
        let receiver = far
            .inside(|| StampingSocket::open(&receiver))
            .expect("a socket");
        let port = receiver.local().port();
        let mut out = tap(&near, "near0", Filter::UdpPort(port));
        let mut into = tap(&far, "far0", Filter::UdpPort(port));
        let sender = Options::to(Transport::Udp, receiver.local());
        let sender = near
            .inside(|| StampingSocket::open(&sender))
            .expect("a socket");
        // To a port that nobody asked for.
        let other = near.inside(|| {
            StampingSocket::open(&Options::to(Transport::Udp, SocketAddr::new(address, 9)))
        });
        let other = other.expect("a socket");
        let mut users = vec![];
        for number in 0..PACKETS as u64 {
            let user_ns = realtime_ns();
            let packet = [number.to_be_bytes(), [0; 8]].concat();
            other
                .send(number, user_ns, &packet, &Route::default())
                .expect("sent");
            sender
                .send(number, user_ns, &packet, &Route::default())
                .expect("sent");
            users.push(user_ns);
        }
        let (mut sent, mut got) = (Sent::default(), vec![]);
        read_until(&sender, &mut sent, &mut vec![], |sent, _| {
            sent.count() == 2 * PACKETS
        });
        read_until(&receiver, &mut Sent::default(), &mut got, |_, got| {
            got.len() == PACKETS
        });
        let is_probe = |record: &Kept| record.probe().is_some();
        let out_records = read_those(&mut out, PACKETS, is_probe);
        let in_records = read_those(&mut into, PACKETS, is_probe);
        assert_eq!(
            (out_records.len(), in_records.len(), got.len()),
            (PACKETS, PACKETS, PACKETS)
        );
        for number in 0..PACKETS {
            let (left, came) = (&out_records[number], &in_records[number]);
            assert_eq!(left.probe(), Some((number as u64, port)));
            assert_eq!(came.probe(), Some((number as u64, port)));
            assert_eq!(left.direction, Direction::Outgoing);
            assert_eq!(came.direction, Direction::Incoming);
            let header = if address.is_ipv4() { 20 } else { 40 };
            assert_eq!(left.length, 14 + header + 8 + 16);
            let sched = sent.of(number, TxKind::Sched).expect("SCHED");
            let software = sent.of(number, TxKind::Software).expect("SOFTWARE");
            let arrived = got[number].received.stamps.software_ns.expect("arrival");
            // On its way out the tap is served right before the driver, which makes SOFTWARE.
            let order = [users[number], sched, left.ns, software, came.ns];
            assert!(order.is_sorted(), "{number}: {order:?}");
            assert_eq!(came.ns, arrived, "one stamp serves tap and socket");
        }
        let statistics = out.statistics().expect("statistics");
        assert!(statistics.passed >= PACKETS as u64 && statistics.dropped == 0);
    }
}

#[test]
fn echo_requests_and_replies_pass_the_filter_for_icmp() {
    let Some((near, _far)) = place::pair() else {
        return;
    };
    let mut both = tap(&near, "near0", Filter::Icmp);
    let echo = tompion_net::icmp::Echo {
        version: tompion_net::icmp::Version::V4,
        identifier: 3,
        secret: [4, 1],
    };
    let socket = Options::to(Transport::IcmpRaw, SocketAddr::new(FAR.into(), 0));
    let socket = near
        .inside(|| StampingSocket::open(&socket))
        .expect("a socket");
    let mut packet = [0; 64];
    echo.write(5, &mut packet);
    socket
        .send(5, realtime_ns(), &packet, &Route::default())
        .expect("sent");
    let is_v4 = |record: &Kept| record.bytes[12..14] == [8, 0];
    let records = read_those(&mut both, 2, is_v4);
    let kinds: Vec<(Direction, Option<u8>)> = records
        .iter()
        .map(|record| {
            let frame = Frame::read(LinkType::Ethernet, &record.bytes).expect("a frame");
            let kind = match frame.content {
                Content::Icmp { kind, message, .. } => {
                    let known = echo.quoted(message).or(echo.answered(message));
                    assert_eq!(known, Some(5));
                    Some(kind)
                }
                _ => None,
            };
            (record.direction, kind)
        })
        .collect();
    assert_eq!(
        kinds,
        [
            (Direction::Outgoing, Some(8)),
            (Direction::Incoming, Some(0))
        ]
    );
}

#[test]
fn frames_that_find_no_room_are_counted() {
    const PACKETS: u64 = 400;
    let Some(place) = Place::new() else { return };
    let socket = Options::new(Transport::Udp, SocketAddr::from(([127, 0, 0, 1], 0)));
    let socket = place
        .inside(|| StampingSocket::open(&socket))
        .expect("a socket");
    let port = socket.local().port();
    let options = TapOptions {
        filter: Filter::UdpPort(port),
        receive_buffer: 1,
        ..TapOptions::new(Device::Index(1))
    };
    let mut small = place.inside(|| Tap::open(&options)).expect("a tap");
    assert_eq!((small.device(), small.index()), ("lo", 1));
    assert!(small.buffer().granted < 10_000);
    let route = Route {
        to: Some(socket.local()),
        ..Route::default()
    };
    for number in 0..PACKETS {
        socket
            .send(number, realtime_ns(), &number.to_be_bytes(), &route)
            .expect("sent");
    }
    let first = small.statistics().expect("statistics");
    // On loopback every frame goes out and comes in.
    assert_eq!(first.passed, 2 * PACKETS);
    assert!(
        first.dropped > 0 && first.dropped < first.passed,
        "{first:?}"
    );
    let kept = read(&mut small, (first.passed - first.dropped) as usize);
    assert_eq!(kept.len() as u64, first.passed - first.dropped);
    // Sums go on, though the kernel begins anew.
    assert_eq!(small.statistics().expect("statistics"), first);
    socket
        .send(0, realtime_ns(), &[0; 8], &route)
        .expect("sent");
    assert_eq!(
        small.statistics().expect("statistics").passed,
        first.passed + 2
    );
}

#[test]
fn long_frames_are_cut_and_have_their_length() {
    let Some(place) = Place::new() else { return };
    let socket = Options::new(Transport::Udp, SocketAddr::from(([127, 0, 0, 1], 0)));
    let socket = place
        .inside(|| StampingSocket::open(&socket))
        .expect("a socket");
    let options = TapOptions {
        filter: Filter::UdpPort(socket.local().port()),
        snap: 100,
        ..TapOptions::new("lo".into())
    };
    let mut cut = place.inside(|| Tap::open(&options)).expect("a tap");
    let route = Route {
        to: Some(socket.local()),
        ..Route::default()
    };
    socket
        .send(0, realtime_ns(), &[7; 1200], &route)
        .expect("sent");
    let kept = read(&mut cut, 2);
    assert_eq!(kept[0].direction, Direction::Outgoing);
    assert_eq!(kept[1].direction, Direction::Incoming);
    for record in kept {
        assert_eq!(
            (record.bytes.len(), record.length),
            (100, 14 + 20 + 8 + 1200)
        );
        let frame = Frame::read(LinkType::Ethernet, &record.bytes).expect("a frame");
        let Content::Udp {
            payload, length, ..
        } = frame.content
        else {
            panic!("{frame:?}");
        };
        assert_eq!((payload, length), (&[7; 58][..], 1200));
    }
}

#[test]
fn tags_that_the_kernel_takes_out_are_put_back() {
    let Some((near, far)) = place::pair() else {
        return;
    };
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1]);
    frame.extend([0x81, 0, 0x20, 0x2a]);
    // An EtherType for experiments.
    frame.extend([0x88, 0xb5]);
    frame.extend(b"tagged, and of no protocol at all, but long enough for Ethernet");
    let mut into = tap(&far, "far0", Filter::All);
    near.inside(|| {
        let (index, _) = Device::from("near0").find().expect("a device");
        send_frame(index, &frame).expect("sent");
    });
    let is_ours = |record: &Kept| record.bytes.get(6..12) == Some(&frame[6..12]);
    let came = read_those(&mut into, 1, is_ours).pop().expect("the frame");
    assert_eq!(came.bytes, frame);
    assert_eq!(came.length as usize, frame.len());
}

#[test]
fn what_is_tapped_is_written_and_read_by_others() {
    let Some(place) = Place::new() else { return };
    let socket = Options::new(Transport::Udp, SocketAddr::from(([127, 0, 0, 1], 0)));
    let socket = place
        .inside(|| StampingSocket::open(&socket))
        .expect("a socket");
    let mut lo = tap(&place, "lo", Filter::UdpPort(socket.local().port()));
    let route = Route {
        to: Some(socket.local()),
        ..Route::default()
    };
    for number in 0..10u64 {
        socket
            .send(number, realtime_ns(), &number.to_be_bytes(), &route)
            .expect("sent");
    }
    let described = Described {
        name: lo.device(),
        link: LinkType::Ethernet,
        snap: lo.snap() as u32,
        filter: None,
    };
    let mut writer = Writer::new(vec![], "tompion", "a test", &[described]).expect("a writer");
    let mut batch = lo.batch(64);
    let mut written = vec![];
    let end = Instant::now() + LONG;
    while written.len() < 20 && Instant::now() < end {
        lo.read(&mut batch, |record| {
            writer.packet(0, &record).expect("written");
            written.push((record.ns, record.bytes.to_vec()));
        })
        .expect("frames");
    }
    let statistics = lo.statistics().expect("statistics");
    writer
        .statistics(0, realtime_ns(), &statistics)
        .expect("written");
    let file = writer.finish().expect("an end");
    let mut reader = Reader::new(&file[..]).expect("a capture");
    let mut read = vec![];
    while let Some(packet) = reader.next_packet().expect("whole") {
        read.push((packet.ns, packet.bytes.to_vec()));
    }
    assert_eq!(read, written);
    assert_eq!(read.len(), 20);
    assert_eq!(reader.interfaces()[0].counts.received, Some(20));
    assert_eq!(reader.interfaces()[0].counts.dropped_by_system, Some(0));
    // For those who want to look at it with another program.
    if let Some(to) = std::env::var_os("TOMPION_KEEP_CAPTURE") {
        fs::write(to, file).expect("written");
    }
}

#[test]
fn a_device_that_is_not_there_is_said_not_to_be() {
    let missing = Tap::open(&TapOptions::new("nowhere0".into())).expect_err("no device");
    assert!(matches!(missing, NetError::NoDevice { .. }));
    let missing = Tap::open(&TapOptions::new(Device::Index(1 << 30))).expect_err("no device");
    assert_eq!(missing.to_string(), "no network device \"1073741824\"");
}
