//! Sockets: whose stamps come, in which order, and which are lost.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tompion_net::icmp::{Echo, Version};
use tompion_net::{
    Ids, Losses, Options, Route, SendBatch, SendError, StampingSocket, TransmitStamps, Transport,
    TxKind, device, realtime_ns,
};

use crate::place::{self, Place};
use crate::receiving::{Got, Sent, read_now, read_until};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

fn udp(local: IpAddr) -> Options {
    Options::new(Transport::Udp, SocketAddr::new(local, 0))
}

fn open(options: &Options) -> StampingSocket {
    let socket = StampingSocket::open(options).expect("a socket");
    assert_eq!(socket.capability().transmit, TransmitStamps::Kernel);
    socket
}

/// user, SCHED, SOFTWARE, receive, user again.
fn is_ordered(user_ns: i64, sent: &Sent, number: usize, got: &Got) {
    let sched = sent.of(number, TxKind::Sched).expect("SCHED");
    let software = sent.of(number, TxKind::Software).expect("SOFTWARE");
    let arrived = got.received.stamps.software_ns.expect("a receive stamp");
    let order = [
        user_ns,
        sched,
        software,
        arrived,
        got.received.stamps.user_ns,
    ];
    assert!(order.is_sorted(), "{number}: {order:?}");
}

/// Two sockets of one address; every packet from one to the other has all stamps, in order.
fn udp_has_all_stamps(local: IpAddr, is_connected: bool, ids: Option<Ids>) {
    const PACKETS: usize = 300;
    let far = open(&udp(local));
    let mut options = udp(local);
    options.ids = ids;
    options.tos = Some(0xb8);
    options.ttl = Some(99);
    options.remote = is_connected.then_some(far.local());
    let near = open(&options);
    let route = Route {
        to: (!is_connected).then_some(far.local()),
        ..Route::default()
    };
    let (mut sent, mut got, mut users) = (Sent::default(), vec![], vec![]);
    for number in 0..PACKETS {
        let user_ns = realtime_ns();
        let packet = (number as u64).to_be_bytes();
        near.send(number as u64, user_ns, &packet, &route)
            .expect("sent");
        users.push(user_ns);
        if number % 16 == 0 {
            // Without root the buffer holds no more than some hundred of them.
            read_now(&near, &mut sent, &mut vec![]);
            read_now(&far, &mut Sent::default(), &mut got);
        }
    }
    assert_eq!(near.ids(), ids.unwrap_or(near.ids()));
    read_until(&near, &mut sent, &mut vec![], |sent, _| {
        sent.count() == 2 * PACKETS
    });
    read_until(&far, &mut Sent::default(), &mut got, |_, got| {
        got.len() == PACKETS
    });
    near.give_up();
    assert_eq!(near.losses(), Losses::default());
    assert_eq!(far.drops().unwrap_or(0), 0);
    assert_eq!(got.len(), PACKETS);
    for (number, got) in got.iter().enumerate() {
        assert_eq!(got.bytes, (number as u64).to_be_bytes());
        let received = &got.received;
        assert_eq!((received.ttl, received.tos), (Some(99), Some(0xb8)));
        assert_eq!(received.to, Some(local));
        assert_eq!(
            received.from.map(|from| from.port()),
            Some(near.local().port())
        );
        assert!(received.interface.is_some_and(|index| index > 0));
        is_ordered(users[number], &sent, number, got);
    }
}

#[test]
fn udp_over_ipv4_has_all_stamps_in_their_order() {
    for is_connected in [false, true] {
        udp_has_all_stamps(V4, is_connected, None);
    }
}

#[test]
fn udp_over_ipv6_has_all_stamps_in_their_order() {
    for is_connected in [false, true] {
        udp_has_all_stamps(V6, is_connected, None);
    }
}

#[test]
fn stamps_are_matched_where_the_kernel_counts_packets() {
    for local in [V4, V6] {
        for is_connected in [false, true] {
            udp_has_all_stamps(local, is_connected, Some(Ids::Counted));
        }
    }
}

