//! Delay, both ways, by the taps of both ends.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, recv, sendto,
    setsockopt, socket, sockopt::ReceiveTimeout,
};
use nix::sys::time::TimeVal;
use tompion_testbed::{Place, Settings, Tapped};
use tompion_time::os;

use crate::common::{all_of, alone, median, testbed, within_three};

const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;

/// Echo requests (RFC 792) by a socket that the kernel fills the rest in for; how many were answered.
fn ping(from: &Place, to: &Place, count: u16) -> io::Result<usize> {
    from.inside(|| -> io::Result<usize> {
        let socket = socket(
            AddressFamily::Inet,
            SockType::Datagram,
            SockFlag::empty(),
            SockProtocol::Icmp,
        )?;
        setsockopt(&socket, ReceiveTimeout, &TimeVal::new(1, 0))?;
        let target = SockaddrIn::from(std::net::SocketAddrV4::new(to.addresses().v4, 0));
        let mut answered = 0;
        for number in 0..count {
            let mut request = [0; 64];
            request[0] = ECHO_REQUEST;
            request[6..8].copy_from_slice(&number.to_be_bytes());
            let fd = socket.as_raw_fd();
            sendto(fd, &request, &target, MsgFlags::empty())?;
            let mut reply = [0; 128];
            let length = recv(fd, &mut reply, MsgFlags::empty()).unwrap_or(0);
            answered += usize::from(length == 64 && reply[0] == ECHO_REPLY);
        }
        Ok(answered)
    })?
}

/// When each number of an echo message of this kind was seen.
fn echoes(seen: &[Tapped], kind: u8, outgoing: bool) -> Vec<(u16, i64)> {
    let messages = seen.iter().filter(|t| {
        let f = &t.frame;
        let icmp = f.len() >= 42 && f[12..14] == [0x08, 0x00] && f[23] == 1;
        icmp && t.outgoing == outgoing && f[34] == kind
    });
    let number = |t: &Tapped| u16::from_be_bytes([t.frame[40], t.frame[41]]);
    messages.map(|t| (number(t), t.at_ns)).collect()
}

/// Times from the one to the other, by number.
fn between(early: &[(u16, i64)], late: &[(u16, i64)]) -> Vec<i64> {
    let later = |(number, at): &(u16, i64)| {
        let found = late.iter().find(|(n, _)| n == number);
        found.map(|(_, then)| then - at)
    };
    early.iter().filter_map(later).collect()
}

#[test]
fn a_ping_takes_the_round_trip_time_by_the_taps_of_both_ends() {
    let _alone = alone();
    let settings = Settings::symmetric(Duration::from_millis(20), None);
    let Some(testbed) = testbed(&settings) else {
        return;
    };
    within_three("a ping over 20 ms", || {
        let (sender, far_end) = (testbed.sender(), testbed.far_end());
        let mut near = sender.tap(1_500, 256).unwrap();
        let mut far = far_end.tap(1_500, 256).unwrap();
        assert_eq!(ping(sender, far_end, 25).unwrap(), 25);
        let quiet = Duration::from_millis(50);
        let (near, far) = (all_of(&mut near, quiet), all_of(&mut far, quiet));
        let (asked, answered) = (
            echoes(&near, ECHO_REQUEST, true),
            echoes(&near, ECHO_REPLY, false),
        );
        let (heard, replied) = (
            echoes(&far, ECHO_REQUEST, false),
            echoes(&far, ECHO_REPLY, true),
        );
        let spans = [
            ("round trip", between(&asked, &answered), 20_000_000),
            ("outward", between(&asked, &heard), 10_000_000),
            ("homeward", between(&replied, &answered), 10_000_000),
        ];
        for (what, span, wanted) in spans {
            assert_eq!(span.len(), 25, "{what}");
            assert!(
                span.iter().all(|ns| *ns >= wanted),
                "{what}: too early: {span:?}"
            );
            let middle = median(span);
            // The relay's own late departures, and the stack of either end.
            if middle > wanted + 300_000 {
                return Err(format!("{what}: {middle} ns; {:?}", testbed.summary()));
            }
        }
        Ok(())
    });
}

#[test]
fn ipv6_and_path_mtu_pass_too() {
    let _alone = alone();
    let settings = Settings {
        mtu: 9_000,
        ..Settings::symmetric(Duration::from_millis(2), Some(1_000_000_000))
    };
    let Some(testbed) = testbed(&settings) else {
        return;
    };
    if !std::path::Path::new("/proc/sys/net/ipv6").exists() {
        eprintln!("NOT RUN: no IPv6 here");
        return;
    }
    let (sender, far_end) = (testbed.sender(), testbed.far_end());
    let (here, there) = (sender.addresses().v6, far_end.addresses().v6);
    let open = |place: &Place, at| place.inside(|| std::net::UdpSocket::bind((at, 0)).unwrap());
    let (source, sink) = (open(sender, here).unwrap(), open(far_end, there).unwrap());
    sink.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    // As much as the MTU lets through in one piece.
    let datagram = vec![7; 9_000 - 48];
    source
        .send_to(&datagram, sink.local_addr().unwrap())
        .unwrap();
    let mut heard = vec![0; 10_000];
    let (length, from) = sink.recv_from(&mut heard).unwrap();
    assert_eq!(
        (length, from),
        (datagram.len(), source.local_addr().unwrap())
    );
    let summary = testbed.stop().unwrap().unwrap();
    assert!(summary.outward.of(tompion_testbed::Fate::Sent) >= 1);
}

#[test]
fn address_resolution_passes_a_path_that_loses_everything() {
    let _alone = alone();
    let settings = Settings::symmetric(Duration::from_millis(1), None).with_loss(1.0);
    let Some(testbed) = testbed(&settings) else {
        return;
    };
    let sender = testbed.sender();
    // An address of the same link that nobody has: the sender asks for it, three times.
    let [a, b, c, _] = sender.addresses().v4.octets();
    let mut tap = testbed.far_end().tap(1_500, 256).unwrap();
    let asked = sender.inside(|| {
        let socket = std::net::UdpSocket::bind(("0.0.0.0", 0)).unwrap();
        socket.send_to(b"?", (std::net::Ipv4Addr::new(a, b, c, 99), 9))
    });
    asked.unwrap().unwrap();
    os::sleep(Duration::from_millis(100));
    let seen = tap.drain().unwrap();
    assert!(
        seen.iter().any(|t| t.frame[12..14] == [0x08, 0x06]),
        "{seen:?}"
    );
    let summary = testbed.stop().unwrap().unwrap();
    assert!(summary.outward.of(tompion_testbed::Fate::Passed) >= 1);
    assert_eq!(summary.outward.of(tompion_testbed::Fate::Sent), 0);
}
