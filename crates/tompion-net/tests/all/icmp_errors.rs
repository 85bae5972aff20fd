//! ICMP errors: told with what they quote, and not in the way of other packets.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

use tompion_net::icmp::{Echo, Version};
use tompion_net::{
    ErrorBatch, ErrorOrigin, Event, Options, Route, SendError, StampingSocket, Stop, Transport,
    realtime_ns, wait,
};

use crate::place::{self, FAR, NEAR, Place};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

fn udp(local: IpAddr) -> Options {
    Options::new(Transport::Udp, SocketAddr::new(local, 0))
}

fn open(options: &Options) -> StampingSocket {
    StampingSocket::open(options).expect("a socket")
}

#[test]
fn a_port_that_nobody_has_is_told_as_an_icmp_error() {
    // The kernel sends no more than so many errors a second in one namespace.
    let Some(place) = Place::new() else { return };
    place.inside(errors_of_closed_ports);
}

fn errors_of_closed_ports() {
    const PACKETS: u64 = 10;
    for (local, origin, kind, code) in [
        (V4, ErrorOrigin::Icmp, 3, 3),
        (V6, ErrorOrigin::Icmpv6, 1, 4),
    ] {
        // Taken, and given up.
        let closed = open(&udp(local)).local();
        for is_connected in [false, true] {
            let near = open(&Options {
                remote: is_connected.then_some(closed),
                ..udp(local)
            });
            let route = Route {
                to: (!is_connected).then_some(closed),
                ..Route::default()
            };
            let stop = Stop::new().expect("a file");
            let mut errors = ErrorBatch::new(8);
            let (mut stamps, mut quoted) = (0, vec![]);
            for number in 0..PACKETS {
                // The error of the packet before does not keep this one back.
                let packet = number.to_be_bytes();
                near.send(number, realtime_ns(), &packet, &route)
                    .expect("sent");
            }
            for _ in 0..1000 {
                if quoted.len() as u64 == PACKETS && stamps == 2 * PACKETS {
                    break;
                }
                wait(&[near.as_fd()], &stop, 10_000_000).expect("a wait");
                let take = |event: Event<'_>| match event {
                    Event::Stamp(_) => stamps += 1,
                    Event::Error(error) => {
                        assert_eq!((error.origin, error.kind, error.code), (origin, kind, code));
                        assert_eq!(error.errno, libc::ECONNREFUSED as u32);
                        assert_eq!(error.offender, Some(local));
                        assert_eq!(error.destination, Some(closed));
                        assert_eq!(error.mtu, None);
                        quoted.push(error.quoted.to_vec());
                    }
                };
                near.drain(&mut errors, usize::MAX, take)
                    .expect("an error queue");
            }
            let expected: Vec<Vec<u8>> = (0..PACKETS).map(|n| n.to_be_bytes().to_vec()).collect();
            assert_eq!(
                (stamps, quoted),
                (2 * PACKETS, expected),
                "{local} {is_connected}"
            );
            assert!(near.pending_errors() > 0);
        }
    }
}

/// A router that a packet does not live to pass says so, and quotes enough of it.
#[test]
fn a_packet_whose_time_is_up_is_known_by_what_is_quoted() {
    let Some((near, far)) = place::pair() else {
        return;
    };
    let beyond = SocketAddr::from(([198, 51, 100, 1], 7));
    far.inside(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a router"));
    let [a, b, c, d] = FAR;
    near.ip(&format!("route add 198.51.100.0/24 via {a}.{b}.{c}.{d}"));
    // Anywhere: it gets no further than the router.
    let [a, b, c, d] = NEAR;
    far.ip(&format!("route add 198.51.100.0/24 via {a}.{b}.{c}.{d}"));
    for transport in [Transport::IcmpRaw, Transport::IcmpPing, Transport::Udp] {
        let socket = near.inside(|| {
            open(&Options {
                ttl: Some(1),
                ..Options::to(transport, beyond)
            })
        });
        let echo = Echo {
            version: Version::V4,
            identifier: match transport {
                Transport::IcmpPing => socket.local().port(),
                _ => 4321,
            },
            secret: [99, 1],
        };
        let mut packet = [0; 40];
        echo.write(17, &mut packet);
        socket
            .send(17, realtime_ns(), &packet, &Route::default())
            .expect("sent");
        let stop = Stop::new().expect("a file");
        let mut errors = ErrorBatch::new(8);
        let mut known = None;
        for _ in 0..1000 {
            if known.is_some() {
                break;
            }
            wait(&[socket.as_fd()], &stop, 10_000_000).expect("a wait");
            let take = |event: Event<'_>| {
                if let Event::Error(error) = event {
                    assert_eq!(
                        (error.origin, error.kind, error.code),
                        (ErrorOrigin::Icmp, 11, 0)
                    );
                    assert_eq!(error.offender, Some(FAR.into()));
                    assert_eq!(error.destination.map(|to| to.ip()), Some(beyond.ip()));
                    // Of UDP its payload, which is our packet, too.
                    known = echo.quoted(error.quoted);
                }
            };
            socket
                .drain(&mut errors, usize::MAX, take)
                .expect("an error queue");
        }
        assert_eq!(known, Some(17), "{transport:?}");
    }
}

/// Sent in pieces, each of these would have had stamps of its own.
#[test]
fn what_is_longer_than_the_link_takes_is_refused_with_what_it_takes() {
    let Some(place) = Place::new() else { return };
    place.ip("link set lo mtu 1400");
    for (local, transport) in [
        (V4, Transport::Udp),
        (V6, Transport::Udp),
        (V4, Transport::IcmpRaw),
        (V4, Transport::IcmpPing),
    ] {
        let socket = place.inside(|| {
            open(&Options {
                in_one_piece: true,
                ..Options::to(transport, SocketAddr::new(local, 9))
            })
        });
        let mut packet = [0; 1401];
        let echo = Echo {
            version: Version::V4,
            identifier: 7,
            secret: [8, 1],
        };
        if transport != Transport::Udp {
            echo.write(0, &mut packet);
        }
        let long = socket.send(0, realtime_ns(), &packet, &Route::default());
        assert!(
            matches!(long, Err(SendError::TooLong(_))),
            "{transport:?}: {long:?}"
        );
        let (mut errors, mut mtu) = (ErrorBatch::new(8), vec![]);
        let take = |event: Event<'_>| {
            if let Event::Error(error) = event {
                mtu.push((error.origin, error.mtu));
            }
        };
        socket
            .drain(&mut errors, usize::MAX, take)
            .expect("an error queue");
        // More than once: what may be an earlier packet's error is tried again.
        mtu.dedup();
        assert_eq!(mtu, [(ErrorOrigin::Local, Some(1400))], "{transport:?}");
    }
}