/// Echo requests to the socket's own machine come back, with all stamps.
fn echo_has_all_stamps(transport: Transport, address: IpAddr) {
    const PACKETS: usize = 50;
    let version = match address {
        IpAddr::V4(_) => Version::V4,
        IpAddr::V6(_) => Version::V6,
    };
    let socket = open(&Options::to(transport, SocketAddr::new(address, 0)));
    let identifier = match transport {
        Transport::IcmpPing => socket.local().port(),
        _ => 0x5aa5,
    };
    let echo = Echo {
        version,
        identifier,
        secret: [0x0123_4567_89ab_cdef, 1],
    };
    let (mut sent, mut got, mut users) = (Sent::default(), vec![], vec![]);
    for number in 0..PACKETS {
        let mut packet = [0; 100];
        assert_eq!(echo.write(number as u64, &mut packet), 100);
        users.push(realtime_ns());
        socket
            .send(number as u64, users[number], &packet, &Route::default())
            .expect("sent");
        // Request and answer share the receive buffer with the stamps.
        read_until(&socket, &mut sent, &mut got, |sent, got| {
            got.len() == number + 1 && sent.count() == 2 * (number + 1)
        });
    }
    assert_eq!(socket.losses(), Losses::default());
    assert_eq!(got.len(), PACKETS, "{transport:?} {address}");
    for (number, got) in got.iter().enumerate() {
        assert_eq!(got.bytes.len(), 100);
        assert_eq!(got.received.length, 100);
        assert_eq!(echo.answered(&got.bytes), Some(number as u64));
        assert_eq!(got.received.from.map(|from| from.ip()), Some(address));
        assert_eq!(got.received.ttl, Some(64));
        is_ordered(users[number], &sent, number, got);
    }
}

#[test]
fn raw_icmp_has_all_stamps_in_their_order() {
    let Some(place) = Place::new() else { return };
    place.inside(|| {
        echo_has_all_stamps(Transport::IcmpRaw, V4);
        echo_has_all_stamps(Transport::IcmpRaw, V6);
    });
}

#[test]
fn ping_sockets_have_all_stamps_in_their_order() {
    let Some(place) = Place::new() else { return };
    place.inside(|| {
        echo_has_all_stamps(Transport::IcmpPing, V4);
        echo_has_all_stamps(Transport::IcmpPing, V6);
    });
}

#[test]
fn stamps_that_find_no_room_are_counted() {
    const PACKETS: usize = 300;
    for ids in [Ids::ByPacket, Ids::Counted] {
        let far = open(&udp(V4));
        let near = open(&Options {
            receive_buffer: 1,
            ids: Some(ids),
            ..udp(V4)
        });
        assert!(near.capability().receive_buffer.granted < 10_000);
        let route = Route {
            to: Some(far.local()),
            ..Route::default()
        };
        for number in 0..PACKETS {
            near.send(number as u64, realtime_ns(), b"stamped", &route)
                .expect("sent");
        }
        let mut sent = Sent::default();
        read_now(&near, &mut sent, &mut vec![]);
        near.give_up();
        let losses = near.losses();
        assert!(losses.missing[0] > 0 && losses.missing[1] > 0, "{losses:?}");
        // None came to anybody else.
        assert_eq!((losses.unattributed, losses.repeated), (0, 0));
        for kind in [TxKind::Sched, TxKind::Software] {
            let came = (0..PACKETS).filter(|n| sent.of(*n, kind).is_some()).count();
            let missing = losses.missing[kind.index()];
            assert_eq!(came as u64 + missing, PACKETS as u64, "{kind:?}");
        }
        // Those that came are in their order all the same.
        let sched: Vec<i64> = sent.0.iter().filter_map(|kinds| kinds[0]).collect();
        assert!(sched.is_sorted());
    }
}

#[test]
fn the_kernels_numbers_may_wrap() {
    let far = open(&udp(V4));
    let near = open(&Options {
        first_ticket: u64::from(u32::MAX) - 4,
        ids: Some(Ids::ByPacket),
        ..Options::to(Transport::Udp, far.local())
    });
    let mut sent = Sent::default();
    for number in 0..10 {
        near.send(number, realtime_ns(), b"x", &Route::default())
            .expect("sent");
    }
    if near.ids() == Ids::Counted {
        println!("NOT RUN: this kernel takes no numbers with packets");
        return;
    }
    read_until(&near, &mut sent, &mut vec![], |sent, _| sent.count() == 20);
    near.give_up();
    assert_eq!(near.losses(), Losses::default());
    let sched: Vec<i64> = sent.0.iter().filter_map(|kinds| kinds[0]).collect();
    assert!(sched.len() == 10 && sched.is_sorted(), "{sched:?}");
}

