//! Further machines behind the sender's device.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use tompion_testbed::{
    Attachment, BottleneckKind, Place, Settings, Testbed, TestbedError, TokenBucket,
};

use crate::common::{alone, testbed, within_three};

const BOTH: [Attachment; 2] = [Attachment::Bridge, Attachment::Macvlan];
const PATIENCE: Duration = Duration::from_secs(2);

/// An end of which the other is known.
fn bound(at: &Place) -> UdpSocket {
    let socket = at.inside(|| UdpSocket::bind((at.addresses().v4, 0)).unwrap());
    let socket = socket.unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// How long a datagram takes from `from` to `to` and back.
fn round_trip(from: &UdpSocket, to: &UdpSocket) -> Duration {
    let mut room = [0; 64];
    let begun = Instant::now();
    from.send_to(&[7; 40], to.local_addr().unwrap()).unwrap();
    let (length, sender) = to.recv_from(&mut room).unwrap();
    assert_eq!((length, sender), (40, from.local_addr().unwrap()));
    to.send_to(&room[..length], sender).unwrap();
    assert_eq!(from.recv(&mut room).unwrap(), 40);
    begun.elapsed()
}

#[test]
fn machines_reach_the_far_end_by_the_senders_device() {
    let _alone = alone();
    for how in BOTH {
        let settings = Settings::symmetric(Duration::from_millis(4), None);
        let Some(testbed) = testbed(&settings) else {
            return;
        };
        let far_end = bound(testbed.far_end());
        let mut tap = testbed.sender().tap(1_500, 1_000).unwrap();
        let machines = [(); 2].map(|()| testbed.attach(how).unwrap());
        let [one, two] = [0, 1].map(|at| bound(&machines[at]));
        assert_ne!(
            one.local_addr().unwrap().ip(),
            two.local_addr().unwrap().ip()
        );
        for machine in [&one, &two] {
            assert!(round_trip(machine, &far_end) >= Duration::from_millis(4));
        }
        // The sender is there as before, and they are on one link.
        assert!(round_trip(&bound(testbed.sender()), &far_end) >= Duration::from_millis(4));
        round_trip(&one, &two);
        let passed = tap.drain().unwrap();
        let of = |socket: &UdpSocket, outgoing: bool| {
            let std::net::SocketAddr::V4(own) = socket.local_addr().unwrap() else {
                panic!("IPv4");
            };
            let own = own.ip().octets();
            let is_own = |t: &&tompion_testbed::Tapped| {
                t.outgoing == outgoing && t.frame.len() > 34 && t.frame[26..30] == own
            };
            passed.iter().filter(is_own).count()
        };
        // One datagram each to the far end; what passes between both stays behind the device.
        let sent = (of(&one, true), of(&two, true), of(&far_end, false));
        assert_eq!(sent, (1, 1, 3), "{how:?}");
    }
}

/// What one sends waits in the sender's device before what another sends.
#[test]
fn machines_wait_for_one_another_in_the_senders_device() {
    let _alone = alone();
    for how in BOTH {
        within_three("a queue of 160 ms that two machines share", || {
            let Some(testbed) = testbed(&Settings::default()) else {
                return Ok(());
            };
            let bucket = TokenBucket {
                rate_bps: 1_000_000,
                burst_bytes: 3_000,
                limit_bytes: 100_000,
            };
            testbed.sender().shape(bucket).unwrap();
            let machines = [(); 2].map(|()| testbed.attach(how).unwrap());
            let [one, two] = [0, 1].map(|at| bound(&machines[at]));
            let far_end = bound(testbed.far_end());
            let alone = round_trip(&two, &far_end);
            let (sink, to) = (bound(testbed.far_end()), far_end.local_addr().unwrap());
            for _ in 0..20 {
                one.send_to(&[0; 958], sink.local_addr().unwrap()).unwrap();
            }
            let begun = Instant::now();
            two.send_to(&[7; 40], to).unwrap();
            far_end.recv(&mut [0; 64]).unwrap();
            let waited = begun.elapsed();
            // 20 kB less what the bucket had, at 125 kB a second.
            let is_so = alone < Duration::from_millis(50)
                && (Duration::from_millis(120)..Duration::from_millis(250)).contains(&waited);
            let told = || format!("{how:?}: {alone:?} alone, {waited:?} behind the other");
            is_so.then_some(()).ok_or_else(told)
        });
    }
}

#[test]
fn there_is_no_address_for_a_twelfth_machine_and_none_behind_a_router() {
    let _alone = alone();
    let Some(all) = testbed(&Settings::default()) else {
        return;
    };
    let machines: Result<Vec<Place>, _> =
        (0..11).map(|_| all.attach(Attachment::Macvlan)).collect();
    assert_eq!(machines.unwrap().len(), 11);
    for _ in 0..300 {
        let why = all.attach(Attachment::Macvlan).unwrap_err();
        assert!(matches!(why, TestbedError::Full(11)), "{why}");
    }
    let mut settings = Settings::symmetric(Duration::ZERO, Some(100_000_000));
    settings.bottleneck = BottleneckKind::Kernel;
    let routed = Testbed::start(&settings).unwrap();
    let why = routed.attach(Attachment::Bridge).unwrap_err();
    assert!(matches!(why, TestbedError::Routed), "{why}");
}

/// A device that somebody else makes, as a virtual machine's tap.
#[test]
fn a_device_of_the_senders_place_is_a_port_of_its_bridge() {
    let _alone = alone();
    let Some(testbed) = testbed(&Settings::default()) else {
        return;
    };
    let identity = testbed.announce().unwrap();
    assert_eq!(identity.v4_mask.to_string(), "255.255.255.0");
    let made = testbed.sender().inside(|| {
        let words = "link add v0 type veth peer name v1";
        let made = std::process::Command::new("ip")
            .args(words.split(' '))
            .status();
        made.unwrap().success()
    });
    assert!(made.unwrap());
    testbed.switch_in("v0").unwrap();
    let shown = testbed.sender().inside(|| {
        let shown = std::process::Command::new("ip")
            .args(["link", "show", "v0"])
            .output();
        String::from_utf8(shown.unwrap().stdout).unwrap()
    });
    assert!(shown.unwrap().contains("master br0"));
    let why = testbed.switch_in("v7").unwrap_err().to_string();
    assert!(why.contains("No such device"), "{why}");
}