#[test]
fn a_count_that_a_failure_made_uncertain_begins_anew() {
    let far = open(&udp(V4));
    let near = open(&Options {
        ids: Some(Ids::Counted),
        ..Options::to(Transport::Udp, far.local())
    });
    let (mut sent, mut got) = (Sent::default(), vec![]);
    let send = |number| near.send(number, realtime_ns(), b"x", &Route::default());
    send(0).expect("sent");
    read_until(&near, &mut sent, &mut got, |sent, _| sent.count() == 2);
    let long = vec![0; 70_000];
    let failed = near.send(1, realtime_ns(), &long, &Route::default());
    assert!(matches!(failed, Err(SendError::TooLong(_))), "{failed:?}");
    // Nobody can say whose stamps these are.
    send(2).expect("sent");
    read_until(&near, &mut sent, &mut got, |_, _| {
        near.losses().unattributed == 2
    });
    assert_eq!(sent.of(2, TxKind::Sched), None);
    near.resynchronize().expect("a new count");
    for number in 3..10 {
        send(number).expect("sent");
    }
    read_until(&near, &mut sent, &mut got, |sent, _| sent.count() == 16);
    for number in 3..10 {
        assert!(sent.of(number, TxKind::Sched) <= sent.of(number, TxKind::Software));
        assert!(sent.of(number, TxKind::Sched).is_some(), "{number}");
    }
    near.give_up();
    assert_eq!(near.losses().missing, [1, 1, 0]);
}

#[test]
fn a_batch_goes_with_few_calls_and_every_packet_has_its_stamps() {
    const PACKETS: usize = 64;
    let far = [open(&udp(V4)), open(&udp(V4))];
    let near = open(&udp(V4));
    let mut batch = SendBatch::new(PACKETS, 2000);
    for number in 0..PACKETS {
        batch.room()[..8].copy_from_slice(&(number as u64).to_be_bytes());
        let route = Route {
            to: Some(far[number % 2].local()),
            tos: Some(number as u8 & 0xfc),
            ttl: Some(7),
            ..Route::default()
        };
        batch.push(number as u64, 8, route);
    }
    assert!(batch.is_full());
    let user_ns = realtime_ns();
    let went = near.send_batch(&mut batch, user_ns, |index, _, why| {
        panic!("{index}: {why}")
    });
    assert_eq!(went, PACKETS);
    let mut sent = Sent::default();
    read_until(&near, &mut sent, &mut vec![], |sent, _| {
        sent.count() == 2 * PACKETS
    });
    for (which, socket) in far.iter().enumerate() {
        let mut got = vec![];
        read_until(socket, &mut Sent::default(), &mut got, |_, got| {
            got.len() == PACKETS / 2
        });
        for (index, got) in got.iter().enumerate() {
            let number = 2 * index + which;
            assert_eq!(got.bytes, (number as u64).to_be_bytes());
            assert_eq!(got.received.tos, Some(number as u8 & 0xfc));
            assert_eq!(got.received.ttl, Some(7));
            is_ordered(user_ns, &sent, number, got);
        }
    }
}

#[test]
fn what_cannot_go_does_not_keep_the_rest_of_a_batch_back() {
    let far = open(&udp(V4));
    for ids in [Ids::ByPacket, Ids::Counted] {
        let near = open(&Options {
            ids: Some(ids),
            ..udp(V4)
        });
        let mut batch = SendBatch::new(5, 70_000);
        for number in 0..5 {
            batch.push(
                number,
                if number == 2 { 70_000 } else { 8 },
                Route {
                    to: Some(far.local()),
                    ..Route::default()
                },
            );
        }
        let mut failed = vec![];
        let went = near.send_batch(&mut batch, realtime_ns(), |index, length, why| {
            assert!(matches!(why, SendError::TooLong(_)), "{why}");
            failed.push((index, length));
        });
        assert_eq!((went, failed), (4, vec![(2, 70_000)]));
        let was_sent: Vec<bool> = (0..5).map(|index| batch.was_sent(index)).collect();
        assert_eq!(was_sent, [true, true, false, true, true]);
        let mut got = vec![];
        read_until(&far, &mut Sent::default(), &mut got, |_, got| {
            got.len() == 4
        });
        assert_eq!(got.len(), 4);
        if near.ids() == Ids::ByPacket {
            let mut sent = Sent::default();
            read_until(&near, &mut sent, &mut vec![], |sent, _| sent.count() == 8);
            assert!(sent.of(4, TxKind::Software).is_some() && sent.of(2, TxKind::Sched).is_none());
        }
    }
}

#[test]
fn a_packet_that_its_own_queue_drops_has_been_there_and_no_further() {
    let Some((near, far)) = place::pair() else {
        return;
    };
    near.run(
        "tc",
        "qdisc add dev near0 root tbf rate 1mbit burst 1600 limit 3000",
    );
    let far = far.inside(|| open(&udp(place::FAR.into())));
    let near = near.inside(|| open(&Options::to(Transport::Udp, far.local())));
    let mut failed = vec![];
    for number in 0..40u64 {
        match near.send(number, realtime_ns(), &[0; 1000], &Route::default()) {
            Ok(()) => {}
            Err(SendError::QueueFull(_)) => failed.push(number),
            Err(other) => panic!("{other}"),
        }
    }
    assert!((20..40).contains(&failed.len()), "{failed:?}");
    let went = 40 - failed.len();
    let mut sent = Sent::default();
    read_until(&near, &mut sent, &mut vec![], |sent, _| {
        sent.count() == 40 + went
    });
    for number in 0..40 {
        let has_gone = !failed.contains(&(number as u64));
        assert!(sent.of(number, TxKind::Sched).is_some(), "{number}");
        assert_eq!(
            sent.of(number, TxKind::Software).is_some(),
            has_gone,
            "{number}"
        );
    }
    near.give_up();
    assert_eq!(near.losses(), Losses::default());
    // The first rides the bucket, the second waits for tokens: 1042 bytes at 1 Mbit/s.
    let last = (0..40)
        .rev()
        .find(|n| sent.of(*n, TxKind::Software).is_some());
    let last = last.expect("one that went");
    let waited = sent
        .of(last, TxKind::Software)
        .zip(sent.of(last, TxKind::Sched));
    let waited = waited.map_or(0, |(software, sched)| software - sched);
    assert!(
        waited > 8_000_000,
        "{waited} ns in a queue of 8.3 ms a packet"
    );
}

#[test]
fn devices_say_what_they_stamp() {
    let Some((near, _far)) = place::pair() else {
        return;
    };
    near.inside(|| {
        let offer = device::offer("near0").expect("an offer");
        assert!(offer.software_transmit && offer.software_receive);
        assert!(!offer.hardware_transmit && !offer.hardware_receive);
        assert_eq!(offer.clock, None);
        let refused = device::HardwareStamps::begin("near0").expect_err("no hardware");
        assert_eq!(
            refused.to_string(),
            "near0: it cannot stamp every packet in hardware, both ways"
        );
        let missing = device::offer("nowhere0").expect_err("no device");
        assert_eq!(missing.to_string(), "no network device \"nowhere0\"");
        let (index, name) = device::Device::from("near0").find().expect("a device");
        assert_eq!(name, "near0");
        let by_index = device::Device::Index(index).find().expect("a device");
        assert_eq!(by_index, (index, name));
        assert!(device::Device::Index(9999).find().is_err());
    });
}

#[test]
fn sockets_that_cannot_be_say_why_in_one_line() {
    let both = StampingSocket::open(&Options {
        remote: Some(SocketAddr::new(V6, 5)),
        ..udp(V4)
    });
    let said = both.expect_err("two families").to_string();
    assert_eq!(said, "127.0.0.1:0 and [::1]:5 are not of one family");
    let held = open(&udp(V4));
    let again = StampingSocket::open(&Options::new(Transport::Udp, held.local()));
    let said = again.expect_err("taken").to_string();
    assert!(
        said.starts_with(&format!("cannot listen on {}", held.local())),
        "{said}"
    );
    let foreign = StampingSocket::open(&udp([192, 0, 2, 77].into()));
    assert!(foreign.is_err());
}
